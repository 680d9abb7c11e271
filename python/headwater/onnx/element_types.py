"""Element types: ONNX's, NumPy's and Headwater's names for the same thing, and how types that the core lacks are held.

The core has bool, u8, i8, i16, i32, i64, f16, bf16, f32, f64, c64, c128. Whatever else ONNX knows (strings, u16 to u64, four bits and
less, eight-bit floats) exists as NumPy arrays on the host; to calculate with it, it is widened to a type that holds its values.
"""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import headwater as hw

from .requirement import OnnxError, onnx

_CORE = {
    "bool": hw.bool, "uint8": hw.uint8, "int8": hw.int8, "int16": hw.int16, "int32": hw.int32, "int64": hw.int64,
    "float16": hw.float16, "bfloat16": hw.bfloat16, "float32": hw.float32, "float64": hw.float64,
    "complex64": hw.complex64, "complex128": hw.complex128,
}  # fmt: skip
_NUMPY = {dtype: np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name) for name, dtype in _CORE.items()}
_WIDE = {
    "uint16": "int32", "uint32": "int64", "uint64": "int64", "int4": "int8", "int2": "int8", "uint4": "uint8", "uint2": "uint8",
}  # fmt: skip


def is_text(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "OUST"


def is_floating(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fc" or dtype.name.startswith(("bfloat", "float"))


def in_core(dtype: np.dtype[Any]) -> bool:
    """Whether tensors of this type exist."""
    return dtype.name in _CORE


def core_type(dtype: np.dtype[Any]) -> Any:
    """The tensors' type for a NumPy type that the core has."""
    return _CORE[dtype.name]


def numpy_type(dtype: Any) -> np.dtype[Any]:
    """The NumPy type for a tensor's type."""
    return _NUMPY[dtype]


def wide_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type to calculate in for values of `dtype`."""
    if in_core(dtype):
        return dtype
    if dtype.name in _WIDE:
        return np.dtype(_WIDE[dtype.name])
    if is_text(dtype):
        raise OnnxError("this operator has no meaning for texts")
    return np.dtype(np.float32)  # eight-bit floats and smaller ones


def from_onnx(number: int) -> np.dtype[Any]:
    """The NumPy type for a number of TensorProto.DataType."""
    try:
        found = onnx.helper.tensor_dtype_to_np_dtype(number)
    except (KeyError, ValueError, TypeError):
        raise OnnxError(f"there is no element type {number} in the installed package onnx {onnx.__version__}") from None
    return np.dtype(object) if is_text(found) else found


def to_onnx(dtype: np.dtype[Any]) -> int:
    """The number of TensorProto.DataType for a NumPy type."""
    if is_text(dtype):
        return int(onnx.TensorProto.STRING)
    return int(onnx.helper.np_dtype_to_tensor_dtype(dtype))


def onnx_type(dtype: Any) -> int:
    """The number of TensorProto.DataType for a tensor's type."""
    return to_onnx(numpy_type(dtype))


def type_name(number: int) -> str:
    names = {v: k for k, v in onnx.TensorProto.DataType.items()}
    return names.get(number, str(number)).lower()
