"""A pipeline of two stages in two processes, beside the bubble formula: (micro-batches + stages - 1) times a micro-batch of a stage.

    headwater launch -n 2 benchmarks/bubble.py
    headwater launch -n 2 benchmarks/bubble.py --tiny            # that it works

What a micro-batch costs is measured between the steps: each process takes its own stage's share of the step, both at the same time, as
ordinary tensors that nothing is sent of. Medians of turns; the slower stage counts.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import headwater as hw
import headwater.distributed as dist
import headwater.nn.functional as F
from headwater import nn


def layers(width: int, depth: int) -> list[nn.Module]:
    return [m for _ in range(depth) for m in (nn.Linear(width, width), nn.GELU())]


def seconds(run: Callable[[], object]) -> float:
    """Of this process, from when both begin."""
    dist.barrier()
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def slowest(own: float) -> float:
    t = hw.tensor([own])
    dist.all_reduce(t, "max")
    return t.item()


def measure(width: int, depth: int, rows: int, micro_batches: int, turns: int) -> tuple[float, float, float]:
    """Seconds of a step, of one in which the first stage is a forward pass ahead, and of what a stage does in it."""
    hw.manual_seed(0)
    mesh = hw.mesh("cpu", 2, names=("pipe",))
    model = hw.parallelize(nn.Sequential(*layers(width, depth), *layers(width, depth)), mesh, stages=[2 * depth, 2 * depth])
    last = dist.get_rank() == 1
    own = nn.Sequential(*layers(width, depth))
    x, y = hw.randn(rows * micro_batches, width), hw.randn(rows * micro_batches, width)
    inputs = x.clone().requires_grad_(last)  # the second stage hands a gradient on
    steps, aheads, works = [], [], []
    for turn in range(turns + 2):
        own.zero_grad()
        inputs.grad = None
        took = []
        for ahead in (0, 1):
            model.zero_grad()
            took.append(slowest(seconds(lambda n=ahead: hw.accumulate(model, F.mse_loss, x, y, micro_batches=micro_batches, ahead=n))))
        work = slowest(seconds(lambda: hw.accumulate(own, F.mse_loss, inputs, y, micro_batches=micro_batches)))
        if turn > 1:
            steps.append(took[0])
            aheads.append(took[1])
            works.append(work)
    return statistics.median(steps), statistics.median(aheads), statistics.median(works)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--turns", type=int, default=21)
    a = parser.parse_args()
    if dist.get_world_size() != 2:
        raise SystemExit("start it with: headwater launch -n 2 benchmarks/bubble.py")
    sizes = [(16, 1, 4, 8)] if a.tiny else [(512, 4, 64, 8), (512, 4, 256, 8), (1024, 4, 64, 8), (512, 4, 64, 2), (512, 4, 64, 16)]
    for width, depth, rows, micro_batches in sizes:
        step, ahead, work = measure(width, depth, rows, micro_batches, 2 if a.tiny else a.turns)
        formula = work * (micro_batches + 1) / micro_batches
        if dist.get_rank() == 0:
            print(f"| {depth} x Linear({width}) + GELU a stage | {micro_batches} x {rows} rows | {work * 1e3:.1f} | {formula * 1e3:.1f} | "
                  f"{step * 1e3:.1f} | {step / formula:.2f} | {ahead * 1e3:.1f} | {ahead / formula:.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
