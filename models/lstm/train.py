"""Trains a small LSTM on the characters of this project's documents: python -m models.lstm.train --steps 200."""

from __future__ import annotations

import argparse

import headwater as hw
import headwater.nn.functional as F
from headwater import nn
from models.text import characters, windows

from .config import TINY
from .model import LSTMModel


def train(steps: int, batch: int = 16, length: int = 48, lr: float = 4e-3) -> tuple[float, float]:
    """Returns the losses of the first step and of the last ten on average."""
    text = characters()
    model = LSTMModel(TINY)
    optimizer = hw.optim.AdamW(model.parameters(), lr=lr)
    losses = []
    for step in range(steps):
        ids = windows(text, batch, length + 1).transpose(0, 1)
        optimizer.zero_grad()
        scores = model(ids[:-1])
        loss = F.cross_entropy(scores.reshape(-1, TINY.vocab_size), ids[1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
        if step % 20 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses[0], sum(losses[-10:]) / len(losses[-10:])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    print("loss of the first step and of the last ten: {:.4f} {:.4f}".format(*train(parser.parse_args().steps)))
