"""Files from anybody: damaged bytes, circles, shapes that lie. There is an error, never a crash or all of the memory."""

from __future__ import annotations

import random
import resource
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="pip install onnx")

from onnx import TensorProto, helper  # noqa: E402

import headwater.onnx as ox  # noqa: E402

ERRORS = (ox.OnnxError, TypeError, ValueError)


def model(nodes: list[Any], initializers: list[Any] = (), inputs: Any = None, outputs: Any = None) -> Any:  # type: ignore[assignment]
    inputs = inputs or [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])]
    outputs = outputs or [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def node(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
    return helper.make_node(op, inputs, outputs, **attributes)


def ints(name: str, values: list[int]) -> Any:
    return onnx.numpy_helper.from_array(np.array(values, np.int64), name)


def tensor(name: str, dims: list[int], data: bytes = b"\0" * 8, kind: int = TensorProto.FLOAT) -> Any:
    return TensorProto(name=name, dims=dims, data_type=kind, raw_data=data)


X = np.ones((2, 3), np.float32)
BROKEN: dict[str, tuple[Any, str]] = {
    "empty": (b"", "no graph"),
    "no protobuf": (b"\xff" * 100, "is no ONNX file"),
    "text": (b"hello, this is no model", "is no ONNX file"),
    "missing input": (model([node("Exp", ["z"], ["y"])]), "nothing makes the value 'z'"),
    "output that nobody makes": (model([node("Exp", ["x"], ["u"])]), "nothing makes the value 'y'"),
    "circle": (model([node("Add", ["x", "b"], ["a"]), node("Exp", ["a"], ["b"]), node("Exp", ["a"], ["y"])]), "form a circle"),
    "made twice": (model([node("Exp", ["x"], ["y"]), node("Log", ["x"], ["y"])]), "made twice"),
    "no output": (model([node("Exp", ["x"], [])]), "has no output"),
    "lying shape": (model([node("Add", ["x", "w"], ["y"])], [tensor("w", [1 << 40])]), "cannot be read"),
    "negative shape": (model([node("Add", ["x", "w"], ["y"])], [tensor("w", [-1, 2])]), ""),
    "overflowing shape": (model([node("Add", ["x", "w"], ["y"])], [tensor("w", [1 << 62, 1 << 62])]), "cannot be read"),
    "unknown type": (model([node("Add", ["x", "w"], ["y"])], [tensor("w", [2], kind=99)]), "cannot be read"),
    "huge result": (model([node("ConstantOfShape", ["s"], ["y"])], [ints("s", [1 << 30, 1 << 30])]), "cannot be made"),
    "huge range": (
        model([node("Range", ["a", "b", "c"], ["y"])], [ints("a", [0]), ints("b", [1 << 60]), ints("c", [1])]), "cannot be made"
    ),
    "endless loop": (
        model([
            node("Loop", ["m", "", "x"], ["y"], body=helper.make_graph(
                [node("Identity", ["c"], ["d"]), node("Identity", ["v"], ["w"])], "body",
                [helper.make_tensor_value_info(n, k, None) for n, k in (("i", 7), ("c", 9), ("v", 1))],
                [helper.make_tensor_value_info(n, k, None) for n, k in (("d", 9), ("w", 1))])),
        ], [ints("m", [1 << 60])]), "turns"),
    "attribute missing": (model([node("Cast", ["x"], ["y"])]), "'to' is missing"),
    "too few inputs": (model([node("Add", ["x"], ["y"])]), ""),
    "too many inputs": (model([node("Exp", ["x", "x", "x"], ["y"])]), ""),
    "axis outside": (model([node("Softmax", ["x"], ["y"], axis=7)]), ""),
    "kernel of zero": (model([node("MaxPool", ["x"], ["y"], kernel_shape=[0])]), ""),
    "attribute of another type": (model([node("Softmax", ["x"], ["y"], axis="one")]), ""),
    "index outside": (model([node("Gather", ["x", "i"], ["y"])], [ints("i", [99])]), ""),
}  # fmt: skip


def load_and_run(source: Any) -> None:
    loaded = ox.load(source if isinstance(source, bytes) else source.SerializeToString())
    loaded(*[X] * len(loaded.input_names))


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(name: str) -> None:
    source, text = BROKEN[name]
    with pytest.raises(ERRORS) as caught:
        load_and_run(source)
    assert text in str(caught.value), caught.value


def test_a_function_that_calls_itself() -> None:
    call = helper.make_node("F", ["a"], ["b"], domain="my")
    again = helper.make_function("my", "F", ["a"], ["b"], [call], [helper.make_opsetid("my", 1)])
    made = model([helper.make_node("F", ["x"], ["y"], domain="my")])
    made.opset_import.append(helper.make_opsetid("my", 1))
    made.functions.append(again)
    with pytest.raises(ox.OnnxError, match="calls itself"):
        load_and_run(made)


def test_functions_that_double_each_other() -> None:
    made = model([helper.make_node("F0", ["x"], ["y"], domain="my")])
    made.opset_import.append(helper.make_opsetid("my", 1))
    for i in range(40):
        nodes = [helper.make_node(f"F{i + 1}", ["a"], [f"{o}"], domain="my") for o in ("b", "c")]
        made.functions.append(onnx.helper.make_function("my", f"F{i}", ["a"], ["b"], nodes, [helper.make_opsetid("my", 1)]))
    with pytest.raises(ox.OnnxError, match="when written out"):
        load_and_run(made)


def seeds() -> list[bytes]:
    """Small models with what a file may hold."""
    weights = [onnx.numpy_helper.from_array(np.ones((3, 4), np.float32), "w"), ints("s", [2, 2, 2])]
    image = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])]
    branch = [
        helper.make_graph([node(o, ["h"], [n])], n, [], [helper.make_tensor_value_info(n, 1, None)])
        for o, n in (("Exp", "p"), ("Neg", "q"))
    ]
    return [
        m.SerializeToString()
        for m in (
            model([node("MatMul", ["x", "w"], ["h"]), node("Reshape", ["h", "s"], ["y"])], weights, image),
            model([
                node("Relu", ["x"], ["h"]), node("ReduceSum", ["h"], ["r"], keepdims=0), node("Cast", ["r"], ["c"], to=9),
                node("If", ["c"], ["y"], then_branch=branch[0], else_branch=branch[1]),
            ]),
            model([
                node("Unsqueeze", ["x", "a"], ["u"]), node("Pad", ["u", "p"], ["v"]), node("MaxPool", ["v"], ["z"], kernel_shape=[2, 2]),
                node("Transpose", ["z"], ["y"], perm=[1, 0, 2, 3]),
            ], [ints("a", [0, 1]), ints("p", [0, 0, 1, 1, 0, 0, 1, 1])]),
        )
    ]  # fmt: skip


def damaged(data: bytes, dice: random.Random) -> bytes:
    array = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 5, 20))):
        kind, at = dice.randrange(4), dice.randrange(len(array)) if array else 0
        if kind == 0 and array:
            array[at] = dice.randrange(256)
        elif kind == 1:
            del array[at : at + dice.randrange(1, 8)]
        elif kind == 2:
            array[at:at] = bytes(dice.randrange(256) for _ in range(dice.randrange(1, 6)))
        elif array:
            array[at] ^= 1 << dice.randrange(8)
    return bytes(array[: dice.randrange(len(array) + 1)] if dice.random() < 0.1 else array)


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused as too large is smaller here, so that the test is quick and memory that grows is seen."""
    monkeypatch.setattr("headwater.onnx.values.MOST_ELEMENTS", 2**20)


def fuzz(rounds: int, seed: int) -> None:
    dice, files, before = random.Random(seed), seeds(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    passed = 0
    for i in range(rounds):
        data = damaged(dice.choice(files), dice)
        try:
            load_and_run(data)
            passed += 1
        except ERRORS:
            pass
        except Exception as error:
            raise AssertionError(f"round {i}: {type(error).__name__}: {error}\n{data!r}") from error
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 1 << 19, f"{grown} KiB more memory"
    assert passed > rounds // 50


def test_damaged_bytes(small_limit: None) -> None:
    fuzz(5000, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_damaged_bytes_for_long(small_limit: None) -> None:
    for seed in range(2, 22):
        fuzz(10_000, seed)
