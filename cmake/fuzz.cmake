# The readers of files under libFuzzer and the sanitizers (preset "fuzz", clang; scripts/fuzz.sh): what stands below them, 45 files.
add_executable(headwater_fuzz_frozen EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/fuzz/frozen_target.cpp)
foreach(room base core sbp plan)
  target_sources(headwater_fuzz_frozen PRIVATE $<FILTER:$<TARGET_OBJECTS:hw_${room}>,EXCLUDE,[.]gch$>)
endforeach()
target_include_directories(headwater_fuzz_frozen PRIVATE src)
target_link_options(headwater_fuzz_frozen PRIVATE -fsanitize=fuzzer)
target_link_libraries(headwater_fuzz_frozen PRIVATE ${HEADWATER_LIBRARIES})
