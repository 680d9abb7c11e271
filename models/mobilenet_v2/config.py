"""Sizes of MobileNetV2."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    width_mult: float = 1.0
    classes: int = 1000
    dropout: float = 0.2
    # expansion, channels, blocks, stride of the first block (Sandler et al. 2018, table 2)
    stages: tuple[tuple[int, int, int, int], ...] = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
