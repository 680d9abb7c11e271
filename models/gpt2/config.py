"""Sizes of GPT-2."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    vocab_size: int = 50257
    n_positions: int = 1024
    n_embd: int = 768
    n_layer: int = 12
    n_head: int = 12
    dropout: float = 0.1
    layer_norm_epsilon: float = 1e-5
    initializer_range: float = 0.02


SMALL = Config()
TINY = Config(vocab_size=128, n_positions=64, n_embd=64, n_layer=2, n_head=4)
