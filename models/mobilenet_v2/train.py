"""Trains a narrow MobileNetV2 on scikit-learn's digits, enlarged to 32 x 32: python -m models.mobilenet_v2.train."""

from __future__ import annotations

import argparse

import headwater as hw
import headwater.nn.functional as F
from models.mlp.train import digits

from .config import Config
from .model import MobileNetV2

# Strides of one in the first stages: the images are small.
SMALL = Config(0.5, 10, 0.1, ((1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 2, 2), (6, 64, 2, 2)))


def train(steps: int, batch: int = 64, lr: float = 3e-3) -> float:
    """Returns the accuracy on the test images."""
    images, labels, test_images, test_labels = digits()
    model = MobileNetV2(SMALL)
    optimizer = hw.optim.AdamW(model.parameters(), lr=lr)
    schedule = hw.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=lr, total_steps=steps)
    for step in range(steps):
        rows = hw.randint(0, len(labels), (batch,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(_enlarged(images[rows])), labels[rows])
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 20 == 0:
            print(f"step {step}: loss {float(loss.detach()):.4f}")
    with hw.no_grad():
        hits = model.eval()(_enlarged(test_images)).argmax(1) == test_labels
    return float(hits.to(hw.float32).mean())


def _enlarged(images: hw.Tensor) -> hw.Tensor:
    return F.interpolate(images.unsqueeze(1), scale_factor=4, mode="nearest").expand(-1, 3, -1, -1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    print(f"accuracy {train(parser.parse_args().steps):.4f}")
