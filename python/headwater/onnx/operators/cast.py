"""Casts, also to and from the types that the core lacks: those go through NumPy and ml_dtypes."""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import headwater as hw

from ... import recording
from ..element_types import core_type, from_onnx, in_core, is_text, numpy_type
from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..values import host, is_symbolic, plain, tensor


def cast_to(value: Any, number: int | None, like: Any = None, saturate: bool = True, up: str = "up") -> Any:
    """The value in the element type `number` of TensorProto, or in that of `like`."""
    if number is None:
        target = numpy_type(like.dtype) if isinstance(like, hw.Tensor) else like.dtype
    else:
        target = from_onnx(number)
    if is_symbolic(value):
        if target == np.int64:
            return value
        value = plain(value)
    if isinstance(value, hw.Tensor) and in_core(target):
        return value.to(core_type(target))
    array = host(value, "a value that is cast to or from a type which the core lacks")
    if in_core(target) and in_core(array.dtype):
        with recording.eagerly():
            return host(tensor(array).to(core_type(target)))
    return _cast_on_host(array, target, saturate, up)


def _cast_on_host(array: np.ndarray[Any, Any], target: np.dtype[Any], saturate: bool, up: str) -> np.ndarray[Any, Any]:
    if is_text(array.dtype):
        return array if is_text(target) else _from_texts(array, target)
    if is_text(target):
        return _to_texts(array)
    if target.name.startswith("float8_e8m0"):
        return _to_power_of_two(array, target, saturate, up)
    if target.name.startswith(("float8", "float4", "float6")):
        return _to_small_float(array.astype(np.float32), target, saturate)
    if target.name.startswith(("int4", "uint4", "int2", "uint2")):
        bits = int(target.name[-1])
        low = 0 if target.name[0] == "u" else -(2 ** (bits - 1))
        wide = array.astype(np.float64) if array.dtype.kind not in "iub" else array.astype(np.int64)
        whole = np.rint(wide).astype(np.int64) if wide.dtype.kind == "f" else wide
        return ((whole - low) % 2**bits + low).astype(np.int8).astype(target)
    if array.dtype.name.startswith(("int4", "uint4", "int2", "uint2")):
        array = array.astype(np.int8)
    elif not in_core(array.dtype) and array.dtype.kind not in "iub":
        array = array.astype(np.float32)
    with np.errstate(all="ignore"):
        return array.astype(target)


def _to_small_float(values: np.ndarray[Any, Any], target: np.dtype[Any], saturate: bool) -> np.ndarray[Any, Any]:
    largest = float(ml_dtypes.finfo(target).max)
    with np.errstate(all="ignore"):
        made = values.astype(target)
        if saturate or target.name.startswith("float4"):
            beyond = np.abs(values) > largest
            held = np.clip(values, -largest, largest).astype(target)
            made = np.where(beyond & ~np.isnan(values), held, made)
    return made.astype(target)


def _to_power_of_two(array: np.ndarray[Any, Any], target: np.dtype[Any], saturate: bool, up: str) -> np.ndarray[Any, Any]:
    """The exponent alone: 2^(n - 127) for n of 0 to 254, 255 is NaN."""
    values = array.astype(np.float32)
    bits = values.view(np.uint32)
    exponent = ((bits >> 23) & 0xFF).astype(np.int64)
    rest = bits & 0x7FFFFF
    if up == "up":
        more = rest > 0
    elif up == "nearest":
        more = (rest > 0x400000) | ((rest == 0x400000) & (exponent > 0))
    elif up == "down":
        more = np.zeros(rest.shape, bool)
    else:
        raise OnnxError(f"there is no round_mode '{up}'")
    made = np.minimum(exponent + more, 254 if saturate else 255)
    made = np.where(np.isnan(values) | (np.isinf(values) & (not saturate)), 255, np.where(np.isinf(values), 254, made))
    return made.astype(np.uint8).view(target)


def _from_texts(array: np.ndarray[Any, Any], target: np.dtype[Any]) -> np.ndarray[Any, Any]:
    plain_texts = [t.decode() if isinstance(t, bytes) else str(t) for t in array.reshape(-1)]
    if target.kind in "iu":
        numbers = [int(float(t)) if "." in t or "e" in t.lower() else int(t) for t in plain_texts]
        return np.array(numbers).reshape(array.shape).astype(target)
    if target.kind == "b":
        return np.array([t.strip().lower() in ("1", "true") for t in plain_texts], bool).reshape(array.shape)
    floats = np.array([float(t) for t in plain_texts]).reshape(array.shape)
    return floats.astype(target) if in_core(target) else _cast_on_host(floats.astype(np.float32), target, True, "up")


def _to_texts(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    def text(value: Any) -> str:
        if isinstance(value, (float, np.floating)) or array.dtype.name.startswith(("bfloat", "float")):
            number = float(value)
            if np.isnan(number):
                return "NaN"
            if np.isinf(number):
                return "INF" if number > 0 else "-INF"
            made = np.format_float_positional(value, trim="-") if array.dtype.kind == "f" else f"{number:.8g}"
            return made[:-1] if made.endswith(".") else made
        return str(value)

    made = np.empty(array.shape, object)
    for place in np.ndindex(array.shape):
        made[place] = text(array[place])
    return made


@op("Cast", raw=True)
def cast(node: Node, x: Any) -> Any:
    return cast_to(x, node.attr("to"), saturate=bool(node.attr("saturate", 1)), up=node.attr("round_mode", "up"))


@op("CastLike", raw=True)
def cast_like(node: Node, x: Any, like: Any) -> Any:
    return cast_to(x, None, like, bool(node.attr("saturate", 1)), node.attr("round_mode", "up"))


@op("BitCast", raw=True)
def bit_cast(node: Node, x: Any) -> Any:
    target = from_onnx(node.attr("to"))
    if isinstance(x, hw.Tensor) and in_core(target):
        return x.view(core_type(target))
    array = np.ascontiguousarray(host(x, "a value of a type which the core lacks"))
    return array.view(target)
