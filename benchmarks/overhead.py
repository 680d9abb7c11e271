"""What a small operation costs: calls on 8 elements, and training steps of a small network, against torch.

    python benchmarks/overhead.py [--threads 2] [--rounds 15] [--markdown FILE]
"""
from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import headwater as hw
from paired import compare, seconds


def small(m: Any) -> dict[str, Callable[[], object]]:
    """Calls on tensors of 8 float32 elements."""
    a, b = m.ones(8), m.ones(8)
    g = m.ones(8).requires_grad_()
    x = m.ones(4, 8)
    return {"a + b, 8 elements": lambda: a + b, "a + 1.0": lambda: a + 1.0, "a + b, recorded": lambda: g + b,
            "a.add_(b)": lambda: a.add_(b), "exp(a)": lambda: m.exp(a), "x[0]": lambda: x[0], "x.view(8, 4)": lambda: x.view(8, 4),
            "x.sum()": lambda: x.sum()}


def mlp_step(m: Any, sizes: tuple[int, ...], batch: int) -> Callable[[], object]:
    """One training step: forward, cross-entropy, backward, SGD."""
    rng = np.random.default_rng(0)
    layers: list[Any] = []
    for i, o in zip(sizes, sizes[1:], strict=False):
        layers += [m.nn.Linear(i, o), m.nn.ReLU()]
    model = m.nn.Sequential(*layers[:-1])
    optimizer = m.optim.SGD(model.parameters(), lr=1e-3)
    loss_function = m.nn.CrossEntropyLoss()
    x = m.tensor(rng.standard_normal((batch, sizes[0])).astype("float32"))
    y = m.tensor(rng.integers(0, sizes[-1], batch))

    def step() -> object:
        optimizer.zero_grad()
        loss = loss_function(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--rounds", type=int, default=15)
    ap.add_argument("--markdown", help="also write the table to this file")
    a = ap.parse_args()
    hw.set_num_threads(a.threads)
    torch.set_num_threads(a.threads)
    work = {name: (f, small(torch)[name]) for name, f in small(hw).items()}
    work["train MLP 784-512-512-10, batch 64"] = (mlp_step(hw, (784, 512, 512, 10), 64), mlp_step(torch, (784, 512, 512, 10), 64))
    work["train MLP 32-64-10, batch 16"] = (mlp_step(hw, (32, 64, 10), 16), mlp_step(torch, (32, 64, 10), 16))
    lines = ["| work | headwater | torch | ratio (quartiles) |", "|---|---:|---:|---|"]
    print(*lines, sep="\n", flush=True)
    for name, (ours, theirs) in work.items():
        torch_, us = compare({"torch": theirs, "headwater": ours}, rounds=a.rounds)
        line = (f"| {name} | {seconds(us.median)} | {seconds(torch_.median)} | {us.ratio:.2f} "
                f"({us.quartiles[0]:.2f}-{us.quartiles[1]:.2f}) |")
        lines.append(line)
        print(line, flush=True)
    if a.markdown:
        with open(a.markdown, "w") as f:
            f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
