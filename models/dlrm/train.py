"""Trains a tiny DLRM on clicks made up by a hidden rule: python -m models.dlrm.train --steps 300."""

from __future__ import annotations

import argparse

import headwater as hw
import headwater.nn.functional as F

from .config import TINY
from .model import DLRM


def clicks(batch: int, tastes: hw.Tensor) -> tuple[hw.Tensor, hw.Tensor, hw.Tensor]:
    """Numbers, categories, and 1 where the sum of the first category's taste and the first number is positive."""
    dense = hw.randn(batch, TINY.dense)
    categories = hw.stack([hw.randint(0, rows, (batch, 2)) for rows in TINY.tables])
    target = tastes[categories[0]].sum(1) + dense[:, 0] > 0
    return dense, categories, target.to(hw.float32).unsqueeze(1)


def train(steps: int, batch: int = 128, lr: float = 1e-2) -> float:
    """Returns the share of right guesses on new clicks."""
    tastes = hw.randn(TINY.tables[0])
    model = DLRM(TINY)
    optimizer = hw.optim.Adagrad(model.parameters(), lr=lr)
    for step in range(steps):
        dense, categories, target = clicks(batch, tastes)
        optimizer.zero_grad()
        loss = F.binary_cross_entropy(model(dense, categories), target)
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {float(loss.detach()):.4f}")
    with hw.no_grad():
        dense, categories, target = clicks(2000, tastes)
        hits = (model.eval()(dense, categories) > 0.5) == (target > 0.5)
    return float(hits.to(hw.float32).mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    print(f"right guesses {train(parser.parse_args().steps):.4f}")
