"""If, Loop, Scan: Python's control flow on values that are known; an If on data becomes hw.cond while a function is captured."""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from ... import recording
from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..values import flag, number, tensor

_MOST_TURNS = 10_000_000


@op("If", raw=True)
def if_(node: Node, condition: Any) -> Any:
    then, otherwise = node.inner["then_branch"], node.inner["else_branch"]
    if recording.current is not None and isinstance(condition, hw.Tensor):
        made = hw.cond(condition, lambda: tuple(map(tensor, then())), lambda: tuple(map(tensor, otherwise())))
        return tuple(made)
    return tuple(then() if flag(condition) else otherwise())


@op("Loop", raw=True)
def loop(node: Node, most: Any = None, condition: Any = None, *carried: Any) -> Any:
    turns = _MOST_TURNS if most is None else number(most, "the number of turns")
    if most is not None and turns > _MOST_TURNS:
        raise OnnxError(f"a loop of {turns} turns has no end in sight; the most is {_MOST_TURNS}")
    going = True if condition is None else flag(condition)
    body, state = node.inner["body"], list(carried)
    made: list[list[Any]] = [[] for _ in range(len(node.outputs) - len(carried))]
    i = 0
    while going and i < turns:
        again, *results = body(np.array(i, np.int64), np.array(True), *state)
        state, rows = results[: len(state)], results[len(state) :]
        for column, row in zip(made, rows):
            column.append(row)
        i += 1
        going = flag(again)
        if i >= _MOST_TURNS:
            raise OnnxError(f"the loop has not ended after {i} turns")
    return (*state, *(_stacked(column) for column in made))


def _stacked(rows: list[Any], axis: int = 0) -> Any:
    if not rows:
        return np.zeros((0,), np.float32)
    if all(isinstance(r, np.ndarray) for r in rows):
        return np.stack(rows, axis)
    return hw.stack([tensor(r) for r in rows], axis)


@op("Scan")
def scan_8(node: Node, *inputs: Any) -> Any:
    """Opset 8: with a batch axis in front, and the lengths as the first input."""
    if inputs[0] is not None:
        raise OnnxError("Scan with sequence lengths (opset 8) is not supported")
    rest, count = inputs[1:], node.attr("num_scan_inputs")
    rows = []
    for i in range(rest[-1].shape[0]):
        rows.append(_scanned(node, [v[i] for v in rest], count, [0] * count, [], node.attr("directions", [0] * count), []))
    return tuple(hw.stack([tensor(r[k]) for r in rows]) for k in range(len(rows[0])))


@op("Scan", since=9)
def scan(node: Node, *inputs: Any) -> Any:
    count = node.attr("num_scan_inputs")
    return _scanned(
        node, list(inputs), count, node.attr("scan_input_axes", [0] * count), node.attr("scan_output_axes", []),
        node.attr("scan_input_directions", [0] * count), node.attr("scan_output_directions", []),
    )  # fmt: skip


def _scanned(
    node: Node, inputs: list[Any], count: int, axes: list[int], out_axes: list[int], backwards: list[int], out_backwards: list[int]
) -> tuple[Any, ...]:
    state, sequences = inputs[: len(inputs) - count], inputs[len(inputs) - count :]
    slices = [s.unbind(a)[:: -1 if b else 1] for s, a, b in zip(sequences, axes, backwards)]
    lengths = {len(s) for s in slices}
    if len(lengths) != 1:
        raise OnnxError(f"the sequences have {sorted(lengths)} elements, they must agree")
    outputs: list[list[Any]] = [[] for _ in range(len(node.outputs) - len(state))]
    for elements in zip(*slices):
        results = node.inner["body"](*state, *elements)
        state = results[: len(state)]
        for column, row in zip(outputs, results[len(state) :]):
            column.append(row)
    out_axes, out_backwards = out_axes or [0] * len(outputs), out_backwards or [0] * len(outputs)
    stacked = [_stacked(c[:: -1 if b else 1], a) for c, a, b in zip(outputs, out_axes, out_backwards)]
    return (*state, *stacked)

