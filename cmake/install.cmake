# What C++ users install: libheadwater, its headers and a CMake package.
