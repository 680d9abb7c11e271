"""Timing two or more ways of doing the same work against each other: short turns in random order, medians of ratios.

A shared machine drifts by more than the differences of interest, so nothing is compared across runs: in every round each candidate
gets one turn, and the ratio to the first candidate is taken within the round. Rounds in which other processes took more than 8 % of
the machine are dropped (three quarters of them at most).
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Result:
    """Seconds a call for each candidate: median and fastest turn, and the median ratio to the first candidate."""

    name: str
    median: float
    fastest: float
    ratio: float
    quartiles: tuple[float, float]
    rounds: int = 0
    dropped: int = 0
    turns: list[float] = field(default_factory=list, repr=False)


def _cpu_seconds() -> tuple[float, float]:
    """Busy seconds of the machine, and of this process with its children."""
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:9]]
    t = os.times()
    return (sum(v) - v[3] - v[4]) / os.sysconf("SC_CLK_TCK"), t.user + t.system + t.children_user + t.children_system


def _calls_per_turn(f: Callable[[], object], turn: float) -> int:
    f()
    n = 1
    while True:
        start = time.perf_counter()
        for _ in range(n):
            f()
        took = time.perf_counter() - start
        if took >= turn / 4 or n >= 1 << 24:
            return max(1, int(n * turn / max(took, 1e-9)))
        n *= 4


def _nothing() -> None:
    pass


def compare(
    candidates: dict[str, Callable[[], object]],
    rounds: int = 9,
    turn: float = 0.08,
    seed: int = 0,
    most_foreign: float = 0.08,
) -> list[Result]:
    """Measures each candidate in `rounds` clean turns of about `turn` seconds; the first is the reference of the ratios."""
    counts = {name: _calls_per_turn(f, turn) for name, f in candidates.items()}
    order = random.Random(seed)
    names = list(candidates)
    turns: dict[str, list[float]] = {n: [] for n in names}
    dropped = 0
    while len(turns[names[0]]) < rounds:
        order.shuffle(names)
        busy, own = _cpu_seconds()
        start = time.perf_counter()
        took = {}
        for name in names:
            f, n = candidates[name], counts[name]
            getattr(f, "before", _nothing)()  # not timed
            t = time.perf_counter()
            for _ in range(n):
                f()
            took[name] = (time.perf_counter() - t) / n
        wall = time.perf_counter() - start
        busy2, own2 = _cpu_seconds()
        foreign = ((busy2 - busy) - (own2 - own)) / (wall * (os.cpu_count() or 1))
        if foreign > most_foreign and dropped < 3 * rounds:
            dropped += 1
            continue
        for name, t in took.items():
            turns[name].append(t)
    first = next(iter(candidates))
    results = []
    for name in candidates:
        ratios = sorted(a / b for a, b in zip(turns[name], turns[first], strict=True))
        q = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
        results.append(
            Result(
                name,
                statistics.median(turns[name]),
                min(turns[name]),
                statistics.median(ratios),
                (q[0], q[2]),
                rounds,
                dropped,
                turns[name],
            )
        )
    return results


def print_against_first(results: list[Result]) -> None:
    """A line for each candidate: its time, and that of the first one divided by it."""
    for r in results:
        low, high = 1 / r.quartiles[1], 1 / r.quartiles[0]
        ours = "" if r is results[0] else f"  {results[0].name}/{r.name} = {1 / r.ratio:.3f} ({low:.3f} to {high:.3f})"
        print(f"  {r.name:14} {seconds(r.median):>9} (fastest {seconds(r.fastest)}){ours}", flush=True)


def seconds(t: float) -> str:
    """A time with a fitting unit."""
    return (
        f"{t * 1e9:.0f} ns"
        if t < 2e-6
        else f"{t * 1e6:.1f} us"
        if t < 2e-3
        else f"{t * 1e3:.2f} ms"
        if t < 2
        else f"{t:.2f} s"
    )
