"""Weak scaling of data parallel and strong scaling of a tensor-parallel BERT block: 2 ranks of one core against 1 rank of one core.

    python benchmarks/scaling.py [--only resnet50|bert|block] [--batch N] [--rounds 3] [--jobs 1] [--no-torch]

In the same processes three ways take turns, all ranks begin together: "one": rank 0 steps alone, the others wait; "apart": all ranks step,
each by itself (what the machine's memory costs when all cores work); "together": the step over ranks. torch's DistributedDataParallel
over gloo does the same in processes of its own, its jobs in turns with ours. A step is forward, loss, backward, optimiser. Batches are
those of a rank (of the block: of all ranks); medians. --tiny: small networks, to see that it runs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

Run = Callable[[], object]
BATCHES = {"resnet50": 8, "bert": 4, "block": 8}
LENGTH = 128


def network(name: str, room: Any, tiny: bool) -> Any:
    """`room`: models.<name>.model, of headwater or torch."""
    config = importlib.import_module(f"models.{'bert' if name == 'bert' else 'resnet'}.config")
    if name == "bert":
        return room.BertForMaskedLM(config.TINY if tiny else config.BASE)
    return room.ResNet(config.Config(depths=(1, 1, 1, 1), width=8, classes=10)) if tiny else room.resnet50()


def data(name: str, batch: int, tiny: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    if name == "bert":
        ids = rng.integers(0, 128 if tiny else 30522, (batch, 16 if tiny else LENGTH))
        return ids, ids.reshape(-1)
    size = 32 if tiny else 224
    return rng.standard_normal((batch, 3, size, size)).astype("float32"), rng.integers(0, 10, batch)


def optimizer_of(m: Any, name: str, parameters: Any) -> Any:
    return m.optim.AdamW(parameters, lr=1e-5) if name == "bert" else m.optim.SGD(parameters, lr=1e-4, momentum=0.9)


def stepper(model: Any, optimizer: Any, inputs: Any, target: Any, entropy: Any) -> Run:
    def step() -> None:
        optimizer.zero_grad()
        scores = model(inputs)
        loss = entropy(scores.reshape(-1, scores.shape[-1]), target)
        loss.backward()
        optimizer.step()

    return step


def turns(ways: dict[str, Run], rounds: int, rank: int, barrier: Run) -> dict[str, list[float]]:
    """Seconds of each way in each round; those of rank 0, from where all begin to where all have ended."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, run in ways.items():
            barrier()
            begin = time.perf_counter()
            if name != "one" or rank == 0:
                run()
            barrier()
            if turn:
                times[name].append(time.perf_counter() - begin)
    return times


def ours_weak(a: argparse.Namespace) -> dict[str, list[float]]:
    import headwater as hw
    import headwater.distributed as dist

    hw.set_num_threads(1)
    ranks, batch = dist.get_world_size(), a.batch or BATCHES[a.inside]
    room = importlib.import_module(f"models.{'bert' if a.inside == 'bert' else 'resnet'}.model")
    entropy = hw.nn.functional.cross_entropy
    steps = []
    for mesh, rows in ((None, batch), (hw.mesh("cpu", ranks, names=("data",)), batch * ranks)):
        hw.manual_seed(0)
        model = network(a.inside, room, a.tiny).train()
        x, y = (hw.tensor(v) for v in data(a.inside, rows, a.tiny))
        if mesh is not None:
            model = hw.parallelize(model, mesh, "data")
            x, y = dist.place_batch(model, x), dist.place_batch(model, y)
        steps.append(stepper(model, optimizer_of(hw, a.inside, model.parameters()), x, y, entropy))
    return turns({"one": steps[0], "apart": steps[0], "together": steps[1]}, a.rounds, dist.get_rank(), dist.barrier)


def torch_weak(a: argparse.Namespace) -> dict[str, list[float]]:
    import torch
    import torch.distributed as dist

    from models.under_torch import import_under_torch

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    name, batch = a.inside.removeprefix("torch-"), a.batch
    batch = batch or BATCHES[name]
    room = import_under_torch("bert" if name == "bert" else "resnet")
    x, y = (torch.tensor(v) for v in data(name, batch, a.tiny))
    steps = []
    for parallel in (False, True):
        torch.manual_seed(0)
        model = network(name, room, a.tiny).train()
        if parallel:
            model = torch.nn.parallel.DistributedDataParallel(model)
        steps.append(stepper(model, optimizer_of(torch, name, model.parameters()), x, y, torch.nn.functional.cross_entropy))
    return turns({"one": steps[0], "apart": steps[0], "together": steps[1]}, a.rounds, dist.get_rank(), dist.barrier)


def ours_block(a: argparse.Namespace) -> dict[str, list[float]]:
    """One encoder layer of BERT-base, its weights split over the ranks."""
    import headwater as hw
    import headwater.distributed as dist
    from models.bert.config import BASE, TINY
    from models.bert.model import BertModel, Layer

    hw.set_num_threads(1)
    config, batch = TINY if a.tiny else BASE, a.batch or BATCHES["block"]
    plan = {pattern.removeprefix("*."): axis for pattern, axis in BertModel.tensor_plan.items()}
    plan = {("attention." if pattern.startswith("self") else "") + pattern: axis for pattern, axis in plan.items()}
    steps = []
    for mesh in (None, hw.mesh("cpu", dist.get_world_size(), names=("model",))):
        hw.manual_seed(0)
        model = Layer(config).train()
        x = hw.randn(batch, 16 if a.tiny else LENGTH, config.hidden_size)
        if mesh is not None:
            model = hw.parallelize(model, mesh, plan)
            x = x.to_global(mesh, hw.broadcast)
        x = x.detach().requires_grad_()  # as in the midst of a network
        optimizer = hw.optim.SGD(model.parameters(), lr=1e-4)

        def step(model: Any = model, x: Any = x, optimizer: Any = optimizer) -> None:
            optimizer.zero_grad()
            x.grad = None
            model(x, None).square().mean().backward()
            optimizer.step()

        steps.append(step)
    return turns({"one": steps[0], "apart": steps[0], "together": steps[1]}, a.rounds, dist.get_rank(), dist.barrier)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def job(a: argparse.Namespace, inside: str) -> dict[str, list[float]]:
    from headwater.cli.launch import find_mpirun, mpirun_command

    command = [sys.executable, __file__, "--inside", inside, f"--batch={a.batch}", f"--rounds={a.rounds}"] + ["--tiny"] * a.tiny
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    if inside.startswith("torch-"):
        environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(a.ranks)}
        each = [subprocess.Popen(command, env=environment | {"RANK": str(r)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for r in range(a.ranks)]  # fmt: skip
        said = [p.communicate() for p in each]
        out, errors = said[0][0], "".join(e for _, e in said)
    else:
        mpirun = find_mpirun()
        if mpirun is None:
            sys.exit("scaling.py: needs an MPI")
        done = subprocess.run([*mpirun_command(mpirun, a.ranks)[0], *command], capture_output=True, text=True, env=environment)
        out, errors = done.stdout, done.stderr
    lines = [line.partition("times: ")[2] for line in out.splitlines() if "times: " in line]
    if not lines:
        sys.exit(f"{inside}: {errors[-2000:]}")
    return json.loads(lines[0])  # type: ignore[no-any-return]


def show(name: str, who: str, jobs: list[dict[str, list[float]]]) -> str:
    times = {way: [t for j in jobs for t in j[way]] for way in jobs[0]}
    one, apart, together = (statistics.median(times[way]) for way in ("one", "apart", "together"))
    by_round = [a / b for a, b in zip(times["one"], times["together"], strict=True)]
    ratio, of_apart = statistics.median(by_round), statistics.median(a / b for a, b in zip(times["apart"], times["together"], strict=True))
    quickest = min(times["one"]) / min(times["together"])
    said = f"{one * 1e3:.1f} ms | {apart * 1e3:.1f} ms | {together * 1e3:.1f} ms | {ratio:.1%} | {of_apart:.1%} | {quickest:.1%}"
    return f"| {name} | {who} | {said} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="in each job")
    parser.add_argument("--jobs", type=int, default=1, help="of each library, in turns")
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--only", default="", help="resnet50, bert or block")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--inside", default="", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.inside:
        torch = a.inside.startswith("torch-")
        times = torch_weak(a) if torch else ours_block(a) if a.inside == "block" else ours_weak(a)
        rank = int(os.environ["RANK"]) if torch else importlib.import_module("headwater.distributed").get_rank()
        if rank == 0:
            print("times: " + json.dumps(times), flush=True)
        return
    print("| step | library | one rank | ranks apart | together | one / together | apart / together | one / together, quickest |\n|---|---|---:|---:|---:|---:|---:|---:|")
    for name in [n for n in BATCHES if a.only in n]:
        libraries = {"headwater": name} | ({} if a.no_torch or name == "block" else {"torch DDP, gloo": f"torch-{name}"})
        jobs: dict[str, list[dict[str, list[float]]]] = {who: [] for who in libraries}
        for _ in range(a.jobs):
            for who, inside in libraries.items():
                jobs[who].append(job(a, inside))
        for who, done in jobs.items():
            print(show(name, who, done), flush=True)


if __name__ == "__main__":
    main()
