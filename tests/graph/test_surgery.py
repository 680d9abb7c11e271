"""Graph surgery from Python: find, replace, insert, erase, another batch size."""

from __future__ import annotations

import numpy as np
import pytest
from captured import Block, Convolutions, graph_of

import headwater as hw
from headwater import _C

TEXT = """graph g
input %0 x: f32[4, 3]
%1: f32[4, 3] = exp(%0)
%2: f32[4, 3] = relu(%1)
%3: f32[4] = sum(%2) {dim=[1]}
output %3
"""


def graph() -> object:
    return _C.Graph.parse(TEXT)


def test_find() -> None:
    g = graph()
    assert g.find("relu") == [1] and g.find("tanh") == []
    assert g.find("relu|gelu(exp(x))") == [{"nodes": [1, 0], "x": 0}]
    assert g.find("sum(relu(y))") == [{"nodes": [2, 1], "y": 1}]
    with pytest.raises(ValueError, match="pattern 'sum.x', column 6"):
        g.find("sum(x")


def test_replace_and_erase() -> None:
    g = graph()
    with pytest.raises(ValueError, match="node 1 cannot be erased: node 2 reads %2"):
        g.erase(1)
    assert g.replace(2, 1) == 1
    g.erase(1)
    assert g.text() == TEXT.replace("%2: f32[4, 3] = relu(%1)\n", "").replace("%3", "%2").replace("sum(%2)", "sum(%1)")
    with pytest.raises(IndexError, match="node 1 is not in the graph"):
        g.erase(1)


def test_insert() -> None:
    g = graph()
    (doubled,) = g.insert("add", [1, 1], {"alpha": 2}, before=1)
    g.replace(2, 2)  # nothing
    (last,) = g.insert("neg", [3])
    g.set_result(0, last)
    assert "%2: f32[4, 3] = add(%1, %1) {alpha=2}" in g.text()
    assert g.text().endswith("%5: f32[4] = neg(%4)\noutput %5\n")
    assert g.spec(doubled)["shape"] == (4, 3)
    x = hw.randn(4, 3)
    assert np.allclose(g.evaluate([x])[0].numpy(), -np.exp(x.numpy()).sum(1), rtol=1e-5)


def test_edits_that_do_not_fit_change_nothing() -> None:
    g = graph()
    with pytest.raises(ValueError, match="before it is made"):
        g.replace(0, 3)
    other = g.copy()
    (row,) = other.insert("amax", [0], {"dim": 0}, before=0)
    with pytest.raises(ValueError, match="axis 1 is out of range"):
        other.replace(2, row)
    with pytest.raises(ValueError, match="exp has no attribute 'dim'"):
        g.insert("exp", [0], {"dim": 1})
    with pytest.raises(RuntimeError, match="matmul|bmm|mm"):
        g.insert("mm", [0, 0])
    with pytest.raises(KeyError, match="there is no op 'exq'"):
        g.insert("exq", [0])
    with pytest.raises(ValueError, match="written with other ops"):
        g.insert("reshape", [0], {"shape": (12,)})
    with pytest.raises(IndexError):
        g.insert("exp", [77])
    assert g.text() == TEXT


def test_copies_are_apart() -> None:
    g = graph()
    other = g.copy()
    other.insert("exp", [0])
    assert len(g) == 3 and len(other) == 4 and g != other


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_set_batch_of_attention(batch: int) -> None:
    hw.manual_seed(0)
    block = Block(16, 2).eval()
    with hw.no_grad():
        g = graph_of(block.forward, hw.randn(3, 5, 16))
        other = graph_of(block.forward, hw.randn(batch, 5, 16))
        g.set_batch(batch)
    if batch > 1:  # with one row fewer copies are made
        assert g.text() == other.text()
    tensors = [hw.randn(s["shape"]) for s in g.sources if s["kind"] != "const"]
    np.testing.assert_allclose(g.evaluate(tensors)[0].numpy(), other.evaluate(tensors)[0].numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("batch", [1, 5])
def test_set_batch_of_convolutions(batch: int) -> None:
    hw.manual_seed(0)
    net = Convolutions().eval()
    with hw.no_grad():
        g = graph_of(net.forward, hw.randn(2, 3, 6, 6))
        g.set_batch(batch)
        assert g == graph_of(net.forward, hw.randn(batch, 3, 6, 6))


def test_set_batch_refuses() -> None:
    g = _C.Graph.parse("input %0 x: f32[4, 3]\n%1: f32[4, 3] = exp(%0)\nupdate %0 <- %1")
    with pytest.raises(ValueError, match="Capture it with a batch of 2"):
        g.set_batch(2)
    g = graph_of(lambda x: x.sum(0) / len(x), hw.randn(4, 3))
    with pytest.raises(ValueError, match="the number 4 equals the batch size"):
        g.set_batch(2)
