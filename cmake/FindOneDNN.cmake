# oneDNN from the PyPI packages onednn-cpu-gomp and onednn-devel-cpu-gomp, or from the system (version 3).
set(hints ${ONEDNN_ROOT})
if(Python_EXECUTABLE)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import sys; print(sys.prefix)" OUTPUT_VARIABLE prefix
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(APPEND hints ${prefix})
endif()
find_path(ONEDNN_INCLUDE_DIR dnnl.hpp HINTS ${hints} PATH_SUFFIXES include)
find_library(ONEDNN_LIBRARY NAMES libdnnl.so.3 dnnl HINTS ${hints} PATH_SUFFIXES lib)
if(NOT ONEDNN_INCLUDE_DIR OR NOT EXISTS ${ONEDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_ukernel.h AND NOT EXISTS ${ONEDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h)
  set(ONEDNN_LIBRARY "")
endif()
