"""Frozen models: `hw.freeze` writes one, `hw.infer.load` runs it, as libheadwater_infer does from C."""
from __future__ import annotations

from .freeze import FreezeError, freeze
from .model import Memory, Model, load

__all__ = ["FreezeError", "Memory", "Model", "freeze", "load"]
