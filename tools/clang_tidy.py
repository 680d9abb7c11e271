"""Runs clang-tidy over the C++ sources; files that were clean before and did not change are not looked at again.

What was clean is known by content, configuration and the tool's version, in the user's cache folder; so a fresh clone
profits from the last run.
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
from dataclasses import dataclass
from pathlib import Path

import tree

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "headwater/clang-tidy"
PROGRAM = Path(sysconfig.get_path("scripts")) / "clang-tidy"


@dataclass
class Unit:
    """What clang-tidy looks at in one go: a source with the header of the same name, or a header that has no source."""

    path: Path
    parts: list[Path]

    def key(self, settings: bytes) -> str:
        return hashlib.sha256(settings + b"".join(part.read_bytes() for part in self.parts)).hexdigest()


def units(root: Path) -> list[Unit]:
    """All units of src/ and python/. Left out: tests; headers that Highway includes once per instruction set, which do not
    compile by themselves (their sources show them to clang-tidy); and src/ops, unless --ops is given: some hundred
    declarations, which the registry's self-check and the generic tests read, would take most of the time."""
    files = [path for path in tree.files(root) if path.relative_to(root).parts[0] in ("src", "python")]
    if "--ops" not in sys.argv:
        files = [path for path in files if not path.is_relative_to(root / "src/ops")]
    found = []
    for path in files:
        if path.suffix == ".cpp" and not path.stem.endswith("_test"):
            header = path.with_suffix(".h")
            found.append(Unit(path, [path, header] if header.exists() else [path]))
        elif path.suffix == ".h" and not path.with_suffix(".cpp").exists() and "HWY_NAMESPACE" not in path.read_text():
            found.append(Unit(path, [path]))
    return found


def flags(root: Path) -> list[str]:
    """How the sources are compiled, as far as clang understands it."""
    builtin = subprocess.check_output(["g++", "-print-file-name=include"], text=True).strip()
    folders = ("src", "src/api", "build/release/generated", "python")
    found = ["-std=c++20", "-fopenmp", *(f"-I{root}/{folder}" for folder in folders)]
    found.append(f"-isystem{sysconfig.get_path('include')}")
    try:
        import nanobind

        found.append(f"-isystem{nanobind.include_dir()}")
    except ImportError:
        pass
    # oneDNN comes with the virtual environment. <omp.h> is g++'s own header, with an attribute that clang knows in its
    # short form only.
    found += [f"-isystem{folder}" for folder in (root / "build/release/generated/plan", f"{sys.prefix}/include")]
    found += ["-idirafter", builtin, "-D__malloc__(...)=__malloc__"]
    return [*found, "-DHWY_COMPILE_ONLY_STATIC", "-Wno-everything"]


def defines(root: Path) -> dict[str, list[str]]:
    """What the last build defined on the command line of each file."""
    commands = root / "build/release/compile_commands.json"
    entries = json.loads(commands.read_text()) if commands.exists() else []
    return {
        entry["file"]: [word for word in shlex.split(entry["command"]) if word.startswith("-D")] for entry in entries
    }


def tidy(unit: Unit, arguments: list[str]) -> str:
    """What clang-tidy says about one unit; empty when it is clean."""
    header = f"--header-filter=/{unit.path.stem}\\.h$"
    language = ["-xc++"] if unit.path.suffix == ".h" else []
    command = [str(PROGRAM), "--quiet", header, str(unit.path), "--", *language, *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.stdout + result.stderr if result.returncode else ""


def main() -> int:
    started = time.monotonic()
    settings = (tree.ROOT / ".clang-tidy").read_bytes() + subprocess.check_output([str(PROGRAM), "--version"])
    CACHE.mkdir(parents=True, exist_ok=True)
    everything = units(tree.ROOT)
    stale = [unit for unit in everything if not (CACHE / unit.key(settings)).exists()]
    arguments, defined = flags(tree.ROOT), defines(tree.ROOT)
    dirty = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(lambda unit: tidy(unit, arguments + defined.get(str(unit.path), [])), stale)
        for unit, text in zip(stale, said):
            if text:
                dirty += 1
                print(text)
            else:
                (CACHE / unit.key(settings)).touch()
    seconds = time.monotonic() - started
    print(f"clang_tidy: {len(everything)} files, {len(stale)} looked at in {seconds:.0f} s, {dirty} with findings")
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main())
