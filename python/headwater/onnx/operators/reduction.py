"""Reductions, running sums, the largest and their places."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import headwater as hw

from ..node import Node
from ..registry import op
from ..values import ints, number


def _sum_square(x: Any, axes: list[int], keep: bool) -> Any:
    return hw.sum(x * x, axes, keep, dtype=x.dtype)


def _extreme(function: Callable[..., Any], sign: int) -> Callable[..., Any]:
    def reduce(x: Any, axes: list[int], keep: bool) -> Any:
        if x.dtype == hw.bool:
            if x.numel() == 0:
                return hw.full_like(hw.sum(x, axes, keep), 0 if sign > 0 else 1).to(hw.bool)
            return function(x.to(hw.uint8), axes, keep).to(hw.bool)
        if x.numel() == 0:
            worst = -sign * float("inf") if x.is_floating_point() else (hw.iinfo(x.dtype).min if sign > 0 else hw.iinfo(x.dtype).max)
            return hw.full_like(hw.sum(x, axes, keep, dtype=x.dtype), worst)
        return function(x, axes, keep)

    return reduce


def _log_sum_exp(x: Any, axes: list[int], keep: bool) -> Any:
    if x.numel() == 0:
        return hw.log(hw.sum(x, axes, keep))
    return hw.logsumexp(x if x.is_floating_point() else x.to(hw.float32), axes, keep).to(x.dtype)


def _product(x: Any, axes: list[int], keep: bool) -> Any:
    for axis in sorted((a % x.dim() for a in axes), reverse=True):
        x = hw.prod(x, axis, keep, dtype=x.dtype)
    return x


def _mean(x: Any, axes: list[int], keep: bool) -> Any:
    if x.is_floating_point():
        return hw.mean(x, axes, keep)
    return hw.mean(x.to(hw.float64), axes, keep).to(x.dtype)


_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceSum": lambda x, axes, keep: hw.sum(x, axes, keep, dtype=x.dtype),
    "ReduceMean": _mean,
    "ReduceMax": _extreme(hw.amax, 1),
    "ReduceMin": _extreme(hw.amin, -1),
    "ReduceProd": _product,
    "ReduceL1": lambda x, axes, keep: hw.sum(hw.abs(x), axes, keep, dtype=x.dtype),
    "ReduceL2": lambda x, axes, keep: _root(_sum_square(x, axes, keep)),
    "ReduceLogSum": lambda x, axes, keep: hw.log(hw.sum(x, axes, keep, dtype=x.dtype)),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": _sum_square,
}


def _root(x: Any) -> Any:
    return hw.sqrt(x) if x.is_floating_point() else hw.sqrt(x.to(hw.float64)).to(x.dtype)


_IDENTITY = {"ReduceL1": hw.abs, "ReduceL2": hw.abs, "ReduceLogSum": hw.log, "ReduceSumSquare": lambda x: x * x}


def _reduced(node: Node, x: Any, axes: list[int] | None) -> Any:
    if not axes:
        if axes is not None and node.attr("noop_with_empty_axes", 0):
            return _IDENTITY.get(node.op, hw.clone)(x)
        if node.attr("noop_with_empty_axes", 0):
            return _IDENTITY.get(node.op, hw.clone)(x)
        axes = list(range(x.dim()))
    if not axes:  # a scalar
        return _IDENTITY.get(node.op, hw.clone)(x)
    return _REDUCTIONS[node.op](x, axes, bool(node.attr("keepdims", 1)))


@op(*_REDUCTIONS)
def reduce_by_attribute(node: Node, x: Any) -> Any:
    return _reduced(node, x, node.attr("axes", None))


@op("ReduceSum", since=13, host=(1,))
def reduce_sum(node: Node, x: Any, axes: Any = None) -> Any:
    return _reduced(node, x, None if axes is None else ints(axes))


op(*(name for name in _REDUCTIONS if name != "ReduceSum"), since=18, host=(1,))(reduce_sum)


@op("ArgMax", "ArgMin")
def arg_extreme(node: Node, x: Any) -> Any:
    axis, keep = node.attr("axis", 0), bool(node.attr("keepdims", 1))
    function = hw.argmax if node.op == "ArgMax" else hw.argmin
    if not node.attr("select_last_index", 0):
        return function(x, axis, keep)
    return x.shape[axis] - 1 - function(hw.flip(x, [axis]), axis, keep)


@op("CumSum", "CumProd", host=(1,))
def cumulative(node: Node, x: Any, axis: Any) -> Any:
    axis = number(axis) % x.dim()
    reverse, function = node.attr("reverse", 0), hw.cumsum if node.op == "CumSum" else hw.cumprod
    if reverse:
        x = hw.flip(x, [axis])
    if node.attr("exclusive", 0):
        first = hw.full_like(x.narrow(axis, 0, 1), 0 if node.op == "CumSum" else 1)
        x = hw.cat([first, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
    made = function(x, axis, dtype=x.dtype)
    return hw.flip(made, [axis]) if reverse else made


@op("TopK")
def top_k_1(node: Node, x: Any) -> Any:
    return _top(x, node.attr("k"), node.attr("axis", -1), True, True)


@op("TopK", since=10, host=(1,))
def top_k(node: Node, x: Any, k: Any) -> Any:
    return _top(x, number(k), node.attr("axis", -1), bool(node.attr("largest", 1)), bool(node.attr("sorted", 1)))


def _top(x: Any, k: int, axis: int, largest: bool, ordered: bool) -> Any:
    """Of equal values the one with the lower index comes first, so a stable sort is needed."""
    values, indices = hw.sort(x, axis, largest, stable=True)
    return values.narrow(axis, 0, k), indices.narrow(axis, 0, k)
