"""Sizes of the recommendation model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    dense: int = 13
    embedding: int = 64
    tables: tuple[int, ...] = (100_000,) * 26
    bottom: tuple[int, ...] = (512, 256)
    top: tuple[int, ...] = (512, 256)
    sparse: bool = False  # gradients of tables by rows: for SGD, Adagrad, SparseAdam


TINY = Config(dense=4, embedding=8, tables=(50, 20, 30), bottom=(16,), top=(16,))
