"""In-place writes whose operands show the memory that is written: the result is as if the operands were read first."""

import random

import numpy as np
import pytest

import headwater as hw

CASES = {  # what is written, what is read
    "add_ shifted": lambda w, b: w[1:].add_(b[:-1]),
    "add_ transposed": lambda w, b: w.add_(b.t()),
    "copy_ transposed": lambda w, b: w.copy_(b.t()),
    "mul_ first row": lambda w, b: w.mul_(b[0]),
    "sub_ first column": lambda w, b: w.sub_(b[:, :1]),
    "div_ an element": lambda w, b: w.div_(b[1, 2]),
    "assign shifted": lambda w, b: w.__setitem__(slice(1, None), b[:-1]),
    "assign reversed": lambda w, b: w.__setitem__(hw.arange(7, -1, -1), b),
    "lerp_": lambda w, b: w.lerp_(b.t(), 0.5),
    "addcmul_": lambda w, b: w.addcmul_(b.t(), b[0]),
    "clamp_": lambda w, b: w.clamp_(b[1], b[6]),
    "masked_fill_": lambda w, b: w.masked_fill_(b > 5, b[3, 3]),
    "fill_": lambda w, b: w.fill_(b[3, 3]),
    "index_add_": lambda w, b: w.index_add_(0, hw.arange(7, -1, -1), b),
    "index_copy_": lambda w, b: w.index_copy_(0, hw.arange(7, -1, -1), b),
    "scatter_": lambda w, b: w.scatter_(0, (b.long() % 8).t(), b),
    "scatter_add_ itself": lambda w, b: w.view(-1).scatter_add_(0, hw.arange(63, -1, -1), b.view(-1)),
    "masked_scatter_": lambda w, b: w.masked_scatter_(b > 20, b),
    "columns": lambda w, b: w[:, :4].add_(b[:, 4:]),
    "every other": lambda w, b: w.view(-1)[::2].mul_(b.view(-1)[1::2]),
    "other dtype": lambda w, b: w.view(hw.int32).copy_(b.view(hw.int32).t()),
}


@pytest.mark.parametrize("name", CASES)
def test_operands_are_read_before_the_write(name):
    x = hw.arange(64.0).reshape(8, 8) + 1
    want, before = x.clone(), x.clone()
    CASES[name](x, x)
    CASES[name](want, before)
    assert x.tolist() == want.tolist()


def test_arrays_shared_twice_overlap_too():
    array = np.arange(100.0)
    a, b = hw.from_numpy(array), hw.from_numpy(array)
    a[1:].add_(b[:-1])
    assert array.tolist() == [0.0, *(2 * np.arange(1, 100.0) - 1)]


def test_random_views():
    r = random.Random(5)
    views = [
        lambda b: b, lambda b: b.t(), lambda b: b[0], lambda b: b[:, :1], lambda b: b[1:], lambda b: b[:-1],
        lambda b: b[:, 1:], lambda b: b[:, :-1], lambda b: b.view(-1)[1:], lambda b: b.view(-1)[:-1],
        lambda b: b[::2, ::2], lambda b: b[1::2, 1::2], lambda b: b[2, 2],
    ]  # fmt: skip
    compared = 0
    for _ in range(600):
        n = r.choice((6, 40))
        base = (hw.arange(n * n) % 7 + 1).to(r.choice((hw.float32, hw.int64, hw.float16))).reshape(n, n)
        first, second = r.choice(views), r.choice(views)
        op = r.choice(("add_", "mul_", "sub_", "copy_", "fmod_", "eq_"))
        mine, plain = base.clone(), base.clone()
        try:
            getattr(first(plain), op)(second(base))
        except RuntimeError:  # shapes that do not broadcast
            continue
        getattr(first(mine), op)(second(mine))
        assert mine.tolist() == plain.tolist(), (op, n)
        compared += 1
    assert compared > 100


def test_gradients_flow_through_the_copy():
    x = hw.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    y[1:].mul_(y[:-1])
    y.sum().backward()
    assert x.grad.tolist() == [3, 4, 2]


def test_one_value_may_be_written_to_expanded_memory():
    x = hw.ones(1, 3).expand(4, 3)
    x.zero_()
    assert x.sum().item() == 0
    x.fill_(2)
    assert x.sum().item() == 24
    with pytest.raises(RuntimeError, match=r"zero_: .*read-only"):
        array = np.ones(3)
        array.flags.writeable = False
        hw.from_numpy(array).zero_()
