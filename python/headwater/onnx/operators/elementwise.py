"""Elementwise arithmetic, comparison, logic and bits."""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

import headwater as hw

from ..node import Node
from ..registry import op
from ..values import number, tensor

_UNARY: dict[str, Callable[..., Any]] = {
    "Abs": hw.abs, "Acos": hw.acos, "Acosh": hw.acosh, "Asin": hw.asin, "Asinh": hw.asinh, "Atan": hw.atan, "Atanh": hw.atanh,
    "BitwiseNot": hw.bitwise_not, "Ceil": hw.ceil, "Cos": hw.cos, "Cosh": hw.cosh, "Erf": hw.erf, "Exp": hw.exp, "Floor": hw.floor,
    "IsNaN": hw.isnan, "Log": hw.log, "Neg": hw.neg, "Not": hw.logical_not, "Reciprocal": hw.reciprocal, "Round": hw.round,
    "Sign": hw.sign, "Sin": hw.sin, "Sinh": hw.sinh, "Sqrt": hw.sqrt, "Tan": hw.tan, "Tanh": hw.tanh, "Sigmoid": hw.sigmoid,
}  # fmt: skip
_BINARY: dict[str, Callable[..., Any]] = {
    "Add": hw.add, "Sub": hw.sub, "Mul": hw.mul, "And": hw.logical_and, "Or": hw.logical_or, "Xor": hw.logical_xor,
    "BitwiseAnd": hw.bitwise_and, "BitwiseOr": hw.bitwise_or, "BitwiseXor": hw.bitwise_xor,
    "Greater": hw.gt, "GreaterOrEqual": hw.ge, "Less": hw.lt, "LessOrEqual": hw.le,
}  # fmt: skip


def _register(names: dict[str, Callable[..., Any]]) -> None:
    for name, function in names.items():
        op(name)(lambda node, *inputs, _function=function: _function(*inputs))


_register(_UNARY)
_register(_BINARY)


@op("Equal", raw=True)
def equal(node: Node, x: Any, y: Any) -> Any:
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return np.asarray(x == y, bool)
    return hw.eq(tensor(x), tensor(y))


@op("Div")
def div(node: Node, x: Any, y: Any) -> Any:
    return hw.div(x, y) if x.is_floating_point() else hw.div(x, y, rounding_mode="trunc")


@op("Mod")
def mod(node: Node, x: Any, y: Any) -> Any:
    return hw.fmod(x, y) if node.attr("fmod", 0) else hw.remainder(x, y)


@op("Pow", prefers=(1,))
def power(node: Node, x: Any, y: Any) -> Any:
    if isinstance(y, np.ndarray):
        if y.size == 1 and x.is_floating_point() and y.ndim <= x.dim():
            return hw.pow(x, float(number(y)))
        y = tensor(y)
    if x.dtype == y.dtype:
        return hw.pow(x, y)
    if x.is_floating_point():
        return hw.pow(x, y.to(x.dtype))
    return hw.pow(x.to(hw.float64), y.to(hw.float64)).to(x.dtype)


@op("BitShift")
def bit_shift(node: Node, x: Any, y: Any) -> Any:
    return hw.bitwise_left_shift(x, y) if node.attr("direction") == "LEFT" else hw.bitwise_right_shift(x, y)


def _variadic(name: str, function: Callable[..., Any]) -> None:
    op(name)(lambda node, *inputs: reduce(function, inputs) if len(inputs) > 1 else inputs[0].clone())


_variadic("Max", hw.maximum)
_variadic("Min", hw.minimum)
_variadic("Sum", hw.add)


@op("Mean")
def mean(node: Node, *inputs: Any) -> Any:
    return reduce(hw.add, inputs) / len(inputs)


@op("Clip")
def clip_6(node: Node, x: Any) -> Any:
    return _clipped(x, node.attr("min", None), node.attr("max", None))


@op("Clip", since=11, prefers=(1, 2))
def clip(node: Node, x: Any, low: Any = None, high: Any = None) -> Any:
    return _clipped(x, *(number(v) if isinstance(v, np.ndarray) else v for v in (low, high)))


def _clipped(x: Any, low: Any, high: Any) -> Any:
    if low is None and high is None:
        return x.clone()
    if low is not None and not isinstance(low, hw.Tensor) and high is not None and not isinstance(high, hw.Tensor):
        return hw.clamp(x, low, high)
    for bound, with_number, with_tensor in ((low, hw.clamp_min, hw.maximum), (high, hw.clamp_max, hw.minimum)):
        if bound is not None:
            x = with_tensor(x, bound.reshape(())) if isinstance(bound, hw.Tensor) else with_number(x, bound)
    return x


@op("IsInf")
def is_inf(node: Node, x: Any) -> Any:
    negative, positive = node.attr("detect_negative", 1), node.attr("detect_positive", 1)
    if negative and positive:
        return hw.isinf(x)
    if not negative and not positive:
        return hw.zeros_like(x, dtype=hw.bool)
    return hw.isposinf(x) if positive else hw.isneginf(x)


@op("Where", raw=True)
def where(node: Node, condition: Any, x: Any, y: Any) -> Any:
    if all(isinstance(v, np.ndarray) for v in (condition, x, y)):
        return np.where(condition, x, y)
    return hw.where(tensor(condition), tensor(x), tensor(y))
