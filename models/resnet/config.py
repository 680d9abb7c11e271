"""Depths and widths of residual networks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    block: str = "basic"  # two 3x3 convolutions; "bottleneck": 1x1, 3x3, 1x1
    depths: tuple[int, int, int, int] = (2, 2, 2, 2)
    width: int = 64
    channels: int = 3
    classes: int = 1000


RESNET18 = Config()
RESNET34 = Config(depths=(3, 4, 6, 3))
RESNET50 = Config("bottleneck", (3, 4, 6, 3))
