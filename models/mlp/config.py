"""Sizes of the multi-layer perceptron."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    inputs: int = 784
    hidden: tuple[int, ...] = (512, 512)
    classes: int = 10
