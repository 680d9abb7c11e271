"""Runs clang-tidy over the C++ sources; files that were clean before and did not change are not looked at again.

What was clean is known by content, configuration and the tool's version, in the user's cache folder; so a fresh clone
profits from the last run. Files of one folder are looked at together, as one source that includes them: most of the time goes into
the headers that they share. Where that does not compile, or something is found, each is looked at by itself, and that counts.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import tree

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "headwater/clang-tidy"
PROGRAM = Path(sysconfig.get_path("scripts")) / "clang-tidy"
TOGETHER = 8  # files

# Names that a source has to itself: what it declares in an unnamed namespace, and static ones.
UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.M | re.S)
DECLARED = re.compile(
    r"^(?:template <[^>]*>\s*)?(?:(?:struct|class|enum class|enum|union) (\w+)"
    r"|[A-Za-z_][\w:<>,&*\[\]. ]*?[ &*](\w+)(?:\(|\{| = |\[|;)|using (\w+) = )",
    re.M,
)
STATIC = re.compile(r"^static [\w:<>,&*\[\]. ]*?[ &*](\w+)(?:\(|\{| = |\[|;)", re.M)


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


def own_names(path: Path) -> set[str]:
    text = path.read_text()
    found = {name for part in UNNAMED.findall(text) for names in DECLARED.findall(part) for name in names if name}
    return found.union(STATIC.findall(text)) - {"operator"}


def includes(paths: list[Path]) -> str:
    """The text of a source that includes them all; a name that several have to themselves is another one in each."""
    count = Counter(name for path in paths for name in own_names(path))
    several = sorted(name for name, times in count.items() if times > 1)
    text = ""
    for i, path in enumerate(paths):
        before = "".join(f"#define {name} {name}{i}\n" for name in several)
        text += before + f'#include "{path}"\n' + "".join(f"#undef {name}\n" for name in several)
    return text


def run(path: Path, stems: list[str], suffix: str, arguments: list[str]) -> str:
    """What clang-tidy says; empty when nothing is to be said."""
    command = [str(PROGRAM), "--quiet", f"--config-file={tree.ROOT}/.clang-tidy"]
    command += [f"--header-filter=/({'|'.join(map(re.escape, stems))})\\.{suffix}$", str(path), "--", *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.stdout + result.stderr if result.returncode else ""


def tidy(unit: Unit, arguments: list[str]) -> str:
    """What clang-tidy says about one unit; empty when it is clean."""
    language = ["-xc++"] if unit.path.suffix == ".h" else []
    return run(unit.path, [unit.path.stem], "h", [*language, *arguments])


def tidy_together(batch: list[Unit], arguments: list[str]) -> list[str]:
    """What clang-tidy says about each unit of a folder."""
    if len(batch) > 1:
        with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
            file.write(includes([unit.path for unit in batch]))
            file.flush()
            if not run(Path(file.name), [unit.path.stem for unit in batch], "(h|cpp)", arguments):
                return [""] * len(batch)
    return [tidy(unit, arguments) for unit in batch]


def batches(stale: list[Unit], defined: dict[str, list[str]]) -> list[tuple[list[Unit], list[str]]]:
    """Units of one folder and kind, compiled with the same definitions, and these."""
    alike: defaultdict[tuple[Path, str, tuple[str, ...]], list[Unit]] = defaultdict(list)
    for unit in stale:
        alike[unit.path.parent, unit.path.suffix, tuple(defined.get(str(unit.path), []))].append(unit)
    return [
        (found[i : i + TOGETHER], list(words))
        for (_, _, words), found in alike.items()
        for i in range(0, len(found), TOGETHER)
    ]


def main() -> int:
    started = time.monotonic()
    settings = (tree.ROOT / ".clang-tidy").read_bytes() + subprocess.check_output([str(PROGRAM), "--version"])
    CACHE.mkdir(parents=True, exist_ok=True)
    everything = units(tree.ROOT)
    stale = [unit for unit in everything if not (CACHE / unit.key(settings)).exists()]
    arguments, defined = flags(tree.ROOT), defines(tree.ROOT)
    dirty = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        work = batches(stale, defined)
        said = pool.map(lambda batch: tidy_together(batch[0], arguments + batch[1]), work)
        for unit, text in ((u, t) for (found, _), texts in zip(work, said) for u, t in zip(found, texts)):
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
