"""A classifier of a million faces, and a recommendation model with large tables, on 2 ranks x 1 core against 1 rank x 1 core.

    python benchmarks/faces.py
    python benchmarks/faces.py --only dense --classes 100000

Programs take turns, each a process (or two under mpirun) of its own: steps after two of warming up, median of all rounds.
Memory is that of tensors in one process: the most at any moment.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

import headwater as hw
import headwater.distributed as dist
import headwater.nn.functional as F
from headwater import nn
from headwater.cli.launch import find_mpirun, mpirun_command
from models.dlrm.config import Config
from models.dlrm.model import DLRM


def classifier(o: argparse.Namespace, mesh: Any, rate: float) -> Any:
    """A step of the head alone, from features to updated classes; SGD with momentum, as in the paper."""
    hw.manual_seed(0)
    with dist.tables_on(mesh, hw.split(0)):
        head = nn.PartialFC(o.features, o.classes, rate)
    optimizer = hw.optim.SGD(head.parameters(), lr=0.1, momentum=0.9)
    batches = iter([(hw.randn(o.batch, o.features).to_global(mesh, hw.split(0)).requires_grad_(),
                     hw.randint(0, o.classes, (o.batch,)).to_global(mesh, hw.split(0))) for _ in range(o.steps + 2)])  # fmt: skip

    def step() -> float:
        optimizer.zero_grad()
        loss = head(*next(batches))
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def recommendation(o: argparse.Namespace, mesh: Any) -> Any:
    """DLRM: the batch split by samples, each table by rows; Adagrad."""
    config = Config(tables=(o.rows,) * 26, sparse=True)
    hw.manual_seed(0)
    with dist.tables_on(mesh, hw.split(0)):
        model = DLRM(config)
    model.to_global(mesh, {"emb_l.*": hw.split(0)})
    optimizer = hw.optim.Adagrad(model.parameters(), lr=0.01)
    dense = hw.randn(o.samples, config.dense).to_global(mesh, hw.split(0))
    ids = hw.randint(0, o.rows, (26, o.samples, 1)).to_global(mesh, hw.split(1))
    clicks = hw.randint(0, 2, (o.samples, 1)).float().to_global(mesh, hw.split(0))

    def step() -> float:
        optimizer.zero_grad()
        loss = F.binary_cross_entropy(model(dense, ids), clicks)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def measure(o: argparse.Namespace) -> None:
    """In each rank: times, losses, memory, as a line of the first."""
    mesh = hw.mesh("cpu", dist.get_world_size())
    step = recommendation(o, mesh) if o.child == "dlrm" else classifier(o, mesh, o.rate if o.child == "sampled" else 1.0)
    held = hw.memory.stats()["allocated"]
    times, losses = [], []
    for _ in range(o.steps + 2):
        dist.barrier()
        begin = time.perf_counter()
        losses.append(step())
        times.append(time.perf_counter() - begin)
    if dist.get_rank() == 0:
        print(json.dumps({"times": times[2:], "losses": losses, "peak": hw.memory.stats()["peak_allocated"], "held": held}))


def run(o: argparse.Namespace, case: str, ranks: int) -> dict[str, Any]:
    options = [f"--{k}={getattr(o, k)}" for k in ("classes", "features", "batch", "rate", "rows", "samples", "steps")]
    command = [sys.executable, __file__, "--child", case, *options]
    if ranks > 1:
        mpirun = find_mpirun()
        assert mpirun, "needs mpirun"
        command = [*mpirun_command(mpirun, ranks)[0], *command]
    path = os.pathsep.join(["python", ".", os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "HEADWATER_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    out = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert out.returncode == 0, out.stderr[-2000:]
    found: dict[str, Any] = json.loads(next(line[line.index("{") :] for line in out.stdout.splitlines() if '{"times"' in line))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="sampled,dense,dlrm")
    parser.add_argument("--classes", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=512)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--rows", type=int, default=100_000, help="of each of 26 tables")
    parser.add_argument("--samples", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child")
    o = parser.parse_args()
    if o.child:
        return measure(o)
    print(f"load {os.getloadavg()[0]:.1f} before\n")
    print("| case | 1 rank | 2 ranks | ratio | memory of a rank | ratio | last loss | losses differ by |")
    print("|---|---:|---:|---|---|---|---|---|")
    for case in o.only.split(","):
        found: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
        for _ in range(o.rounds):
            for ranks, list_ in found.items():
                list_.append(run(o, case, ranks))
        one, two = (statistics.median(t for r in found[n] for t in r["times"]) for n in (1, 2))
        a, b = (found[n][0]["peak"] / 1e6 for n in (1, 2))
        ratios = sorted(statistics.median(y["times"]) / statistics.median(x["times"]) for x, y in zip(found[1], found[2], strict=True))
        apart = max(abs(x / y - 1) for x, y in zip(found[1][0]["losses"], found[2][0]["losses"], strict=True))
        print(f"| {case} | {one * 1e3:.0f} ms | {two * 1e3:.0f} ms | {two / one:.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f}) | "
              f"{a:.0f}, {b:.0f} MB | {b / a:.2f} | {found[1][0]['losses'][-1]:.4f} | {apart:.1e} |", flush=True)  # fmt: skip
    print(f"\nload {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
