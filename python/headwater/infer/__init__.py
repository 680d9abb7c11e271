"""Frozen models: `hw.freeze` writes one, `hw.infer.load` runs it, as libheadwater_infer does from C."""
from __future__ import annotations

from .freeze import FreezeError, freeze
from .model import Memory, Model, load
from .preprocess import Preprocess

__all__ = ["FreezeError", "Memory", "Model", "Preprocess", "freeze", "load"]
