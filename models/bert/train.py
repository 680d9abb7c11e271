"""Trains a tiny BERT to fill in masked characters of this project's documents: python -m models.bert.train --steps 200."""

from __future__ import annotations

import argparse

import headwater as hw
import headwater.nn.functional as F
from models.text import characters, windows

from .config import TINY
from .model import BertForMaskedLM

MASK = 1


def train(steps: int, batch: int = 16, length: int = 48, lr: float = 1e-3) -> tuple[float, float]:
    """Returns the losses of the first step and of the last ten on average."""
    text = characters()
    model = BertForMaskedLM(TINY)
    optimizer = hw.optim.AdamW(model.parameters(), lr=lr)
    losses = []
    for step in range(steps):
        ids = windows(text, batch, length)
        hidden = hw.rand(batch, length) < 0.15
        optimizer.zero_grad()
        scores = model(ids.masked_fill(hidden, MASK))
        loss = F.cross_entropy(scores.reshape(-1, TINY.vocab_size), ids.masked_fill(~hidden, -100).reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        if step % 20 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses[0], sum(losses[-10:]) / len(losses[-10:])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    print("loss of the first step and of the last ten: {:.4f} {:.4f}".format(*train(parser.parse_args().steps)))
