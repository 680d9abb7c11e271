"""Exporters: shapes, making, joining, cutting, types."""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from ..element_types import numpy_type
from ..requirement import OnnxError
from .writer import Call, Writer, export_op

_END = 2**62


@export_op("view")
def view(w: Writer, c: Call) -> Any:
    """Sizes that may change are copied from the input by 0, or left to be worked out by -1, where that says it all."""
    shape, before = list(c.out()["shape"]), c.shape()
    changing = [i for i, n in enumerate(shape) if w.sizes.symbolic(n)]
    kept = [i for i in changing if i < len(before) and before[i] == shape[i] and 0 not in shape]
    rest = [i for i in changing if i not in kept]
    if changing and len(rest) <= 1 and 0 not in shape:
        return w.emit("Reshape", [c.name(), w.ints([0 if i in kept else -1 if i in rest else n for i, n in enumerate(shape)])])
    return w.emit("Reshape", [c.name(), w.ints(shape)], allowzero=1 if 0 in shape else None)


@export_op("permute")
def permute(w: Writer, c: Call) -> Any:
    return w.emit("Transpose", [c.name()], perm=[d % c.rank() for d in c.attrs["dims"]])


@export_op("transpose")
def transpose(w: Writer, c: Call) -> Any:
    order = list(range(c.rank()))
    if not order:
        return w.emit("Identity", [c.name()])
    a, b = c.axis("dim0"), c.axis("dim1")
    order[a], order[b] = order[b], order[a]
    return w.emit("Transpose", [c.name()], perm=order)


@export_op("unsqueeze")
def unsqueeze(w: Writer, c: Call) -> Any:
    return w.emit("Unsqueeze", [c.name(), w.ints([int(c.attrs["dim"]) % (c.rank() + 1)])])


@export_op("squeeze")
def squeeze(w: Writer, c: Call) -> Any:
    gone = c.attrs["dim"]
    axes = list(range(c.rank())) if gone is None else [d % c.rank() for d in (gone if isinstance(gone, tuple) else (gone,)) if c.rank()]
    axes = [a for a in axes if c.shape()[a] == 1]
    return w.emit("Squeeze", [c.name(), w.ints(axes)]) if axes else w.emit("Identity", [c.name()])


@export_op("expand")
def expand(w: Writer, c: Call) -> Any:
    return w.emit("Expand", [c.name(), w.ints(c.out()["shape"])])


@export_op("clone")
def clone(w: Writer, c: Call) -> Any:
    return w.emit("Identity", [c.name()])


@export_op("cast")
def cast(w: Writer, c: Call) -> Any:
    return w.cast(c.name(), c.out()["dtype"])


@export_op("cat")
def cat(w: Writer, c: Call) -> Any:
    return w.emit("Concat", c.operands(), axis=int(c.attrs["dim"]) % len(c.out()["shape"]))


def cut(w: Writer, name: str, axis: int, start: Any, end: Any, step: int = 1) -> Any:
    return w.emit("Slice", [name, w.ints([start]), w.ints([end]), w.ints([axis]), w.ints([step])])


@export_op("narrow")
def narrow(w: Writer, c: Call) -> Any:
    start, length, axis = c.attrs["start"], c.attrs["length"], c.axis()
    if start < 0:
        start += c.shape()[axis]
    whole = c.shape()[axis] == start + length
    return cut(w, c.name(), axis, start, _END if whole else start + length)


@export_op("_slice")
def slice_(w: Writer, c: Call) -> Any:
    start, end = c.attrs["start"], c.attrs["end"]
    return cut(w, c.name(), c.axis(), 0 if start is None else start, _END if end is None else end, c.attrs["step"])


@export_op("select")
def select(w: Writer, c: Call) -> Any:
    value, axis = c.inputs[0], c.axis()
    index = c.attrs["index"]
    if value in w.last_state:  # of which only one slice exists
        name, at = w.last_state[value]
        if axis != 0 or index % c.shape()[0] != at % c.shape()[0]:
            raise OnnxError("ONNX's LSTM gives the last cell only")
        return name
    if index == c.shape()[axis] - 1:
        index = -1
    return w.emit("Gather", [c.name(), w.constant(np.array(index, np.int64))], axis=axis)


@export_op("flip")
def flip(w: Writer, c: Call) -> Any:
    axes = [d % c.rank() for d in c.attrs["dims"]]
    n = len(axes)
    if not n:
        return w.emit("Identity", [c.name()])
    return w.emit("Slice", [c.name(), w.ints([-1] * n), w.ints([-_END] * n), w.ints(axes), w.ints([-1] * n)])


@export_op("_index_view")
def index_view(w: Writer, c: Call) -> Any:
    """Four numbers a step: 0 keeps an axis; 1 and an index; 2, start, stop and step of a slice; 3 a new axis."""
    steps = list(c.attrs["steps"])
    rows = [steps[i : i + 4] for i in range(0, len(steps), 4)]
    name, axis, gone, new, place = c.name(), 0, [], [], 0
    for kind, start, stop, step in rows:
        if kind == 3:
            new.append(place)
            place += 1
            continue
        if kind == 1:
            name = cut(w, name, axis, start, start + 1)
            gone.append(axis)
        else:
            if kind == 2:
                name = cut(w, name, axis, start, _END if stop == c.shape()[axis] else stop, step)
            place += 1
        axis += 1
    if gone:
        name = w.emit("Squeeze", [name, w.ints(gone)])
    return w.emit("Unsqueeze", [name, w.ints(new)]) if new else name if rows and name != c.name() else w.emit("Identity", [name])


@export_op("_pad_constant")
def pad_constant(w: Writer, c: Call) -> Any:
    flat, rank = list(c.attrs["pad"]), c.rank()
    pairs = [(0, 0)] * (rank - len(flat) // 2) + [tuple(flat[i : i + 2]) for i in range(len(flat) - 2, -1, -2)]
    amounts = [p[0] for p in pairs] + [p[1] for p in pairs]
    return w.emit("Pad", [c.name(), w.ints(amounts), w.scalar(c.attrs["value"], c.dtype())])


@export_op("_pad_copies")
def pad_copies(w: Writer, c: Call) -> Any:
    flat, rank = list(c.attrs["pad"]), c.rank()
    pairs = [(0, 0)] * (rank - len(flat) // 2) + [tuple(flat[i : i + 2]) for i in range(len(flat) - 2, -1, -2)]
    mode = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[c.attrs["mode"]]
    return w.emit("Pad", [c.name(), w.ints([p[0] for p in pairs] + [p[1] for p in pairs])], mode=mode)


@export_op("triu", "tril")
def triangle(w: Writer, c: Call) -> Any:
    return w.emit("Trilu", [c.name(), w.constant(np.array(c.attrs["diagonal"], np.int64))], upper=int(c.op == "triu"))


@export_op("full", "empty")
def full(w: Writer, c: Call) -> Any:
    from ..requirement import onnx

    spec = c.out()
    value = np.array([c.attrs.get("fill_value", 0)]).astype(numpy_type(spec["dtype"]))
    return w.emit("ConstantOfShape", [w.ints(spec["shape"])], value=onnx.numpy_helper.from_array(value))


@export_op("copy_")
def copy(w: Writer, c: Call) -> Any:
    """A graph is pure: what is written in place is the new value."""
    return w.emit("Expand", [c.name(1, c.out()["dtype"]), w.ints(c.out()["shape"])])


@export_op("fill_", "zero_")
def fill(w: Writer, c: Call) -> Any:
    spec = c.out()
    if c.op == "fill_" and c.has(1):
        return w.emit("Expand", [c.name(1, spec["dtype"]), w.ints(spec["shape"])])
    return w.emit("Expand", [w.scalar(c.attrs.get("value", 0), spec["dtype"]), w.ints(spec["shape"])])


@export_op("arange")
def arange(w: Writer, c: Call) -> Any:
    start, end, step, dtype = c.attrs["start"], c.attrs["end"], c.attrs["step"], c.out()["dtype"]
    if end is None:
        start, end = 0, start
    if not w.sizes.symbolic(end):
        return w.emit("Range", [w.scalar(v, dtype) for v in (start, end, step)])
    made = w.emit("Range", [w.scalar(start, hw.int64), w.emit("Squeeze", [w.ints([end])]), w.scalar(step, hw.int64)])
    return made if dtype == hw.int64 else w.cast(made, dtype)


@export_op("diagonal")
def diagonal(w: Writer, c: Call) -> Any:
    a, b, offset = c.axis("dim1"), c.axis("dim2"), c.attrs["offset"]
    rest = [i for i in range(c.rank()) if i not in (a, b)]
    moved = w.emit("Transpose", [c.name()], perm=[a, b, *rest])
    count = c.out()["shape"][-1]
    places = np.stack([np.arange(count) + max(-offset, 0), np.arange(count) + max(offset, 0)], 1)
    made = w.emit("GatherND", [moved, w.constant(places.astype(np.int64))])
    return w.emit("Transpose", [made], perm=[*range(1, len(rest) + 1), 0])


@export_op("unfold")
def unfold(w: Writer, c: Call) -> Any:
    axis, size, step = c.axis("dimension"), c.attrs["size"], c.attrs["step"]
    count = c.out()["shape"][axis]
    places = np.arange(count)[:, None] * step + np.arange(size)
    made = w.emit("Gather", [c.name(), w.constant(places.astype(np.int64))], axis=axis)
    order = list(range(c.rank() + 1))
    order.append(order.pop(axis + 1))
    return w.emit("Transpose", [made], perm=order)


