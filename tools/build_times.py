"""Prints the slowest translation units of a build, and fails when one needs more than --limit seconds.

Times come from ninja's log. They are wall times, and those of a busy machine or a ccache hit say little: so a file that
the log shows over the limit is compiled once more, alone and without ccache, and its processor time decides. --measure
does that for every file.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import tree

HIT_SECONDS = 0.25  # a compiler cannot even read the standard headers in this time


@dataclass
class Unit:
    """One compiled file."""

    source: str
    seconds: float
    kind: str  # "compiled", "from ccache" (both wall time), or "alone" (processor time, measured now)


def read_log(build: Path, root: Path) -> list[Unit]:
    """The last entry of each object in ninja's log that compile_commands.json still knows."""
    known = {entry["output"]: entry["file"] for entry in compile_commands(build)}
    last: dict[str, float] = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        if output in known:
            last[output] = (int(end) - int(start)) / 1000
    return [
        Unit(os.path.relpath(known[output], root), seconds, "compiled" if seconds > HIT_SECONDS else "from ccache")
        for output, seconds in last.items()
    ]


def compile_commands(build: Path) -> list[dict[str, str]]:
    """The entries of compile_commands.json, with the output that ninja's log names (from -o, where CMake left it out)."""
    entries: list[dict[str, str]] = json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        words = shlex.split(entry["command"])
        entry["output"] = words[words.index("-o") + 1]
    return entries


def measure(build: Path, root: Path, source: str) -> Unit:
    """Compiles one file of the build alone, without ccache, and counts processor time."""
    entry = next(e for e in compile_commands(build) if os.path.relpath(e["file"], root) == source)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        command = entry["command"].replace(f"-o {entry['output']}", f"-o {folder}/unit.o")
        environment = os.environ | {"CCACHE_DISABLE": "1"}
        subprocess.run(command, shell=True, cwd=entry["directory"], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Unit(source, used, "alone")


def slowest(build: Path, root: Path, limit: float | None, everything: bool) -> list[Unit]:
    """All units, slowest first; those over the limit measured alone."""
    units = read_log(build, root)
    units = [
        measure(build, root, unit.source) if everything or (limit and unit.seconds > limit) else unit for unit in units
    ]
    return sorted(units, key=lambda unit: -unit.seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("build", nargs="?", default="build/release", type=Path)
    parser.add_argument("--top", type=int, default=10, help="how many to print")
    parser.add_argument("--limit", type=float, help="seconds of processor time that no file may exceed")
    parser.add_argument("--measure", action="store_true", help="compile every file alone, without ccache")
    options = parser.parse_args()
    units = slowest(options.build, tree.ROOT, options.limit, options.measure)
    for unit in units[: options.top]:
        print(f"{unit.seconds:7.2f} s  {unit.kind:11}  {unit.source}")
    counts = {kind: sum(unit.kind == kind for unit in units) for kind in ("compiled", "from ccache", "alone")}
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    print(f"build_times: {len(units)} files; {told}")
    over = [unit for unit in units if options.limit and unit.kind == "alone" and unit.seconds > options.limit]
    for unit in over:
        print(f"{unit.source}: {unit.seconds:.1f} s of processor time; {options.limit:g} s are the limit")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
