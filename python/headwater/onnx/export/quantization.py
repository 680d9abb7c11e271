"""Exporters: quantised values, in the Q/DQ form."""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from ..element_types import numpy_type
from ..requirement import OnnxError
from .writer import Call, Writer, export_op


def _axis(c: Call) -> int | None:
    return None if c.attrs["axis"] is None else int(c.attrs["axis"]) % c.rank()


def _zero(w: Writer, c: Call, dtype: Any) -> str:
    """The zero point in the type of the integers."""
    return c.name(2, dtype) if c.has(2) else w.constant(np.zeros(c.shape(1), numpy_type(dtype)))


def _steps(w: Writer, c: Call, dtype: Any, low: Any, high: Any) -> str:
    made = str(w.emit("QuantizeLinear", [c.name(0), c.name(1), _zero(w, c, dtype)], axis=_axis(c)))
    kind = np.iinfo(numpy_type(dtype))
    if (low is None or low == kind.min) and (high is None or high == kind.max):
        return made
    bounds = [w.scalar(kind.min if low is None else low, dtype), w.scalar(kind.max if high is None else high, dtype)]
    return str(w.emit("Clip", [made, *bounds]))


@export_op("quantize_linear")
def quantize_linear(w: Writer, c: Call) -> Any:
    dtype = c.out()["dtype"]
    if dtype == hw.int32:
        raise OnnxError("QuantizeLinear has no int32 output")
    return _steps(w, c, dtype, c.attrs["quant_min"], c.attrs["quant_max"])


@export_op("dequantize_linear")
def dequantize_linear(w: Writer, c: Call) -> Any:
    zero = _zero(w, c, c.dtype()) if c.has(2) else ""
    return w.emit("DequantizeLinear", [c.name(0), c.name(1), zero], axis=_axis(c))


@export_op("fake_quantize")
def fake_quantize(w: Writer, c: Call) -> Any:
    low, high = int(c.attrs["quant_min"]), int(c.attrs["quant_max"])
    for dtype in (hw.int8, hw.uint8, hw.int16):
        kind = np.iinfo(numpy_type(dtype))
        if kind.min <= low and high <= kind.max:
            steps = _steps(w, c, dtype, low, high)
            return w.emit("DequantizeLinear", [steps, c.name(1), _zero(w, c, dtype)], axis=_axis(c))
    raise OnnxError(f"no integer type of QuantizeLinear holds {low} to {high}")
