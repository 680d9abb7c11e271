"""Writing ONNX files: capture the module, write each operator by its own mapping, compare with ONNX Runtime."""
from __future__ import annotations

from . import index, neural, quantization, reduction, shape
from .exporter import Report, export
from .writer import exporters

__all__ = ["Report", "export", "exporters", "index", "neural", "quantization", "reduction", "shape"]
