"""Exporters: reductions, running sums, sorting."""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from ..requirement import OnnxError
from .writer import Call, Writer, export_op

_NAMES = {"sum": "ReduceSum", "mean": "ReduceMean", "amax": "ReduceMax", "amin": "ReduceMin", "prod": "ReduceProd",
          "logsumexp": "ReduceLogSumExp", "any": "ReduceMax", "all": "ReduceMin"}  # fmt: skip


def axes_of(c: Call) -> list[int]:
    dim = c.attrs.get("dim")
    if dim is None or dim == ():
        return list(range(c.rank()))
    return [d % max(c.rank(), 1) for d in (dim if isinstance(dim, tuple) else (dim,))]


def reduced(w: Writer, name: str, op: str, axes: list[int], keep: bool) -> Any:
    if not axes:
        return w.emit("Identity", [name])
    return w.emit(op, [name, w.ints(axes)], keepdims=int(keep))


@export_op(*_NAMES)
def reduction(w: Writer, c: Call) -> Any:
    dtype = c.out()["dtype"]
    if c.op in ("any", "all"):
        flags = w.cast(c.name(0, hw.bool), hw.int32)
        return w.cast(reduced(w, flags, _NAMES[c.op], axes_of(c), c.attrs["keepdim"]), dtype)
    return reduced(w, c.name(0, dtype), _NAMES[c.op], axes_of(c), c.attrs["keepdim"])


@export_op("argmax", "argmin")
def arg_extreme(w: Writer, c: Call) -> Any:
    name, dim = c.name(), c.attrs["dim"]
    op = "ArgMax" if c.op == "argmax" else "ArgMin"
    if dim is None:
        flat = w.emit("Reshape", [name, w.ints([-1])])
        made = w.emit(op, [flat], axis=0, keepdims=0)
        return w.emit("Reshape", [made, w.ints([1] * c.rank())]) if c.attrs["keepdim"] else made
    if not c.rank():
        return w.scalar(0, hw.int64)
    return w.emit(op, [name], axis=c.axis(), keepdims=int(c.attrs["keepdim"]))


@export_op("cumsum", "cumprod")
def cumulative(w: Writer, c: Call) -> Any:
    if not c.rank():
        return w.emit("Identity", [c.name(0, c.out()["dtype"])])
    if c.op == "cumprod" and w.opset < 26:
        raise OnnxError("ONNX has running products since opset 26")
    return w.emit("CumSum" if c.op == "cumsum" else "CumProd", [c.name(0, c.out()["dtype"]), w.constant(np.array(c.axis(), np.int64))])


@export_op("topk")
def topk(w: Writer, c: Call) -> Any:
    return w.emit("TopK", [c.name(), w.ints([c.attrs["k"]])], 2, axis=c.axis(), largest=int(c.attrs["largest"]), sorted=1)


@export_op("sort")
def sort(w: Writer, c: Call) -> Any:
    count = c.shape()[c.axis()]
    return w.emit("TopK", [c.name(), w.ints([count])], 2, axis=c.axis(), largest=int(c.attrs["descending"]), sorted=1)


@export_op("_max_dim", "_min_dim")
def extreme_with_index(w: Writer, c: Call) -> Any:
    if not c.rank():
        return [w.emit("Identity", [c.name()]), w.scalar(0, hw.int64)]
    kind, axis, keep, name = ("Max" if c.op == "_max_dim" else "Min"), c.axis(), int(c.attrs["keepdim"]), c.name()
    return [w.emit(f"Reduce{kind}", [name, w.ints([axis])], keepdims=keep), w.emit(f"Arg{kind}", [name], axis=axis, keepdims=keep)]


@export_op("_var_mean")
def var_mean(w: Writer, c: Call) -> Any:
    axes, keep, name, dtype = axes_of(c), c.attrs["keepdim"], c.name(), c.dtype()
    count = int(np.prod([c.shape()[a] for a in axes]))
    if any(w.sizes.symbolic(c.shape()[a]) for a in axes) and c.attrs["correction"]:
        raise OnnxError("the correction of a variance over a dynamic size is not exported")
    mean = reduced(w, name, "ReduceMean", axes, True)
    centred = w.emit("Sub", [name, mean])
    var = reduced(w, w.emit("Mul", [centred, centred]), "ReduceMean", axes, keep)
    if c.attrs["correction"]:
        left = count - c.attrs["correction"]
        var = w.emit("Mul", [var, w.scalar(count / left if left > 0 else np.nan, dtype)])
    if c.attrs["root"]:
        var = w.emit("Sqrt", [var])
    return [var, mean if keep or not axes else w.emit("Squeeze", [mean, w.ints(axes)])]


@export_op("_vector_norm")
def vector_norm(w: Writer, c: Call) -> Any:
    order, name = c.attrs["ord"], c.name(0, c.out()["dtype"])
    if order in (1, 2):
        return reduced(w, name if axes_of(c) else w.emit("Abs", [name]), f"ReduceL{int(order)}", axes_of(c), c.attrs["keepdim"])
    if order == float("inf"):
        return reduced(w, w.emit("Abs", [name]), "ReduceMax", axes_of(c), c.attrs["keepdim"])
    raise OnnxError(f"a norm of order {order} is not exported")
