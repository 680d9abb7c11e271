"""plan="auto" beside plans written by hand: measured steps of real processes, and what was estimated.

    python benchmarks/plans.py --ranks 2

Plans take turns on one set of processes; a step is hw.accumulate and Adam. Medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import headwater as hw
from headwater import nn
from headwater.cli.launch import find_mpirun, mpirun_command

MICRO_BATCHES = 4


class Work(NamedTuple):
    make: Callable[[], nn.Module]
    x: Callable[[], hw.Tensor]
    y: Callable[[], hw.Tensor]
    loss_of: Callable[..., hw.Tensor]
    by_hand: dict[str, list[Any]]  # plans by the name of the mesh's axis


def pair(width: int, inner: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))


def gpt() -> nn.Module:
    from models.gpt2.config import Config
    from models.gpt2.model import GPT2LMHeadModel

    return GPT2LMHeadModel(Config(vocab_size=2000, n_positions=64, n_embd=128, n_layer=4, n_head=4, dropout=0.0))


def images() -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 32), (32, 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def of_tokens(scores: hw.Tensor, ids: hw.Tensor) -> hw.Tensor:
    return nn.functional.cross_entropy(scores.flatten(0, 1), ids.flatten())


DATA = ["data", "zero1", "zero2", "zero3"]
SPLITS = {"0.*": hw.split(0), "2.weight": hw.split(1)}
mse, entropy = nn.functional.mse_loss, nn.functional.cross_entropy
WORKS = {
    "many rows": Work(lambda: pair(128, 512), lambda: hw.randn(4096, 128), lambda: hw.randn(4096, 128), mse,
                      {"data": DATA, "model": [SPLITS], "pipe": [[]]}),
    "many weights": Work(lambda: pair(1024, 4096), lambda: hw.randn(16, 1024), lambda: hw.randn(16, 1024), mse,
                         {"data": DATA, "model": [SPLITS]}),
    "many classes": Work(lambda: nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 50000)), lambda: hw.randn(64, 64),
                         lambda: hw.randint(0, 50000, (64,)), entropy, {"data": DATA, "model": [{"2.*": hw.split(0)}]}),
    "gpt": Work(gpt, lambda: hw.randint(0, 2000, (16, 64)), lambda: hw.randint(0, 2000, (16, 64)), of_tokens,
                {"data": DATA, "model": ["tensor", "tensor+sequence"], "pipe": [[]]}),
    "images": Work(images, lambda: hw.randn(16, 3, 32, 32), lambda: hw.randint(0, 10, (16,)), entropy, {"data": DATA, "pipe": [[]]}),
}  # fmt: skip


def stepper(work: Work, mesh: Any, plan: Any, stages: Any) -> Callable[[], None]:
    hw.manual_seed(0)
    model = hw.parallelize(work.make(), mesh, plan, stages=stages)
    optimizer, x, y = hw.optim.Adam(model.parameters()), work.x(), work.y()

    def step() -> None:
        optimizer.zero_grad()
        hw.accumulate(model, work.loss_of, x, y, micro_batches=MICRO_BATCHES)
        optimizer.step()

    return step


def measure(work: Work, ranks: int, rounds: int) -> list[dict[str, Any]]:
    device = hw.distributed.measure_device()
    x, y = work.x(), work.y()
    options = {"loss_of": work.loss_of, "micro_batches": MICRO_BATCHES, "device": device}
    begin = time.perf_counter()
    best = hw.distributed.search_plan(work.make(), hw.mesh("cpu", ranks), x, y, **options)[0]
    searched = time.perf_counter() - begin
    plans = [("auto", best.mesh.names[0] if best.mesh.ndim == 1 else "", best.plan, best.stages, best.seconds)]
    for axis, each in work.by_hand.items():
        for plan in each:
            cost = hw.distributed.estimate(work.make(), hw.mesh("meta", ranks, names=(axis,)), plan, x, y, **options)
            plans.append(("by hand", axis, plan, None, cost.seconds))
    meshes = [hw._C.make_mesh("cpu", list(best.mesh.shape), list(best.mesh.names), list(range(ranks)))]
    meshes += [hw.mesh("cpu", ranks, names=(axis,)) for _, axis, *_ in plans[1:]]
    steps = [stepper(work, mesh, plan, stages) for mesh, (_, _, plan, stages, _) in zip(meshes, plans, strict=True)]
    times: list[list[float]] = [[] for _ in steps]
    for turn in range(rounds + 2):
        for step, mine in zip(steps, times, strict=True):
            hw.distributed.barrier()
            begin = time.perf_counter()
            step()
            hw.distributed.barrier()
            if turn > 1:
                mine.append(time.perf_counter() - begin)
    return [{"who": who, "mesh": str(mesh), "plan": str(plan), "stages": stages, "estimate": cost, "time": statistics.median(t),
             "search": searched} for (who, _, plan, stages, cost), mesh, t in zip(plans, meshes, times, strict=True)]  # fmt: skip


def show(name: str, rows: list[dict[str, Any]]) -> None:
    auto, hand = rows[0], rows[1:]
    quickest = min(hand, key=lambda r: r["time"])
    print(f"\n### {name}: auto {auto['time'] * 1e3:.2f} ms, the best by hand {quickest['time'] * 1e3:.2f} ms, "
          f"ratio {auto['time'] / quickest['time']:.2f}; search {auto['search']:.1f} s\n")  # fmt: skip
    print("| plan | mesh | estimated | measured |\n|---|---|---:|---:|")
    for r in rows:
        stages = f", stages {r['stages']}" if r["stages"] else ""
        print(f"| {r['who']}: {r['plan']}{stages} | {r['mesh']} | {r['estimate'] * 1e3:.2f} ms | {r['time'] * 1e3:.2f} ms |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="part of a name")
    parser.add_argument("--inside", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        rows = measure(WORKS[args.inside], args.ranks, args.rounds)
        if hw.distributed.get_rank() == 0:
            print("rows: " + json.dumps(rows))
        return
    mpirun = find_mpirun()
    if mpirun is None:
        sys.exit("plans.py: needs an MPI")
    for name in [n for n in WORKS if args.only in n]:
        command = [*mpirun_command(mpirun, args.ranks)[0], sys.executable, __file__, "--inside", name]
        command += ["--ranks", str(args.ranks), "--rounds", str(args.rounds)]
        one_thread = os.environ | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
        done = subprocess.run(command, capture_output=True, text=True, env=one_thread)
        lines = [line.partition("rows: ")[2] for line in done.stdout.splitlines() if "rows: " in line]
        if not lines:
            sys.exit(f"{name}: {done.stderr[-2000:]}")
        show(name, json.loads(lines[0]))


if __name__ == "__main__":
    main()
