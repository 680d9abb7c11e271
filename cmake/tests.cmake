# C++ tests: x_test.cpp beside x.cpp, all in one program.
enable_testing()
find_package(GTest REQUIRED)
include(GoogleTest)
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*_test.cpp)
if(test_sources)
  add_executable(headwater_tests ${test_sources} ${HEADWATER_OBJECTS})
  target_include_directories(headwater_tests PRIVATE src ${HWY_INCLUDE_DIR})
  target_link_libraries(headwater_tests PRIVATE ${HEADWATER_LIBRARIES} GTest::gtest_main)
  if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT HEADWATER_SANITIZE)
    target_compile_options(headwater_tests PRIVATE -O1)  # the tests themselves; what they test is compiled as ever
  endif()
  if(HEADWATER_PCH)
    target_precompile_headers(headwater_tests PRIVATE <gtest/gtest.h> <op/precompiled.h>)
  endif()
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/plan/file_test.cpp ${CMAKE_SOURCE_DIR}/src/plan/frozen_test.cpp PROPERTIES
                              COMPILE_DEFINITIONS HEADWATER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  gtest_discover_tests(headwater_tests DISCOVERY_MODE PRE_TEST)
endif()

# Under ThreadSanitizer (scripts/sanitize.sh --thread): the rooms that have threads and what these stand on, a quarter of the files.
if(HEADWATER_SANITIZE MATCHES thread)
  file(GLOB_RECURSE thread_test_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/base/*_test.cpp
       ${CMAKE_SOURCE_DIR}/src/comm/*_test.cpp ${CMAKE_SOURCE_DIR}/src/runtime/*_test.cpp)
  add_executable(headwater_thread_tests EXCLUDE_FROM_ALL ${thread_test_sources})
  foreach(room base core sbp plan comm kernels codegen chain runtime)
    target_sources(headwater_thread_tests PRIVATE $<FILTER:$<TARGET_OBJECTS:hw_${room}>,EXCLUDE,[.]gch$>)
  endforeach()
  target_include_directories(headwater_thread_tests PRIVATE src ${HWY_INCLUDE_DIR})
  target_link_libraries(headwater_thread_tests PRIVATE ${HEADWATER_LIBRARIES} GTest::gtest_main)
endif()
