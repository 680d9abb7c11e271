"""The operands of hw.cond and hw.while_loop: one given twice, one closed over as well, and sizes that change."""

from __future__ import annotations

import pytest
from same import array

import headwater as hw


def both(function, *args):
    """Gradients and results of a compiled and of an eager call."""
    found = []
    for run in (hw.compile(function), function):
        own = [a.detach().clone().requires_grad_(a.requires_grad) for a in args]
        y = run(*own)
        if y.requires_grad:
            y.sum().backward()
        found.append([array(y).tolist(), *(None if a.grad is None else array(a.grad).tolist() for a in own)])
    return found


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_operand_given_twice(sign):
    x = (hw.arange(3).float() + 1).mul(sign).requires_grad_()
    got, want = both(lambda x: hw.cond(x.sum() > 0, lambda p, q: p * p * q, lambda p, q: p + 3 * q, (x, x)), x)
    assert got == want


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_operand_that_is_closed_over_as_well(sign):
    x = (hw.arange(3).float() + 1).mul(sign).requires_grad_()
    got, want = both(lambda x: hw.cond(x.sum() > 0, lambda p: p * x, lambda p: p + x * x, (x,)), x)
    assert got == want


def test_a_loop_that_closes_over_what_it_carries():
    got, want = both(lambda x: hw.while_loop(lambda v, w: v.sum() < 50, lambda v, w: (v + x, w + v), (x, x))[1], hw.arange(3).float())
    assert got == want


def test_branches_and_loops_for_any_size():
    @hw.compile
    def f(x):
        y = hw.cond(x.sum() > 0, lambda p: p / p.shape[0], lambda p: p.t().contiguous().t() * 2, (x,))
        return hw.while_loop(lambda v: v.sum() < 50, lambda v: (v + y.abs() + 1,), (y,))[0]

    for rows in (3, 5, 2, 7):
        x = hw.ones(rows, 2) * (-1 if rows == 2 else 1)
        assert array(f(x)).tolist() == array(f.__wrapped__(x)).tolist()
    assert f.captures == 2
