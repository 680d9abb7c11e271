"""Graph text from Python: captured graphs read back equal, refusals name line and column."""

from __future__ import annotations

import numpy as np
import pytest
from captured import Block, Convolutions, graph_of

import headwater as hw
from headwater import _C

MLP = """graph mlp
input %0 x: f32[4, 3]
state %1 fc.weight: f32[2, 3]
const %2: f64[] number = 0.5
%3: f32[4, 2] = linear(%0, %1, None) @ "fc (train.py:31)"
%4: f32[4, 2] = mul(%3, %2)
output %4
"""


def captured() -> list:
    hw.manual_seed(0)
    with hw.no_grad():
        block, convolutions = Block(16, 2).eval(), Convolutions().eval()
        return [
            graph_of(block.forward, hw.randn(2, 5, 16)),
            graph_of(convolutions.forward, hw.randn(2, 3, 6, 6)),
            graph_of(lambda x: (x.sort(-1), hw.where(x > 0, x, 0.0))[0], hw.randn(3, 4)),
            graph_of(lambda x: x.to(hw.float64).cumsum(0) @ hw.ones(4, 2, dtype=hw.float64), hw.randn(3, 4)),
            graph_of(lambda x: hw.nn.functional.dropout(x, 0.25), hw.randn(3, 4)),
        ]


def test_text_reads_back() -> None:
    graph = _C.Graph.parse(MLP)
    assert graph.text() == MLP == str(graph)
    assert "train.py" not in graph.text(origins=False)
    assert graph == _C.Graph.parse(graph.text())
    assert graph.name == "mlp" and len(graph) == 2


@pytest.mark.parametrize("which", range(5))
def test_captured_graphs_read_back(which: int) -> None:
    graph = captured()[which]
    graph.check()
    again = _C.Graph.parse(graph.text(most_elements=None))
    assert again.difference(graph) == ""
    assert again == graph and again.text() == graph.text()


def test_graphs_that_differ_say_where() -> None:
    graph = _C.Graph.parse(MLP)
    assert graph != _C.Graph.parse(MLP.replace("0.5", "0.25"))
    assert "data" in graph.difference(_C.Graph.parse(MLP.replace("0.5", "0.25")))
    assert graph.difference(_C.Graph.parse(MLP.replace("mul", "sub"))) == "node 1, mul: the other is sub"
    assert (graph == "mlp") is False


def test_large_constants() -> None:
    table = hw.arange(100, dtype=hw.float32)
    text = "input %0: i64[2]\nconst %1 table: f32[100] = {}\n%2: f32[2] = index_select(%1, %0) {{dim=0}}\noutput %2\n"
    full = _C.Graph.parse(text.format([float(i) for i in range(100)]))
    short = full.text()
    assert "= #" in short and "..." in short and len(short) < 200
    with pytest.raises(ValueError, match="line 3, column 28: the elements of this constant are not in the text"):
        _C.Graph.parse(short)
    assert _C.Graph.parse(short, constants=[table]) == full
    index = hw.tensor([3, 7])
    assert _C.Graph.parse(short, constants=[table]).evaluate([index])[0].tolist() == [3, 7]
    assert _C.Graph.parse(short, zeros=True).evaluate([index])[0].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input %0: f32[2", "line 1, column 16: expected ',', found the end of the text"),
        ("input %0: f32[2]\n%1: f32[2] = neg(%2)", "line 2, column 18: %2 is not defined above this line"),
        ("input %0: f32[2]\n%1: f32[3] = neg(%0)", "neg.*: the output is f32.3., by the rules f32.2."),
        ("input %0: f32[2]\n%1: f32[2] = ngg(%0)", "there is no op 'ngg'"),
        ("input %0: f32[2]\n%1: f32[2] = add(%0)", "add takes 2 inputs, the node has 1"),
        ("const %0: f32[2]\noutput %0", "the constant %0 has no data"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _C.Graph.parse(text)


def test_what_a_graph_shows() -> None:
    graph = _C.Graph.parse(MLP)
    x, w, half = graph.sources
    assert (x["kind"], x["name"], x["shape"], x["dtype"]) == ("input", "x", (4, 3), hw.float32)
    assert w["kind"] == "state" and half["kind"] == "const" and half["number"] and half["tensor"].item() == 0.5
    linear, mul = graph.nodes()
    assert linear["op"] == "linear" and linear["inputs"] == [0, 1, None] and linear["origin"] == "fc (train.py:31)"
    assert mul["attrs"] == {} and mul["text"] == "%4: f32[4, 2] = mul(%3, %2)"
    assert graph.results == [{"kind": "output", "value": 4, "memory": None}]
    assert graph.spec(4)["strides"] == (2, 1)
    with pytest.raises(IndexError, match="there is no value %9"):
        graph.spec(9)


def test_evaluates_as_the_function() -> None:
    hw.manual_seed(1)
    x = hw.randn(3, 4)
    graph = graph_of(lambda t: (hw.softmax(t.t(), 0) * 2 - t.t()).sum(1), x)
    want = (hw.softmax(x.t(), 0) * 2 - x.t()).sum(1)
    assert np.array_equal(graph.evaluate([x])[0].numpy(), want.numpy())
    with pytest.raises(ValueError, match="source x0 is f32"):
        graph.evaluate([x.t()])
