# oneDNN 3.x from the PyPI packages onednn-cpu-gomp and onednn-devel-cpu-gomp, or from the system.
# Sets ONEDNN_INCLUDE_DIR, ONEDNN_LIBRARY (the file to link and to ship) and ONEDNN_VERSION, or all three to "".
set(onednn_hints ${ONEDNN_ROOT})
if(Python_EXECUTABLE)
  # The packages put their files outside site-packages; ask for them by name, so that a build in pip's isolated
  # environment (whose sys.prefix is another) finds its own copy.
  execute_process(
    COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/onednn_prefix.py
    OUTPUT_VARIABLE onednn_prefixes OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(APPEND onednn_hints ${onednn_prefixes})
endif()
find_path(ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl_version.h HINTS ${onednn_hints} PATH_SUFFIXES include)
# libdnnl.so.3 first: a plain libdnnl.so may be the system's version 2.
find_library(ONEDNN_LIBRARY NAMES libdnnl.so.3 dnnl HINTS ${onednn_hints} PATH_SUFFIXES lib)

set(ONEDNN_VERSION "")
if(ONEDNN_INCLUDE_DIR)
  file(STRINGS ${ONEDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h onednn_lines REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH)")
  string(REGEX MATCHALL "[0-9]+" onednn_numbers "${onednn_lines}")
  list(JOIN onednn_numbers "." ONEDNN_VERSION)
endif()
set(onednn_soname "")
if(ONEDNN_LIBRARY)
  file(REAL_PATH ${ONEDNN_LIBRARY} onednn_soname)
endif()
if(NOT ONEDNN_LIBRARY OR ONEDNN_VERSION VERSION_LESS 3 OR onednn_soname MATCHES "libdnnl\\.so\\.[12](\\.|$)")
  if(ONEDNN_INCLUDE_DIR AND ONEDNN_VERSION VERSION_LESS 3)
    message(STATUS "oneDNN ${ONEDNN_VERSION} in ${ONEDNN_INCLUDE_DIR} is too old: version 3 is needed")
  endif()
  # Normal variables that hide the cache entries' values; the entries go too, so that a later install is seen.
  unset(ONEDNN_INCLUDE_DIR CACHE)
  unset(ONEDNN_LIBRARY CACHE)
  set(ONEDNN_INCLUDE_DIR "")
  set(ONEDNN_LIBRARY "")
  set(ONEDNN_VERSION "")
endif()
