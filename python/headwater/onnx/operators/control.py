"""If, Loop, Scan: Python's control flow on values that are known; on data, hw.cond and hw.while_loop while a function is captured."""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from ... import recording
from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..values import flag, host, number, tensor

_MOST_TURNS = 10_000_000


@op("If", raw=True)
def if_(node: Node, condition: Any) -> Any:
    then, otherwise = node.inner["then_branch"], node.inner["else_branch"]
    if recording.current is not None and isinstance(condition, hw.Tensor):
        made = hw.cond(condition, lambda: tuple(map(tensor, then())), lambda: tuple(map(tensor, otherwise())))
        return tuple(made)
    return tuple(then() if flag(condition) else otherwise())


def _on_data(value: Any) -> bool:
    """Whether a condition or a count is not known, because a function is being captured. A number of NumPy's that was given is known."""
    if recording.current is None or not isinstance(value, hw.Tensor):
        return False
    try:
        host(value)
    except hw.CompileError:
        return True
    return False


@op("Loop", raw=True)
def loop(node: Node, most: Any = None, condition: Any = None, *carried: Any) -> Any:
    if _on_data(most) or _on_data(condition):
        return _while(node, 0, most, condition, list(carried))
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
        if i < turns and _on_data(again):
            return _while(node, i, most, again, state)
        going = i < turns and flag(again)
        if i >= _MOST_TURNS:
            raise OnnxError(f"the loop has not ended after {i} turns")
    return (*state, *(_stacked(column) for column in made))


def _while(node: Node, start: int, most: Any, condition: Any, state: list[Any]) -> tuple[Any, ...]:
    """The turns from `start` on as hw.while_loop: how many there are is not known, so the values keep their shapes, and no turn leaves
    a row behind."""
    count = len(state)
    if any(node.wants(k) for k in range(count, len(node.outputs))):
        raise hw.CompileError(
            "how many turns the loop has depends on the values of the inputs, and so does the size of what it collects "
            f"('{node.outputs[count]}'). Give the number of turns as a plain number, or run the model eagerly"
        )
    if any(isinstance(v, list) or v is None for v in state):
        raise hw.CompileError("a loop whose number of turns depends on the values of the inputs carries tensors only, no sequences")
    body = node.inner["body"]
    limit = None if most is None else tensor(most).to(hw.int64).reshape(())
    going = hw.tensor(True) if condition is None else tensor(condition).to(hw.bool).reshape(())

    def turns(i: Any, go: Any, *values: Any) -> Any:
        return go if limit is None else go & (i < limit)

    def turn(i: Any, go: Any, *values: Any) -> tuple[Any, ...]:
        again, *results = body(i, np.array(True), *values)
        return (i + 1, tensor(again).to(hw.bool).reshape(()), *map(tensor, results[:count]))

    first = (hw.tensor(start, dtype=hw.int64), going, *map(tensor, state))
    return tuple(hw.while_loop(turns, turn, first)[2:]) + (None,) * (len(node.outputs) - count)


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

