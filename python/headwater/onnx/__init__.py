"""ONNX: `load` makes a module of a file, `export` writes a module as one. Needs the package `onnx`."""
from __future__ import annotations

from . import operators
from .export import Report, export
from .model import OnnxModule, load
from .registry import supported
from .requirement import OnnxError

__all__ = ["OnnxError", "OnnxModule", "Report", "export", "load", "operators", "supported"]
