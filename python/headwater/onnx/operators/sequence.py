"""Sequences and optionals: Python lists, and None."""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..values import ints, number, tensor


@op("SequenceConstruct", raw=True)
def construct(node: Node, *parts: Any) -> Any:
    return (list(parts),)


@op("SequenceEmpty", raw=True)
def empty(node: Node) -> Any:
    return ([],)


@op("SequenceAt", raw=True)
def at(node: Node, sequence: list[Any], position: Any) -> Any:
    return (sequence[number(position)],)


@op("SequenceInsert", raw=True)
def insert(node: Node, sequence: list[Any], item: Any, position: Any = None) -> Any:
    made = list(sequence)
    place = len(made) if position is None else number(position)
    if not -len(made) <= place <= len(made):
        raise OnnxError(f"position {place} is outside of a sequence of {len(made)}")
    made.insert(place, item)
    return (made,)


@op("SequenceErase", raw=True)
def erase(node: Node, sequence: list[Any], position: Any = None) -> Any:
    made = list(sequence)
    del made[-1 if position is None else number(position)]
    return (made,)


@op("SequenceLength", raw=True)
def length(node: Node, sequence: list[Any]) -> Any:
    return np.array(len(sequence), np.int64)


@op("ConcatFromSequence", raw=True)
def concat(node: Node, sequence: list[Any]) -> Any:
    axis = node.attr("axis")
    host = all(isinstance(s, np.ndarray) for s in sequence)
    if host:
        return (np.stack if node.attr("new_axis", 0) else np.concatenate)(sequence, axis)  # type: ignore[operator]
    parts = [tensor(s) for s in sequence]
    return hw.stack(parts, axis) if node.attr("new_axis", 0) else hw.cat(parts, axis)


@op("SplitToSequence", raw=True)
def split(node: Node, x: Any, sizes: Any = None) -> Any:
    x, axis = tensor(x), node.attr("axis", 0)
    n = x.shape[axis]
    if sizes is None:
        parts = x.split(1, axis)
        return ([p if node.attr("keepdims", 1) else p.squeeze(axis) for p in parts],)
    wanted = ints(sizes)
    if np.ndim(sizes) == 0 or (isinstance(sizes, hw.Tensor) and sizes.dim() == 0):
        each = wanted[0]
        wanted = [min(each, n - i) for i in range(0, n, each)]
    return (list(hw.split_with_sizes(x, wanted, axis)),)


@op("SequenceMap", raw=True)
def map_(node: Node, sequence: list[Any], *others: Any) -> Any:
    rows = []
    for i, item in enumerate(sequence):
        rows.append(node.inner["body"](item, *(o[i] if isinstance(o, list) else o for o in others)))
    return tuple([row[k] for row in rows] for k in range(len(node.outputs)))


@op("Optional", raw=True)
def optional(node: Node, x: Any = None) -> Any:
    return (x,)


@op("OptionalHasElement", raw=True)
def has_element(node: Node, x: Any = None) -> Any:
    return np.array(x is not None)


@op("OptionalGetElement", raw=True)
def get_element(node: Node, x: Any) -> Any:
    if x is None:
        raise OnnxError("the optional is empty")
    return (x,)
