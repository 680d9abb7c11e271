"""`headwater bisect`: the first pass, and the node in it, that changes what a compiled function computes; or where two runs of a
script under different settings part."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

MOST_RUNS = 2  # of a program: the first ones

# number of the run, name, (text, origin, values) of each node, results
Stage = tuple[int, str, list[tuple[str, str, list[np.ndarray]]], list[np.ndarray]]


class Observer:
    """Evaluates each program node by node, after every pass, before it runs. With a file, each stage goes there when it is evaluated."""

    def __init__(self, tolerance: float, file: BinaryIO | None) -> None:
        self.tolerance, self.file = tolerance, file
        self.runs: list[tuple[str, dict[str, Any]]] = []
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no number is given twice

    def __call__(self, name: str, program: Any, tensors: list[Any], host: Any) -> None:
        count = self._seen.get(id(program), 0)
        if count >= MOST_RUNS:
            return
        self._seen[id(program)] = count + 1
        self._kept.append(program)
        found = program.bisect(tensors, list(host), self.tolerance, None if self.file is None else self._record)
        self.runs.append((f"{name}, run {count + 1}", found))

    def _record(self, stage: str, nodes: list[tuple[str, str, list[Any]]], results: list[Any]) -> None:
        arrays = [(text, origin, [_array(t) for t in made]) for text, origin, made in nodes]
        assert self.file is not None
        pickle.dump((len(self.runs), stage, arrays, [_array(t) for t in results]), self.file)


def _array(t: Any) -> np.ndarray:
    import headwater as hw

    return np.array(hw._C.to_numpy(t.float() if t.dtype == hw.bfloat16 else t))


def _observe(target: str, arguments: list[str], tolerance: float, file: BinaryIO | None) -> tuple[int, Observer]:
    from headwater.compiler import program

    from .inspect import _run

    os.environ["HEADWATER_KEEP_GRAPH"] = "1"
    observer = program.observer = Observer(tolerance, file)
    try:
        status = _run(target, False, arguments, quiet=True)
    finally:
        program.observer = None
        del os.environ["HEADWATER_KEEP_GRAPH"]
    return status, observer


def _said(text: str, origin: str) -> str:
    return text if not origin or origin in text else f"{text}  @ {origin}"


def _within(observer: Observer) -> int:
    """Passes on against passes off. 1 if something differs."""
    for name, found in observer.runs:
        if found["divergence"] is None:
            continue
        stage, text, origin, difference = found["divergence"]
        print(f"{name}: first differs after {stage}, by {difference:.3g} of the largest value, in\n  {_said(text, origin)}")
        return 1
    for name, found in observer.runs:
        print(f"{name}: the same after each of {', '.join(found['names'])}")
    return 0


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """The largest, relative to the largest finite value of `a`; infinite where shapes or non-finite values differ."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if a.size == 0 or np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
        return 0.0
    wide = [x.astype(np.complex128) for x in (a, b)]
    with np.errstate(invalid="ignore"):
        apart = np.abs(wide[0] - wide[1])
        apart = np.where((wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1])), 0.0, apart)
    largest = np.abs(wide[0][np.isfinite(wide[0])]).max(initial=0.0)
    return float("inf") if not np.isfinite(apart).all() or largest == 0 else float(apart.max() / largest)


def parts(base: Iterable[Stage], other: Iterable[Stage], tolerance: float) -> Iterator[tuple[str, str, float]]:
    """Where two traces of a program part, the first place first: (stage, node, difference). Stages are read one at a time."""
    for (_, stage, nodes, results), (_, other_stage, other_nodes, other_results) in zip(base, other):
        if stage != other_stage:
            yield stage, f"the other run has {other_stage} there", float("inf")
            return
        for (text, origin, made), (other_text, _, other_made) in zip(nodes, other_nodes):
            if text != other_text:
                yield stage, f"{_said(text, origin)}; the other run has {other_text}", float("inf")
                break
            worst = max((difference(a, b) for a, b in zip(made, other_made)), default=0.0)
            if worst > tolerance:
                yield stage, _said(text, origin), worst
                break
        for i, (a, b) in enumerate(zip(results, other_results)):
            if (worst := difference(a, b)) > tolerance:
                yield stage, f"result {i}", worst


def _recorded(target: str, arguments: list[str], settings: dict[str, str], file: Path) -> list[str]:
    """The names of the runs; their stages are in the file."""
    command = [sys.executable, "-m", "headwater", "bisect", "--record", str(file), target, *arguments]
    subprocess.run(command, env={**os.environ, **settings}, stdout=sys.stderr, check=True)
    return file.with_suffix(".names").read_text().splitlines()


def _stages(file: Path) -> Iterator[Stage]:
    with file.open("rb") as stream:
        while True:
            try:
                yield pickle.load(stream)  # written by the process just run
            except EOFError:
                return


def _against(target: str, arguments: list[str], settings: dict[str, str], tolerance: float) -> int:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, "base"), Path(folder, "other")]
        names = _recorded(target, arguments, {}, files[0])
        other_names = _recorded(target, arguments, settings, files[1])
        runs = [itertools.groupby(_stages(file), key=lambda stage: stage[0]) for file in files]
        for name, (_, base), (_, other) in zip(names, *runs):
            for stage, where, worst in parts(base, other, tolerance):
                print(f"{name}: first differs in {stage}, by {worst:.3g} of the largest value, in\n  {where}")
                return 1
    if len(names) != len(other_names):
        print(f"one run has {len(names)} runs of programs, the other {len(other_names)}")
        return 1
    print(f"the same in {len(names)} runs of programs")
    return 0


def _record(target: str, arguments: list[str], tolerance: float, path: Path) -> int:
    with path.open("wb") as file:
        status, observer = _observe(target, arguments, tolerance, file)
    path.with_suffix(".names").write_text("".join(f"{name}\n" for name, _ in observer.runs))
    return status


def main(target: str, arguments: list[str], tolerance: float, against: list[str], record: str | None) -> int:
    """0 if nothing differs, 1 if something does, 2 if the script could not be run."""
    if not Path(target).is_file():
        print(f"headwater bisect: there is no file {target}", file=sys.stderr)
        return 2
    settings = dict(item.partition("=")[::2] for item in against)
    if settings:
        try:
            return _against(target, arguments, settings, tolerance)
        except subprocess.CalledProcessError:
            return 2
    if record is not None:
        return _record(target, arguments, tolerance, Path(record))
    status, observer = _observe(target, arguments, tolerance, None)
    if not observer.runs:
        print(f"headwater bisect: {target} ran no compiled function", file=sys.stderr)
    return 2 if status or not observer.runs else _within(observer)
