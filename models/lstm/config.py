"""Sizes of the LSTM language model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    vocab_size: int = 10000
    embedding: int = 650
    hidden: int = 650
    layers: int = 2
    dropout: float = 0.5


MEDIUM = Config()  # Zaremba et al. 2014, "medium"
TINY = Config(vocab_size=128, embedding=64, hidden=96, layers=2, dropout=0.0)
