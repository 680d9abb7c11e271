"""Gathering, scattering, selecting by data."""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..values import check_size, number, tensor


def counted(index: Any, size: Any) -> Any:
    """Indices counted from the front."""
    index = index.to(hw.int64)
    return hw.where(index < 0, index + size, index)


@op("Gather", prefers=(1,))
def gather(node: Node, x: Any, index: Any) -> Any:
    axis = node.attr("axis", 0) % x.dim()
    n = x.shape[axis]
    if isinstance(index, np.ndarray):
        if index.ndim == 0:
            return x.select(axis, int(index))
        if index.size and int(index.min()) >= 0:
            index = tensor(index.astype(np.int64))
        else:
            index = tensor(np.where(index < 0, index + int(n), index).astype(np.int64))
    else:
        index = counted(index, n)
    if x.dim() == 2 and axis == 0 and x.is_floating_point():
        return hw.embedding(index, x)
    made = x.index_select(axis, index.reshape([-1]))
    return made.reshape([*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]])


@op("GatherElements")
def gather_elements(node: Node, x: Any, index: Any) -> Any:
    axis = node.attr("axis", 0)
    return hw.gather(x, axis, counted(index, x.shape[axis]))


@op("GatherND")
def gather_nd(node: Node, x: Any, index: Any) -> Any:
    batch = node.attr("batch_dims", 0)
    index = index.to(hw.int64)
    shared = x.shape[:batch]
    flat_x = x.reshape([-1, *x.shape[batch:]]) if batch else x.unsqueeze(0)
    flat = index.reshape([flat_x.shape[0], -1, index.shape[-1]])
    rows = hw.arange(flat_x.shape[0]).unsqueeze(1).expand(flat.shape[:2])
    made = flat_x[(rows, *flat.unbind(-1))]
    return made.reshape([*shared, *index.shape[batch:-1], *x.shape[batch + index.shape[-1] :]])


_REDUCE = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@op("ScatterElements", "Scatter")
def scatter_elements(node: Node, x: Any, index: Any, updates: Any) -> Any:
    axis, how = node.attr("axis", 0), node.attr("reduction", "none")
    index = counted(index, x.shape[axis])
    if how == "none":
        return hw.scatter(x, axis, index, updates)
    return hw.scatter_reduce(x, axis, index, updates, _REDUCE[how])


@op("ScatterND")
def scatter_nd(node: Node, x: Any, index: Any, updates: Any) -> Any:
    how, depth = node.attr("reduction", "none"), index.shape[-1]
    columns = index.to(hw.int64).unbind(-1)
    rows: Any = hw.zeros(list(index.shape[:-1]), dtype=hw.int64)
    for column, n in zip(columns, x.shape):
        rows = rows * n + counted(column, n)
    count: Any = 1
    for n in x.shape[:depth]:
        count = count * n
    flat = x.reshape([count, -1])
    rows = rows.reshape([-1, 1]).expand(rows.numel(), flat.shape[1])
    given = updates.reshape(rows.shape)
    made = hw.scatter(flat, 0, rows, given) if how == "none" else hw.scatter_reduce(flat, 0, rows, given, _REDUCE[how])
    return made.reshape(x.shape)


@op("OneHot", host=(1,), prefers=(2,))
def one_hot(node: Node, index: Any, depth: Any, values: Any) -> Any:
    count = number(depth)
    check_size([*index.shape, int(count)])
    off, on = tensor(values).unbind(0)
    index = index.to(hw.int64) if not index.is_floating_point() else index.to(hw.int64)
    index = counted(index, int(count))
    axis = node.attr("axis", -1)
    axis = axis + index.dim() + 1 if axis < 0 else axis
    steps = hw.arange(int(count)).reshape([-1] + [1] * (index.dim() - axis))
    return hw.where(index.unsqueeze(axis) == steps, on, off)


@op("NonZero")
def non_zero(node: Node, x: Any) -> Any:
    if x.dim() == 0:
        return hw.nonzero(x.reshape(1)).t()[:0].reshape(0, int(hw.count_nonzero(x).item()))
    return hw.nonzero(x).t()


@op("Compress", host=(1,))
def compress(node: Node, x: Any, condition: Any) -> Any:
    axis = node.attr("axis", None)
    if axis is None:
        x, axis = x.reshape([-1]), 0
    return x.index_select(axis, tensor(np.flatnonzero(condition)))


@op("Unique")
def unique(node: Node, x: Any) -> Any:
    axis = node.attr("axis", None)
    if axis is None:
        x = x.reshape([-1])
    values, inverse, counts = hw.unique(x, True, True, True, dim=axis)
    along = 0 if axis is None else axis
    inverse = inverse.reshape([-1])
    places = hw.arange(inverse.numel())
    first = hw.scatter_reduce(hw.full((counts.numel(),), inverse.numel(), dtype=hw.int64), 0, inverse, places, "amin")
    if not node.attr("sorted", 1):
        order = hw.argsort(first)
        rank = hw.argsort(order)
        values, first, counts = values.index_select(along, order), first[order], counts[order]
        inverse = rank[inverse]
    return values, first, inverse, counts


@op("ReverseSequence")
def reverse_sequence(node: Node, x: Any, lengths: Any) -> Any:
    time, batch = node.attr("time_axis", 0), node.attr("batch_axis", 1)
    steps = hw.arange(x.shape[time]).unsqueeze(1)
    lengths = lengths.unsqueeze(0)
    index = hw.where(steps < lengths, lengths - 1 - steps, steps)  # [time, batch]
    index = index if time < batch else index.t()
    shape = [1] * x.dim()
    shape[time], shape[batch] = x.shape[time], x.shape[batch]
    return hw.gather(x, time, index.reshape(shape).expand(x.shape))


@op("TensorScatter")
def tensor_scatter(node: Node, cache: Any, update: Any, starts: Any = None) -> Any:
    axis, length, n = node.attr("axis", -2) % cache.dim(), update.shape[node.attr("axis", -2)], cache.shape[node.attr("axis", -2)]
    starts = hw.zeros(cache.shape[0], dtype=hw.int64) if starts is None else starts.to(hw.int64)
    places = starts.unsqueeze(1) + hw.arange(length)
    if node.attr("mode", "linear") == "circular":
        places = places % n
    elif node.attr("mode", "linear") != "linear":
        raise OnnxError(f"there is no mode '{node.attr('mode')}'")
    shape = [1] * cache.dim()
    shape[0], shape[axis] = places.shape
    return hw.scatter(cache, axis, places.reshape(shape).expand(update.shape), update)

