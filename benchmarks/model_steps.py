"""Training steps and inference of the networks in models/, against torch running the same source.

    python benchmarks/model_steps.py [--threads 2] [--only REGEX] [--rounds 9] [--no-memory] [--markdown FILE]

A step is: zero the gradients, forward, loss, backward, optimiser. Peak memory is that of a process of its own which makes three
steps, less what the process needs after import.
"""
from __future__ import annotations

import argparse
import importlib
import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "python")]


RNG = np.random.default_rng(0)


def images(batch: int, size: int = 224) -> tuple[np.ndarray, ...]:
    return (RNG.standard_normal((batch, 3, size, size)).astype("float32"),)


def tokens(vocabulary: int, *shape: int) -> tuple[np.ndarray, ...]:
    return (RNG.integers(0, vocabulary, shape),)


def clicks(batch: int) -> tuple[np.ndarray, ...]:
    return RNG.standard_normal((batch, 13)).astype("float32"), RNG.integers(0, 100_000, (26, batch, 1))


def work() -> dict[str, tuple[str, str, tuple[np.ndarray, ...], str]]:
    """Name: room, what makes the network, inputs, kind of loss."""
    return {
        "mlp 784-512-512-10, batch 64": ("mlp", "MLP", (RNG.standard_normal((64, 784)).astype("float32"),), "classes"),
        "resnet18, batch 8": ("resnet", "resnet18", images(8), "classes"),
        "resnet50, batch 4": ("resnet", "resnet50", images(4), "classes"),
        "mobilenet_v2, batch 8": ("mobilenet_v2", "mobilenet_v2", images(8), "classes"),
        "bert base, 4 x 128 tokens": ("bert", "BertForMaskedLM", tokens(30522, 4, 128), "tokens"),
        "gpt2 small, 2 x 128 tokens": ("gpt2", "gpt2", tokens(50257, 2, 128), "tokens"),
        "lstm 2 x 650, 35 x 20 tokens": ("lstm", "LSTMModel", tokens(10000, 35, 20), "tokens"),
        "dlrm 26 tables, batch 512": ("dlrm", "DLRM", clicks(512), "clicks"),
    }


def step_of(library: str, name: str, train: bool = True) -> Callable[[], object]:
    """One training step (or one forward pass in evaluation mode) by headwater or torch."""
    room, make, inputs, loss = work()[name]
    m = importlib.import_module(library)
    if library == "torch":
        from models.under_torch import import_under_torch

        model = getattr(import_under_torch(room), make)()
    else:
        model = getattr(importlib.import_module(f"models.{room}.model"), make)()
    tensors = [m.tensor(array) for array in inputs]
    if not train:
        model.eval()

        def infer() -> object:
            with m.no_grad():
                return model(*tensors)

        return infer
    functional = importlib.import_module(f"{library}.nn.functional")
    optimizer = m.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    with m.no_grad():
        shape = tuple(model(*tensors).shape)
    rng = np.random.default_rng(1)
    if loss == "clicks":
        target = m.tensor(rng.random(shape).astype("float32"))
    else:
        target = m.tensor(rng.integers(0, shape[-1], shape[:-1]).reshape(-1))

    def step() -> object:
        optimizer.zero_grad()
        out = model(*tensors)
        if loss == "clicks":
            value = functional.binary_cross_entropy(out, target)
        else:
            value = functional.cross_entropy(out.reshape(-1, shape[-1]), target)
        value.backward()
        optimizer.step()
        return value

    return step


def peak_memory(library: str, name: str, threads: int) -> float:
    """Peak resident bytes of three steps in a process of their own, less those after import."""
    command = [sys.executable, __file__, "--measure-memory", json.dumps([library, name, threads])]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def measure_memory(library: str, name: str, threads: int) -> None:
    m = importlib.import_module(library)
    importlib.import_module(f"{library}.nn")
    m.set_num_threads(threads)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step = step_of(library, name)
    for _ in range(3):
        step()
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--rounds", type=int, default=9)
    ap.add_argument("--only", default="", help="a regular expression of names")
    ap.add_argument("--no-memory", action="store_true")
    ap.add_argument("--markdown", help="also write the table to this file")
    ap.add_argument("--measure-memory", help=argparse.SUPPRESS)
    a = ap.parse_args()
    if a.measure_memory:
        return measure_memory(*json.loads(a.measure_memory))
    lines = ["| work | headwater | torch | ratio (quartiles) | peak memory, ratio |", "|---|---:|---:|---|---|"]
    print(*lines, sep="\n", flush=True)
    for name in work():
        if not re.search(a.only, name):
            continue
        for train in (True, False):
            line = row(name, train, a)
            lines.append(line)
            print(line, flush=True)
    if a.markdown:
        Path(a.markdown).write_text("\n".join(lines) + "\n")
    return None


def row(name: str, train: bool, a: Any) -> str:
    """One line of the table."""
    import torch

    import headwater as hw
    from paired import compare, seconds

    hw.set_num_threads(a.threads)
    torch.set_num_threads(a.threads)
    candidates = {library: step_of(library, name, train) for library in ("torch", "headwater")}
    theirs, ours = compare(candidates, rounds=a.rounds)
    memory = ""
    if train and not a.no_memory:
        own, other = peak_memory("headwater", name, a.threads), peak_memory("torch", name, a.threads)
        memory = f"{own / 2**20:.0f} MiB, {own / other:.2f}"
    kind = "train" if train else "infer"
    times = f"{seconds(ours.median)} | {seconds(theirs.median)} | {ours.ratio:.2f}"
    return f"| {kind} {name} | {times} ({ours.quartiles[0]:.2f}-{ours.quartiles[1]:.2f}) | {memory} |"


if __name__ == "__main__":
    main()
