"""The package `onnx`, which reads and writes the files: imported here only, with an error that says how to get it."""
from __future__ import annotations

try:
    import onnx
    import onnx.checker
    import onnx.defs
    import onnx.external_data_helper
    import onnx.helper
    import onnx.inliner
    import onnx.numpy_helper
    import onnx.shape_inference
    import onnx.version_converter
except ImportError as error:
    raise ImportError(
        "hw.onnx needs the package 'onnx', which reads and writes ONNX files: pip install 'headwater[onnx]' (or pip install onnx)"
    ) from error


class OnnxError(RuntimeError):
    """A file cannot be read, or a model cannot be run or written. The message names the node and the remedy."""


__all__ = ["OnnxError", "onnx"]
