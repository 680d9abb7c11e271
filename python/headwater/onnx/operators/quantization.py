"""Quantised values: what maps floats to integers and back, and operators on integers."""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from ..element_types import from_onnx, in_core, is_floating, numpy_type
from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..values import host, tensor
from .cast import cast_to
from .convolution import convolve


def dtype_of(value: Any) -> np.dtype[Any]:
    return numpy_type(value.dtype) if isinstance(value, hw.Tensor) else value.dtype


def _bounds(dtype: np.dtype[Any]) -> tuple[int, int]:
    name = dtype.name
    bits = int("".join(c for c in name if c.isdigit()))
    return (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def spread(value: Any, x: Any, axis: int, block: int) -> Any:
    """A scale or zero point as it meets the elements of `x`: one for all, one for each index of an axis, or one for each block."""
    if value.dim() == 0 or value.numel() == 1 and value.dim() <= 1:
        return value.reshape(())
    if value.dim() == 1 and not block:
        return value.reshape([-1 if i == axis % x.dim() else 1 for i in range(x.dim())])
    block = block or -(-x.shape[axis] // value.shape[axis])
    return value.repeat_interleave(block, axis).narrow(axis, 0, x.shape[axis])


def quantized(x: Any, scale: Any, zero: Any, target: np.dtype[Any], axis: int = 1, block: int = 0, saturate: bool = True) -> Any:
    """round(x / scale) + zero, within the target's range."""
    work = hw.float64 if x.dtype == hw.float64 else hw.float32
    x, scale = x.to(work), tensor(scale).to(work)
    steps = x / spread(scale, x, axis, block)
    if is_floating(target):
        return cast_to(steps, _onnx_number(target), saturate=saturate)
    low, high = _bounds(target)
    made = hw.round(steps)
    if zero is not None:
        made = made + spread(_numbers(zero).to(work), x, axis, block)
    made = hw.clamp(made, low, high)
    return cast_to(made, _onnx_number(target))


def _onnx_number(dtype: np.dtype[Any]) -> int:
    from ..element_types import to_onnx

    return to_onnx(dtype)


def _numbers(value: Any) -> Any:
    """Values of any type as a tensor."""
    if isinstance(value, np.ndarray) and not in_core(value.dtype):
        return tensor(value.astype(np.float32) if is_floating(value.dtype) else value.astype(np.int64))
    return tensor(value)


def dequantized(x: Any, scale: Any, zero: Any, axis: int = 1, block: int = 0, dtype: Any = None) -> Any:
    numbers, scale = _numbers(x), tensor(scale) if isinstance(scale, hw.Tensor) or in_core(scale.dtype) else _numbers(scale)
    work = hw.float64 if scale.dtype == hw.float64 else hw.float32
    numbers = numbers.to(work)
    if zero is not None:
        numbers = numbers - spread(_numbers(zero).to(work), numbers, axis, block)
    return (numbers * spread(scale.to(work), numbers, axis, block)).to(scale.dtype if dtype is None else dtype)


@op("QuantizeLinear", raw=True)
def quantize_linear(node: Node, x: Any, scale: Any, zero: Any = None) -> Any:
    number = node.attr("output_dtype", 0)
    target = dtype_of(zero) if zero is not None else from_onnx(number) if number else np.dtype(np.uint8)
    if zero is not None and is_floating(target) and np.any(np.asarray(host(zero)).astype(np.float32)):
        raise OnnxError("a zero point of floats must be 0")
    return quantized(
        tensor(x), scale, zero, target, node.attr("axis", 1), node.attr("block_size", 0), bool(node.attr("saturate", 1))
    )


@op("DequantizeLinear", raw=True)
def dequantize_linear(node: Node, x: Any, scale: Any, zero: Any = None) -> Any:
    from ..element_types import core_type

    number = node.attr("output_dtype", 0)
    return dequantized(
        x, scale, zero, node.attr("axis", 1), node.attr("block_size", 0), core_type(from_onnx(number)) if number else None
    )


for _name in ("QuantizeLinear", "DequantizeLinear"):
    op(_name, domain="com.microsoft", raw=True)(quantize_linear if _name[0] == "Q" else dequantize_linear)


@op("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node, x: Any) -> Any:
    low, high = hw.clamp_max(x.min(), 0.0), hw.clamp_min(x.max(), 0.0)
    scale = (high - low) / 255
    scale = hw.where(scale == 0, hw.ones_like(scale), scale)
    zero = hw.clamp(hw.round(-low / scale), 0, 255)
    return hw.clamp(hw.round(x / scale) + zero, 0, 255).to(hw.uint8), scale, zero.to(hw.uint8)


def _centred(x: Any, zero: Any, rows: bool = False) -> Any:
    """Integers as float64, less their zero point: products and sums of them are exact."""
    wide = tensor(x).to(hw.float64)
    if zero is None:
        return wide
    zero = _numbers(zero).to(hw.float64)
    if rows and zero.dim() == 1 and zero.numel() > 1:
        zero = zero.unsqueeze(-1)
    return wide - (zero.reshape(()) if zero.numel() == 1 else zero)


@op("MatMulInteger")
def matmul_integer(node: Node, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    return hw.matmul(_centred(a, a_zero, rows=True), _centred(b, b_zero)).to(hw.int32)


@op("ConvInteger")
def conv_integer(node: Node, x: Any, weight: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
    if w_zero is not None and w_zero.numel() > 1:
        w_zero = w_zero.reshape([-1] + [1] * (weight.dim() - 1))
    return convolve(node, _centred(x, x_zero), _centred(weight, w_zero), None).to(hw.int32)


@op("QLinearMatMul", raw=True)
def qlinear_matmul(
    node: Node, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any
) -> Any:
    scales = [_numbers(s).to(hw.float64) for s in (a_scale, b_scale, y_scale)]
    if scales[0].dim() == 1 and scales[0].numel() > 1:
        scales[0] = scales[0].unsqueeze(-1)
    total = hw.matmul(_centred(a, a_zero, rows=True), _centred(b, b_zero))
    return quantized(total * scales[0] * scales[1], scales[2], y_zero, dtype_of(y_zero))


@op("QLinearConv", raw=True)
def qlinear_conv(
    node: Node, x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any, y_scale: Any, y_zero: Any, bias: Any = None
) -> Any:
    target, rank = dtype_of(y_zero), tensor(w).dim()
    w_scale, w_zero = tensor(w_scale).to(hw.float64), tensor(w_zero)
    if w_zero.numel() > 1:
        w_zero = w_zero.reshape([-1] + [1] * (rank - 1))
    total = convolve(node, _centred(x, x_zero), _centred(w, w_zero), None if bias is None else tensor(bias).to(hw.float64))
    if w_scale.numel() > 1:
        w_scale = w_scale.reshape([1, -1] + [1] * (rank - 2))
    return quantized(total * tensor(x_scale).to(hw.float64) * w_scale, tensor(y_scale).to(hw.float64), y_zero, target)
