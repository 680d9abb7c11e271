"""Eager training steps of ResNet-18 (batch 8) and BERT-base (batch 4 x 128) against torch: time in turns, memory in fresh processes.

    python benchmarks/training.py [--threads 2] [--rounds 3] [--only resnet18 bert] [--markdown FILE]
"""
from __future__ import annotations

import argparse
import gc
import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networks
import numpy as np

from paired import compare, seconds

TASKS: dict[str, tuple[int, str]] = {"resnet18": (8, "SGD"), "bert": (4, "AdamW")}


def training_step(m: Any, task: str) -> Callable[[], float]:
    """Forward, cross-entropy, backward, update."""
    rng = np.random.default_rng(0)
    batch, name = TASKS[task]
    model = getattr(networks, task)(m).train()
    x = rng.standard_normal((batch, 3, 224, 224)).astype("float32") if task == "resnet18" else rng.integers(0, 30522, (batch, 128))
    inputs = m.tensor(x)
    target = m.tensor(rng.integers(0, 1000 if task == "resnet18" else 2, batch))
    parameters = model.parameters()
    optimizer = m.optim.SGD(parameters, lr=1e-4, momentum=0.9) if name == "SGD" else m.optim.AdamW(parameters, lr=1e-5)
    loss_function = m.nn.CrossEntropyLoss()

    def step() -> float:
        optimizer.zero_grad()
        loss = loss_function(model(inputs), target)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def _status_mib(field: str) -> float:
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) / 1024 for line in f if line.startswith(field))


def _measure_memory(framework: str, task: str, threads: int) -> None:
    """Prints how far three steps raise the resident size above what the imported framework holds, in MiB."""
    m = importlib.import_module(framework)
    m.set_num_threads(threads)
    m.ones(8).exp().sum()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew: imports have one of their own
    before = _status_mib("VmRSS")
    step = training_step(m, task)
    for _ in range(3):
        step()
    print(json.dumps(_status_mib("VmHWM") - before))


def peak_memory(framework: str, task: str, threads: int) -> float:
    """The same in a process of its own."""
    out = subprocess.run([sys.executable, __file__, "--memory-of", framework, "--only", task, "--threads", str(threads)], check=True,
                         capture_output=True, text=True).stdout
    return float(json.loads(out.splitlines()[-1]))


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--only", nargs="+", default=list(TASKS))
    ap.add_argument("--markdown", help="also write the table to this file")
    ap.add_argument("--memory-of", help=argparse.SUPPRESS)
    a = ap.parse_args()
    if a.memory_of:
        return _measure_memory(a.memory_of, a.only[0], a.threads)
    import torch

    import headwater as hw

    hw.set_num_threads(a.threads)
    torch.set_num_threads(a.threads)
    lines = ["| training step | headwater | torch | time ratio | headwater peak | torch peak | memory ratio |", "|---|---:|---:|---:|---:|---:|---:|"]
    print(*lines, sep="\n", flush=True)
    for task in a.only:
        torch_, us = compare({"torch": training_step(torch, task), "headwater": training_step(hw, task)}, rounds=a.rounds, turn=0.5)
        ours, theirs = peak_memory("headwater", task, a.threads), peak_memory("torch", task, a.threads)
        lines.append(f"| {task}, batch {TASKS[task][0]} | {seconds(us.median)} | {seconds(torch_.median)} | {us.ratio:.2f} | {ours:.0f} MiB | "
                     f"{theirs:.0f} MiB | {ours / theirs:.2f} |")
        print(lines[-1], flush=True)
    if a.markdown:
        Path(a.markdown).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
