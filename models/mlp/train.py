"""Trains the perceptron on scikit-learn's handwritten digits: python -m models.mlp.train --epochs 20."""

from __future__ import annotations

import argparse

import headwater as hw
from headwater import nn

from .config import Config
from .model import MLP


def digits() -> tuple[hw.Tensor, hw.Tensor, hw.Tensor, hw.Tensor]:
    """1437 images of 8 x 8 to train with, 360 to test with, and their labels."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = hw.tensor(data.images / 16.0).to(hw.float32)
    labels = hw.tensor(data.target).to(hw.int64)
    order = hw.randperm(len(labels), generator=hw.Generator().manual_seed(0))
    images, labels = images[order], labels[order]
    return images[:1437], labels[:1437], images[1437:], labels[1437:]


def train(epochs: int, batch: int = 64, lr: float = 1e-3) -> float:
    """Returns the accuracy on the test images."""
    images, labels, test_images, test_labels = digits()
    model = MLP(Config(inputs=64, hidden=(128, 128)))
    optimizer = hw.optim.AdamW(model.parameters(), lr=lr)
    loss_of = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        total, order = 0.0, hw.randperm(len(labels))
        for rows in order.split(batch):
            optimizer.zero_grad()
            loss = loss_of(model(images[rows]), labels[rows])
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * len(rows)
        print(f"epoch {epoch + 1}: loss {total / len(labels):.4f}")
    with hw.no_grad():
        hits = model.eval()(test_images).argmax(1) == test_labels
    return float(hits.to(hw.float32).mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    print(f"accuracy {train(parser.parse_args().epochs):.4f}")
