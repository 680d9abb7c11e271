"""Control flow on data inside compiled functions."""

from __future__ import annotations

import numpy as np
import pytest

import headwater as hw
from headwater import nn


def numbers(*shape: int, seed: int = 0) -> hw.Tensor:
    return hw.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def test_cond_takes_the_branch_of_each_run_and_its_gradient():
    lin = nn.Linear(4, 4)

    def f(x):
        return hw.cond(x.sum() > 0, lambda a: lin(a).relu() * 2, lambda a: a * a - lin.bias.sum(), (x,))

    def step(x):
        y = f(x)
        (y * y).sum().backward()
        return y.detach()

    compiled = hw.compile(step)
    for sign in (1.0, -1.0, 1.0):
        found = []
        for run in (compiled, step):
            lin.zero_grad()
            x = (numbers(2, 4).abs() * sign).requires_grad_()
            y = run(x)
            weight = np.zeros((4, 4)) if lin.weight.grad is None else lin.weight.grad.numpy().copy()
            found.append((y.numpy(), x.grad.numpy(), weight, lin.bias.grad.numpy().copy()))
        for a, b in zip(*found, strict=True):
            np.testing.assert_array_equal(a, b)
    assert compiled.captures == 1


def test_cond_returns_trees_and_checks_them():
    f = hw.compile(lambda p, x: hw.cond(p, lambda a: {"y": a + 1, "z": (a,)}, lambda a: {"y": a - 1, "z": (a * 2,)}, (x,)))
    for flag in (True, False):
        got = f(hw.tensor(flag), numbers(3))
        assert got["y"].numpy().tolist() == (numbers(3) + (1 if flag else -1)).numpy().tolist()
    with pytest.raises(RuntimeError, match="branches return different tensors"):
        hw.compile(lambda p, x: hw.cond(p, lambda a: a, lambda a: a[:1], (x,)))(hw.tensor(True), numbers(3))
    with pytest.raises(RuntimeError, match="one element"):
        hw.cond(hw.tensor([True, False]), lambda: 1, lambda: 2)


def test_branches_do_not_write_outside_and_do_not_draw():
    state = hw.zeros(3)

    def writes(a):
        state.add_(a)
        return a

    with pytest.raises(RuntimeError, match="written in place inside"):
        hw.compile(lambda p, x: hw.cond(p, writes, lambda a: a, (x,)))(hw.tensor(True), numbers(3))
    assert state.numpy().tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="random numbers"):
        hw.compile(lambda p, x: hw.cond(p, lambda a: a + hw.rand(3), lambda a: a, (x,)))(hw.tensor(True), numbers(3))


def test_while_loop_turns_as_often_as_the_data_say():
    bias = numbers(4, seed=1)

    def turn(i, v):
        return i + 1, (v * 1.5 + bias).clip(-100, 100)

    def f(n, x):
        return hw.while_loop(lambda i, v: i < n, turn, (hw.zeros((), dtype=hw.int64), x))

    compiled = hw.compile(f)
    for n in (0, 1, 2, 9):
        i, y = compiled(hw.tensor(n), numbers(4))
        want = f(hw.tensor(n), numbers(4))
        assert i.item() == n
        np.testing.assert_array_equal(y.numpy(), want[1].numpy())
    assert compiled.captures == 1


def test_while_loop_refuses_what_it_cannot_do():
    x = numbers(3).requires_grad_()
    with pytest.raises(RuntimeError, match="no gradient"):
        hw.compile(lambda a: hw.while_loop(lambda v: v.sum() < 9, lambda v: v + 1, (a,)))(x)
    with pytest.raises(RuntimeError, match="stay alike"):
        hw.compile(lambda a: hw.while_loop(lambda v: v.sum() < 9, lambda v: v[:1], (a,)))(numbers(3))


def test_scan_has_gradients():
    def step(x, h):
        carry, ys = hw.scan(lambda c, v: ((c + v).tanh(), c * v), h, x)
        (carry.sum() + (ys * ys).sum()).backward()
        return ys.detach()

    found = []
    for run in (hw.compile(step), step):
        x, h = numbers(5, 3).requires_grad_(), numbers(3, seed=2).requires_grad_()
        found.append((run(x, h).numpy(), x.grad.numpy(), h.grad.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_eager_forms():
    assert hw.cond(True, lambda a: a + 1, lambda a: a, (hw.tensor(1),)).item() == 2
    assert [t.item() for t in hw.while_loop(lambda i: i < 3, lambda i: i + 1, (hw.tensor(0),))] == [3]
    carry, ys = hw.scan(lambda c, x: (c + x, c), hw.tensor(0.0), hw.tensor([1.0, 2.0, 3.0]), reverse=True)
    assert carry.item() == 6 and ys.numpy().tolist() == [5, 3, 0]


def test_a_loop_refuses_to_lose_gradients_of_what_it_closes_over() -> None:
    w = hw.nn.Parameter(hw.full((3,), 2.0))

    def power(x: hw.Tensor, factor: hw.Tensor) -> hw.Tensor:
        return hw.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * factor), (hw.tensor(0), x))[1]

    with pytest.raises(hw.CompileError, match="shape \\[3\\] that requires one"):
        hw.compile(lambda x: power(x, w))(hw.ones(3))
    assert hw.compile(lambda x: power(x, w.detach()))(hw.ones(3)).tolist() == [8.0, 8.0, 8.0]
    with hw.no_grad():
        assert hw.compile(lambda x: power(x, w))(hw.ones(3)).tolist() == [8.0, 8.0, 8.0]


def test_eager_operations_inside_of_a_branch() -> None:
    """recording.eagerly() leaves all captures, not only that of the branch."""
    from headwater import recording

    def branch(x):
        with recording.eagerly():
            with recording.eagerly():
                two = hw.tensor([2])
            size = int((two * 3).item())
        return x * size

    @hw.compile
    def f(x):
        return hw.cond(x.sum() > 0, branch, lambda x: x - 1, (x,))

    assert f(hw.ones(2)).tolist() == [6.0, 6.0]
    assert f(-hw.ones(2)).tolist() == [-2.0, -2.0]


def test_a_branch_may_hand_on_what_is_outside() -> None:
    weight, state = hw.randn(2, 2), hw.randn(1, 2)

    @hw.compile
    def f(x):
        y, turned = x * 2, weight.t()
        return hw.cond(x.sum() > 0, lambda: (y, state, turned), lambda: (x, x, turned + 1))

    for x in (hw.ones(1, 2), -hw.ones(1, 2)):
        wanted = (x * 2, state, weight.t()) if x.sum() > 0 else (x, x, weight.t() + 1)
        assert all((a == b).all() for a, b in zip(f(x), wanted))
