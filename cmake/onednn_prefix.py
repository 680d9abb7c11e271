# Prints the prefixes that may hold oneDNN's headers and library, as a CMake list: where pip put them, then sys.prefix.
import importlib.metadata
import pathlib
import sys

prefixes = []
for package in ("onednn-devel-cpu-gomp", "onednn-cpu-gomp"):
    try:
        files = importlib.metadata.distribution(package).files or []
    except importlib.metadata.PackageNotFoundError:
        continue
    for file in files:
        if file.name in ("dnnl.hpp", "libdnnl.so.3") and file.parent.name in ("include", "lib", ".."):
            prefixes.append(pathlib.Path(str(file.locate())).resolve().parent.parent)
print(";".join(str(prefix) for prefix in dict.fromkeys([*prefixes, pathlib.Path(sys.prefix)])))
