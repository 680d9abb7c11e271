# What is installed. Component "python" is what the wheel holds beside the package: the extension (python/CMakeLists.txt) and
# libraries. Component "cpp" is for C++ users: libheadwater, its headers and a CMake package. Component "infer" is for programs that
# run frozen models: libheadwater_infer and its two headers (cmake/infer.cmake).
#   cmake --install build/release --component cpp --prefix DIR

# The libraries that no system is sure to have (oneDNN, Highway) travel with us: in the wheel beside the extension, and beside
# libheadwater. Both look in $ORIGIN. A file is installed under its SONAME, whatever a package calls it, and without the
# symbols that only a debugger reads.
foreach(library ${HEADWATER_LIBRARIES})
  if(IS_ABSOLUTE "${library}" AND library MATCHES "\\.so")
    file(REAL_PATH ${library} file)
    execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${file} OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCH "SONAME +([^ \n]+)" found "${headers}")
    set(soname ${CMAKE_MATCH_1})
    foreach(place "python;headwater" "cpp;${CMAKE_INSTALL_LIBDIR}" "infer;${CMAKE_INSTALL_LIBDIR}")
      list(GET place 0 component)
      list(GET place 1 folder)
      install(PROGRAMS ${file} DESTINATION ${folder} RENAME ${soname} COMPONENT ${component})
      install(CODE "execute_process(COMMAND \"${CMAKE_STRIP}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}/${soname}\")"
              COMPONENT ${component})
    endforeach()
  endif()
endforeach()

# The rest is for C++ users, and a wheel holds none of it.
if(SKBUILD)
  return()
endif()
include(CMakePackageConfigHelpers)
include(cmake/infer.cmake)

# Objects, not static libraries: operators and kernels register themselves, and a linker drops what nothing names.
add_library(headwater SHARED ${HEADWATER_OBJECTS})
add_library(headwater::headwater ALIAS headwater)
target_link_libraries(headwater PRIVATE ${HEADWATER_LIBRARIES})
# Highway and simdjson stay inside; calls between our own functions do not go through the symbol table.
target_link_options(headwater PRIVATE -Wl,-Bsymbolic-functions -Wl,--exclude-libs,ALL)
target_compile_features(headwater INTERFACE cxx_std_20)
# "core/tensor.h", as the headers include each other, and <headwater/headwater.h>, as a user does.
target_include_directories(headwater INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/headwater>)
set_target_properties(headwater PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 INSTALL_RPATH "$ORIGIN")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headwater)
install(TARGETS headwater EXPORT headwater-targets COMPONENT cpp LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT headwater-targets NAMESPACE headwater:: DESTINATION ${package_dir} COMPONENT cpp)
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/headwater COMPONENT cpp FILES_MATCHING PATTERN "*.h"
        PATTERN "backends" EXCLUDE PATTERN "api" EXCLUDE)
# The typed operator functions are written from the declarations.
set(generated ${CMAKE_BINARY_DIR}/generated/headwater)
add_executable(ops_header tools/ops_header.cpp ${HEADWATER_OBJECTS})
target_include_directories(ops_header PRIVATE src)
target_link_libraries(ops_header PRIVATE ${HEADWATER_LIBRARIES})
add_custom_command(OUTPUT ${generated}/ops.h COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
                   COMMAND ops_header ${generated}/ops.h DEPENDS ops_header)
add_custom_target(headwater_ops_header ALL DEPENDS ${generated}/ops.h)
install(DIRECTORY src/api/headwater/ ${generated}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/headwater COMPONENT cpp
        FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE THIRD_PARTY_NOTICES DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/headwater COMPONENT cpp)

configure_package_config_file(cmake/headwater-config.cmake.in ${CMAKE_BINARY_DIR}/headwater-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/headwater-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/headwater-config.cmake ${CMAKE_BINARY_DIR}/headwater-config-version.cmake
        DESTINATION ${package_dir} COMPONENT cpp)
