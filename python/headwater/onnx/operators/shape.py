"""Shapes: reading them, reshaping, moving and joining axes, slicing, padding, repeating."""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from ...compiler.symbols import SymInt
from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..symbolic import fixed_sizes
from ..values import check_size, ints, number, sizes_array, tensor


@op("Shape", raw=True)
def shape(node: Node, x: Any) -> Any:
    sizes = list(x.shape)
    return sizes_array(sizes[node.attr("start", 0) : node.attr("end", len(sizes))])


@op("Size", raw=True)
def size(node: Node, x: Any) -> Any:
    total: Any = 1
    for n in x.shape:
        total = total * n
    return sizes_array([total]).reshape(())


@op("Identity", raw=True)
def identity(node: Node, x: Any) -> Any:
    return x


@op("Reshape", host=(1,))
def reshape(node: Node, x: Any, shape: Any) -> Any:
    wanted = ints(shape)
    if not node.attr("allowzero", 0):
        if len([w for w in wanted if type(w) is int and w == 0]) and len(wanted) and max(
            (i for i, w in enumerate(wanted) if type(w) is int and w == 0)
        ) >= x.dim():
            raise OnnxError(f"a 0 in the new shape {wanted} stands for no axis of {list(x.shape)}")
        wanted = [x.shape[i] if type(w) is int and w == 0 else w for i, w in enumerate(wanted)]
    return x.reshape(wanted)


@op("Flatten")
def flatten(node: Node, x: Any) -> Any:
    axis = node.attr("axis", 1)
    axis = axis + x.dim() if axis < 0 else axis
    rows: Any = 1
    for n in x.shape[:axis]:
        rows = rows * n
    columns: Any = 1
    for n in x.shape[axis:]:
        columns = columns * n
    return x.reshape([rows, columns])


@op("Squeeze")
def squeeze_1(node: Node, x: Any) -> Any:
    return _squeezed(x, node.attr("axes", None))


@op("Squeeze", since=13, host=(1,))
def squeeze(node: Node, x: Any, axes: Any = None) -> Any:
    return _squeezed(x, None if axes is None else ints(axes))


def _squeezed(x: Any, axes: list[int] | None) -> Any:
    if axes is None:
        return x.squeeze()
    for axis in axes:
        if type(x.shape[axis]) is not SymInt and x.shape[axis] != 1:
            raise OnnxError(f"axis {axis} of shape {list(x.shape)} is not 1, it cannot be squeezed")
    for axis in sorted((a % x.dim() for a in axes), reverse=True):
        x = x.squeeze(axis)
    return x


@op("Unsqueeze")
def unsqueeze_1(node: Node, x: Any) -> Any:
    return _unsqueezed(x, node.attr("axes"))


@op("Unsqueeze", since=13, host=(1,))
def unsqueeze(node: Node, x: Any, axes: Any) -> Any:
    return _unsqueezed(x, ints(axes))


def _unsqueezed(x: Any, axes: list[int]) -> Any:
    rank = x.dim() + len(axes)
    for axis in sorted(a + rank if a < 0 else a for a in axes):
        x = x.unsqueeze(axis)
    return x


@op("Transpose")
def transpose(node: Node, x: Any) -> Any:
    return x.permute(node.attr("perm", list(range(x.dim()))[::-1]))


@op("Concat")
def concat(node: Node, *parts: Any) -> Any:
    return hw.cat(list(parts), node.attr("axis", 1))


@op("Split", since=2)
def split_2(node: Node, x: Any) -> Any:
    return _split(node, x, node.attr("split", None))


@op("Split", since=13, host=(1,))
def split(node: Node, x: Any, sizes: Any = None) -> Any:
    return _split(node, x, None if sizes is None else ints(sizes))


def _split(node: Node, x: Any, sizes: list[int] | None) -> Any:
    axis = node.attr("axis", 0)
    if sizes is None:
        count = node.attr("num_outputs", len(node.outputs))
        each = -(-x.shape[axis] // count)
        sizes = [each] * (count - 1) + [x.shape[axis] - each * (count - 1)]
    return tuple(hw.split_with_sizes(x, sizes, axis))


# ---------------------------------------------------------------- slicing
@op("Slice")
def slice_1(node: Node, x: Any) -> Any:
    starts = node.attr("starts")
    return sliced(x, starts, node.attr("ends"), node.attr("axes", None), None)


@op("Slice", since=10, host=(1, 2, 3, 4))
def slice_10(node: Node, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    return sliced(x, ints(starts), ints(ends), None if axes is None else ints(axes), None if steps is None else ints(steps))


def sliced(x: Any, starts: list[int], ends: list[int], axes: list[int] | None, steps: list[int] | None) -> Any:
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise OnnxError(f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes and {len(steps)} steps are given")
    flips = []
    where: list[Any] = [slice(None)] * x.dim()
    for start, end, axis, step in zip(starts, ends, axes, steps):
        n = x.shape[axis]
        if type(n) is SymInt or type(start) is SymInt or type(end) is SymInt:
            where[axis] = slice(start, None if type(end) is int and end >= 2**31 - 1 else end, step)
            continue
        first, stop, step = slice(start, end, step).indices(n)
        if step > 0:
            where[axis] = slice(first, max(stop, first), step)
            continue
        count = len(range(first, stop, step))
        last = first + (count - 1) * step
        where[axis] = slice(last, first + 1, -step) if count else slice(0, 0)
        flips.append(axis)
    x = x[tuple(where)]
    return hw.flip(x, flips) if flips else x


# ---------------------------------------------------------------- repeating, padding
@op("Expand", host=(1,))
def expand(node: Node, x: Any, shape: Any) -> Any:
    wanted = ints(shape)
    own = [1] * (len(wanted) - x.dim()) + list(x.shape)
    wanted = [1] * (len(own) - len(wanted)) + wanted
    check_size(wanted)
    return x.expand([o if type(w) is int and w == 1 else w for o, w in zip(own, wanted)])


@op("Tile", host=(1,))
def tile(node: Node, x: Any, repeats: Any) -> Any:
    counts = ints(repeats)
    if len(counts) != x.dim():
        raise OnnxError(f"{len(counts)} repeats are given for {x.dim()} axes")
    check_size([n * c for n, c in zip(x.shape, counts)])
    return x.repeat(counts) if counts else x.clone()


@op("Pad", since=2)
def pad_2(node: Node, x: Any) -> Any:
    return padded(x, node.attr("pads"), node.attr("mode", "constant"), node.attr("value", 0.0))


@op("Pad", since=11, host=(1, 2, 3))
def pad(node: Node, x: Any, pads: Any, value: Any = None, axes: Any = None) -> Any:
    amounts = ints(pads)
    if axes is not None:
        places = [a % x.dim() for a in ints(axes)]
        full = [0] * (2 * x.dim())
        for i, axis in enumerate(places):
            full[axis], full[axis + x.dim()] = amounts[i], amounts[i + len(places)]
        amounts = full
    fill = 0 if value is None or np.asarray(value).size == 0 else number(value)
    return padded(x, amounts, node.attr("mode", "constant"), fill)


def padded(x: Any, amounts: list[int], mode: str, value: Any) -> Any:
    """`amounts` before each axis, then after each axis; negative ones take away."""
    if len(amounts) != 2 * x.dim():
        raise OnnxError(f"{len(amounts)} amounts of padding are given for {x.dim()} axes")
    pairs = [(amounts[i], amounts[i + x.dim()]) for i in range(x.dim())]
    check_size([n + a + b for n, (a, b) in zip(x.shape, pairs)])
    if mode == "constant":
        while pairs and pairs[0] == (0, 0):
            pairs.pop(0)
        flat = [amount for pair in reversed(pairs) for amount in pair]
        if not flat:
            return x.clone()
        if x.dtype == hw.bool:
            return hw.pad(x.to(hw.uint8), flat, value=int(value)).to(hw.bool)
        return hw.pad(x, flat, value=value)
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            x = _continued(x, axis, before, after, mode)
    return x


def _continued(x: Any, axis: int, before: int, after: int, mode: str) -> Any:
    fixed_sizes(x)
    names = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}
    if mode not in names:
        raise OnnxError(f"there is no padding mode '{mode}'")
    places = np.arange(x.shape[axis])
    places = places[max(-before, 0) : len(places) - max(-after, 0)]
    places = np.pad(places, (max(before, 0), max(after, 0)), names[mode])  # type: ignore[call-overload]
    return x.index_select(axis, tensor(places))


# ---------------------------------------------------------------- making
@op("ConstantOfShape", host=(0,), fresh=True)
def constant_of_shape(node: Node, shape: Any) -> Any:
    value = node.attr("value", np.zeros(1, np.float32))
    sizes = ints(shape)
    plain_sizes = [s for s in sizes if type(s) is int]
    check_size(sizes)
    if len(plain_sizes) == len(sizes) and np.prod(sizes) <= 64:
        return np.full(sizes, value.reshape(-1)[0], value.dtype)  # may be part of a shape
    return tensor(value.reshape(())).expand(sizes).clone()


@op("EyeLike", raw=True)
def eye_like(node: Node, x: Any) -> Any:
    from .cast import cast_to

    rows, columns = x.shape
    made = hw.triu(hw.tril(hw.ones(rows, columns), node.attr("k", 0)), node.attr("k", 0))
    return cast_to(made, node.attr("dtype", None), like=x)


@op("Range", prefers=(0, 1, 2))
def range_(node: Node, start: Any, limit: Any, delta: Any) -> Any:
    first, stop, step = number(start), number(limit), number(delta)
    if step == 0:
        raise OnnxError("the step is 0")
    count = max(0, int(np.ceil((stop - first) / step)))
    check_size([count])
    dtype = tensor(start).dtype
    if not dtype.is_floating_point:
        return hw.arange(first, first + count * step, step, dtype=dtype)
    return (hw.arange(count, dtype=hw.float64) * step + first).to(dtype)


@op("Trilu", host=(1,))
def trilu(node: Node, x: Any, k: Any = None) -> Any:
    diagonal = 0 if k is None else number(k)
    diagonal = max(-(2**31), min(2**31 - 1, diagonal))
    return hw.triu(x, diagonal) if node.attr("upper", 1) else hw.tril(x, diagonal)


@op("DepthToSpace")
def depth_to_space(node: Node, x: Any) -> Any:
    n, c, h, w = x.shape
    b = node.attr("blocksize")
    if node.attr("mode", "DCR") == "DCR":
        return x.reshape(n, b, b, c // (b * b), h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)
    return x.reshape(n, c // (b * b), b, b, h, w).permute(0, 1, 4, 2, 5, 3).reshape(n, c // (b * b), h * b, w * b)


@op("SpaceToDepth")
def space_to_depth(node: Node, x: Any) -> Any:
    n, c, h, w = x.shape
    b = node.attr("blocksize")
    order = (0, 3, 5, 1, 2, 4) if node.attr("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return x.reshape(n, c, h // b, b, w // b, b).permute(order).reshape(n, c * b * b, h // b, w // b)
