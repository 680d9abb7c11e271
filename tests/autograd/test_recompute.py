"""hw.recompute: results and gradients of a plain call, bit for bit, and less that is kept."""
import weakref

import pytest

import headwater as hw
from headwater import nn


def block():
    hw.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 6), nn.LayerNorm(6))


def gradients(call, blocks, x):
    hw.manual_seed(7)
    x = x.detach().requires_grad_()
    y = x
    for b in blocks:
        y = call(b, y)
    loss = (y * y).sum() + hw.rand(6).sum()  # what is drawn afterwards is as it was
    loss.backward()
    found = [loss.detach(), x.grad, *(p.grad for b in blocks for p in b.parameters()), hw.rand(3)]
    for b in blocks:
        b.zero_grad()
    return found


def test_values_and_gradients_with_dropout():
    blocks, x = [block(), block()], hw.randn(5, 6)
    plain, again = gradients(lambda b, y: b(y), blocks, x), gradients(hw.recompute, blocks, x)
    assert all(hw.equal(a, b) for a, b in zip(plain, again, strict=True))


def test_inputs_without_gradients_keywords_and_tuples():
    table = nn.Embedding(5, 3)

    def f(ids, scale=None):
        y = table(ids) * scale
        return y, ids, y.detach()

    scale = hw.tensor([1.0, 2.0, 3.0], requires_grad=True)
    ids = hw.tensor([0, 2, 2])
    y, same, fixed = hw.recompute(f, ids, scale=scale)
    assert y.requires_grad and not fixed.requires_grad and hw.equal(same, ids)
    got = hw.autograd.grad(y.sum(), [table.weight, scale])
    want = hw.autograd.grad(f(ids, scale)[0].sum(), [table.weight, scale])
    assert all(hw.equal(a, b) for a, b in zip(got, want, strict=True))


def test_second_order():
    x = hw.tensor([0.3, 0.8], requires_grad=True)

    def second(y):
        (g,) = hw.autograd.grad(y.sum(), x, create_graph=True)
        return hw.autograd.grad(g.sum(), x)[0]

    got, want = second(hw.recompute(lambda t: t.sin() * t, x * x)), second((x * x).sin() * (x * x))
    assert hw.allclose(got, want)


def test_autocast_is_the_same_in_both_runs():
    linear, seen = nn.Linear(4, 4), []

    def f(x):
        y = linear(x)
        seen.append(y.dtype)
        return y

    with hw.autocast("cpu"):
        y = hw.recompute(f, hw.ones(2, 4, requires_grad=True))
    y.sum().backward()
    assert seen == [hw.bfloat16, hw.bfloat16]


def test_inner_results_are_not_kept():
    inner = []

    def f(x):
        y = x.exp()
        inner.append(weakref.ref(y))
        return y.sin()

    x = hw.ones(3, requires_grad=True)
    y = hw.recompute(f, x)
    assert hw._C.graph_size(y) == 2 and inner[0]() is None
    y.sum().backward()
    assert len(inner) == 2


def test_refusals():
    x = hw.ones(3, requires_grad=True)
    outside = x * 2
    with pytest.raises(RuntimeError, match="uses a tensor that it is not given.*mul"):
        hw.recompute(lambda t: t * outside, hw.ones(3))
    with pytest.raises(RuntimeError, match="changes an argument in place"):
        hw.recompute(lambda t: t.add_(1) * x, hw.ones(3))
    other = hw.ones(3)
    y = hw.recompute(lambda t, u: t * u, x, other)
    other.add_(1)
    with pytest.raises(RuntimeError, match="changed in place: it is at version 1"):
        y.sum().backward()
    with pytest.raises(TypeError, match="returns a tensor or a tuple, got dict"):
        hw.recompute(lambda t: {"y": t}, x)
    with hw.no_grad():
        assert not hw.recompute(lambda t: t * 2, x).requires_grad
