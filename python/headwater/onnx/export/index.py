"""Exporters: gathering and scattering."""
from __future__ import annotations

from typing import Any

import headwater as hw

from ..requirement import OnnxError
from .writer import Call, Writer, export_op


@export_op("embedding")
def embedding(w: Writer, c: Call) -> Any:
    return w.emit("Gather", [c.name(1), c.name(0)])


@export_op("index_select")
def index_select(w: Writer, c: Call) -> Any:
    made = w.emit("Gather", [c.name(0), c.name(1)], axis=c.axis())
    return made if len(c.shape(1)) == 1 else w.emit("Reshape", [made, w.ints(c.out()["shape"])])


@export_op("gather")
def gather(w: Writer, c: Call) -> Any:
    return w.emit("GatherElements", [c.name(0), c.name(1)], axis=c.axis())


_REDUCE = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "add": "add", "multiply": "mul"}


@export_op("scatter", "scatter_add", "scatter_reduce")
def scatter(w: Writer, c: Call) -> Any:
    how = "sum" if c.op == "scatter_add" else c.attrs["reduce"]
    if how is not None and how not in _REDUCE or c.attrs.get("include_self") is False:
        raise OnnxError(f"scattering with reduce={how} and without the values that are there is not exported")
    index, source = c.name(1), c.name(2)
    if tuple(c.shape(2)) != tuple(c.shape(1)):
        raise OnnxError("scattering from a source that is larger than the index is not exported")
    return w.emit("ScatterElements", [c.name(0), index, source], axis=c.axis(), reduction=None if how is None else _REDUCE[how])


@export_op("index")
def index(w: Writer, c: Call) -> Any:
    """Advanced indexing of the first axes, by indices of any shapes that broadcast."""
    given = [i for i in range(1, len(c.inputs)) if c.has(i)]
    if given != list(range(1, len(given) + 1)) or any(c.dtype(i) == hw.bool for i in given):
        raise OnnxError("indexing by masks, or of axes that are not the first ones, is not exported")
    if len(given) == 1:
        return w.emit("Gather", [c.name(0), c.name(1)])
    shape = w.ints(c.out()["shape"][: len(c.out()["shape"]) - c.rank() + len(given)])
    columns = [
        w.emit("Unsqueeze", [w.emit("Expand", [c.name(i, hw.int64), shape]), w.ints([-1])]) for i in given
    ]
    return w.emit("GatherND", [c.name(0), w.emit("Concat", columns, axis=-1)])


@export_op("index_add", "index_copy")
def index_write(w: Writer, c: Call) -> Any:
    """The index is spread over the axes beside its own."""
    if not c.rank():
        raise OnnxError("writing to a scalar by index is not exported")
    source, alpha = c.name(2), c.attrs.get("alpha", 1)
    if alpha != 1:
        source = w.emit("Mul", [source, w.scalar(alpha, c.dtype(2))])
    shape = [1] * c.rank()
    shape[c.axis()] = -1
    index = w.emit("Expand", [w.emit("Reshape", [c.name(1), w.ints(shape)]), w.ints(c.shape(2))])
    return w.emit("ScatterElements", [c.name(0), index, source], axis=c.axis(), reduction="add" if c.op == "index_add" else None)
