"""Runs clang-tidy over the C++ sources; files that were clean before and did not change are not looked at again.

A file is known by its content, the configuration and the tool's version, in the user's cache folder; so a fresh clone
profits from the last run. Each file is judged by itself: a header is looked at when it changes, not once per includer.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tree

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "headwater/clang-tidy"
PROGRAM = Path(sysconfig.get_path("scripts")) / "clang-tidy"


def sources(root: Path) -> list[Path]:
    return [
        path
        for path in tree.files(root)
        if path.suffix in (".h", ".cpp") and path.relative_to(root).parts[0] in ("src", "python")
    ]


def flags(root: Path) -> list[str]:
    """How the sources are compiled, as far as clang understands it."""
    builtin = subprocess.check_output(["g++", "-print-file-name=include"], text=True).strip()
    found = ["-std=c++20", "-fopenmp", f"-I{root}/src", f"-I{root}/python", f"-isystem{sysconfig.get_path('include')}"]
    try:
        import nanobind

        found.append(f"-isystem{nanobind.include_dir()}")
    except ImportError:
        pass
    # oneDNN comes with the virtual environment. <omp.h> is g++'s own header, with an attribute that clang knows in its
    # short form only.
    found += [f"-isystem{sys.prefix}/include", "-idirafter", builtin, "-D__malloc__(...)=__malloc__"]
    return [*found, *defines(root), "-DHWY_COMPILE_ONLY_STATIC", "-Wno-everything"]


def defines(root: Path) -> list[str]:
    """All that the last build defined on its command lines (versions, which libraries there are)."""
    commands = root / "build/release/compile_commands.json"
    if not commands.exists():
        return []
    words = [word for entry in json.loads(commands.read_text()) for word in shlex.split(entry["command"])]
    return sorted({word for word in words if word.startswith("-D")})


def key(path: Path, settings: bytes) -> str:
    return hashlib.sha256(settings + path.read_bytes()).hexdigest()


def tidy(path: Path, arguments: list[str]) -> str:
    """What clang-tidy says about one file; empty when it is clean."""
    language = ["-xc++"] if path.suffix == ".h" else []
    command = [str(PROGRAM), "--quiet", str(path), "--", *language, *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.stdout + result.stderr if result.returncode else ""


def main() -> int:
    started = time.monotonic()
    settings = (tree.ROOT / ".clang-tidy").read_bytes() + subprocess.check_output([str(PROGRAM), "--version"])
    CACHE.mkdir(parents=True, exist_ok=True)
    everything = sources(tree.ROOT)
    stale = [path for path in everything if not (CACHE / key(path, settings)).exists()]
    arguments = flags(tree.ROOT)
    dirty = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, said in zip(stale, pool.map(lambda path: tidy(path, arguments), stale)):
            if said:
                dirty += 1
                print(said)
            else:
                (CACHE / key(path, settings)).touch()
    seconds = time.monotonic() - started
    print(f"clang_tidy: {len(everything)} files, {len(stale)} looked at in {seconds:.0f} s, {dirty} with findings")
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main())
