"""Fused regions: generated code against tiles, eager mode, torch and one pass over the memory they touch.

python benchmarks/regions.py [--torch] [--threads 2] [--elements 16777216] [names ...]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import headwater as hw
from headwater.nn import functional as F

ROWS, COLUMNS = 4096, 1024


def gelu_chain(m: Any, x: Any, b: Any, y: Any, z: Any) -> Any:
    return m.gelu(x + b) * y + z


def layer_norm(m: Any, x: Any, w: Any, b: Any) -> Any:
    d = x - x.mean(-1, keepdim=True)
    return d * ((d * d).mean(-1, keepdim=True) + 1e-5).rsqrt() * w + b


def softmax(m: Any, x: Any, y: Any) -> Any:
    e = (x * 0.125 + y).exp()
    return e / e.sum(-1, keepdim=True)


def adam(m: Any, p: Any, g: Any, a: Any, v: Any) -> Any:
    a2 = a * 0.9 + g * 0.1
    v2 = v * 0.999 + g * g * 0.001
    return p - a2 / (v2.sqrt() + 1e-8) * 0.001, a2, v2


class Case:
    """A function of inputs with shapes; `streams`: tensors of full size that one pass reads and writes."""

    def __init__(self, name: str, run: Callable, dtype: str, shapes: list[tuple[int, ...]], streams: tuple[int, int]) -> None:
        self.name, self.run, self.dtype, self.shapes, self.streams = name, run, dtype, shapes, streams


def cases(elements: int) -> list[Case]:
    full, rows = (elements,), (ROWS, COLUMNS)
    return [
        Case("gelu(x + b) * y + z", gelu_chain, "float32", [full] * 4, (4, 1)),
        Case("gelu(x + b) * y + z, b of 1024", gelu_chain, "float32", [rows, (COLUMNS,), rows, rows], (3, 1)),
        Case("gelu(x + b) * y + z", gelu_chain, "bfloat16", [full] * 4, (4, 1)),
        Case("layer norm", layer_norm, "float32", [rows, (COLUMNS,), (COLUMNS,)], (1, 1)),
        Case("softmax", softmax, "float32", [rows, rows], (2, 1)),
        Case("adam", adam, "float32", [(elements // 4,)] * 4, (4, 3)),
    ]


def one_pass(reads: int, writes: int, size: int, threads: int) -> Callable[[], None]:
    """The same streams with one addition for each: generated code too, with streaming stores, since no loop can do less."""
    hw.set_num_threads(threads)
    sources = [hw.randn(size) for _ in range(reads)]

    def step(*x: Any) -> Any:
        total = x[0]
        for other in x[1:]:
            total = total + other
        return tuple(total * (k + 1.5) for k in range(writes))

    os.environ["HEADWATER_CODEGEN"] = "auto"
    program = hw.compile(step)
    program(*sources)
    return lambda: program(*sources)


def contestants(case: Case, with_torch: bool, threads: int) -> dict[str, Callable[[], Any]]:
    dtype = getattr(hw, case.dtype)
    args = [hw.rand(*s).to(dtype) for s in case.shapes]
    found: dict[str, Callable[[], Any]] = {}
    for name, mode in (("generated", "auto"), ("tiles", "off")):
        os.environ["HEADWATER_CODEGEN"] = mode
        program = hw.compile(lambda *a: case.run(F, *a))
        program(*args)
        found[name] = lambda program=program: program(*args)
    found["eager"] = lambda: case.run(F, *args)
    numel = max(hw.zeros(s).numel() for s in case.shapes)
    scale = 1 if case.dtype == "float32" else 2
    found["one pass"] = one_pass(*case.streams, numel // scale, threads)
    if with_torch:
        import torch

        torch.set_num_threads(threads)
        t = [torch.rand(s).to(getattr(torch, case.dtype)) for s in case.shapes]
        functional = torch.nn.functional
        found["torch"] = lambda: case.run(functional, *t)
        compiled = torch.compile(lambda *a: case.run(functional, *a))
        compiled(*t)
        found["torch.compile"] = lambda: compiled(*t)
    return found


def measure(found: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds, in turns, so that a change of the machine's mood meets all alike."""
    times: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(rounds):
        for name, run in found.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(t[1:]) for name, t in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only cases with one of these in their name")
    parser.add_argument("--torch", action="store_true", help="with torch and torch.compile")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--elements", type=int, default=1 << 24)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    hw.set_num_threads(options.threads)
    for case in cases(options.elements):
        if options.names and not any(n in case.name for n in options.names):
            continue
        times = measure(contestants(case, options.torch, options.threads), options.rounds)
        base = times["one pass"]
        row = ", ".join(f"{name} {seconds * 1e3:.2f} ms ({seconds / base:.2f})" for name, seconds in times.items())
        print(f"{case.name}, {case.dtype}: {row}", flush=True)
    stats = hw._C.codegen_stats()
    if stats["compiled"]:
        print(f"{stats['compiled']} kernels compiled, {stats['seconds'] / stats['compiled'] * 1e3:.1f} ms each; {stats['from_disk']} from disk")


if __name__ == "__main__":
    main()
