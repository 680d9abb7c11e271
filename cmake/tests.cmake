# C++ tests: x_test.cpp beside x.cpp, all in one program.
enable_testing()
find_package(GTest REQUIRED)
include(GoogleTest)
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*_test.cpp)
if(test_sources)
  add_executable(headwater_tests ${test_sources} ${HEADWATER_OBJECTS})
  target_include_directories(headwater_tests PRIVATE src ${HWY_INCLUDE_DIR})
  target_link_libraries(headwater_tests PRIVATE ${HEADWATER_LIBRARIES} GTest::gtest_main)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/plan/file_test.cpp ${CMAKE_SOURCE_DIR}/src/plan/frozen_test.cpp PROPERTIES
                              COMPILE_DEFINITIONS HEADWATER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  gtest_discover_tests(headwater_tests DISCOVERY_MODE PRE_TEST)
endif()
