"""What a compiled function returns where that is no new memory: its arguments, views of them, other dtypes of the same bytes."""

from __future__ import annotations

import pytest

import headwater as hw


def test_view_of_an_argument_is_a_tensor_of_its_own():
    """The argument itself must stay the leaf that it is."""
    x = hw.ones(1, 3, 1).requires_grad_()
    y = hw.compile(lambda x: hw.squeeze(x, 1))(x)
    assert y is not x and not y.is_leaf
    assert x.is_leaf and x.grad_fn is None
    y.sum().backward()
    assert x.grad.tolist() == hw.ones(1, 3, 1).tolist()


def test_an_argument_is_itself():
    x = hw.ones(3).requires_grad_()
    assert hw.compile(lambda x: x)(x) is x


def test_other_dtype_of_an_argument():
    x = hw.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])[1:].requires_grad_()
    y = hw.compile(hw.view_as_complex)(x)
    assert y.dtype is hw.complex64 and y.tolist() == [3 + 4j, 5 + 6j]
    hw.view_as_real(y).sum().backward()
    z = hw.tensor([1 + 2j, 3 + 4j, 5 + 6j])[1:]
    shown = hw.compile(hw.view_as_real)(z)
    assert shown.dtype is hw.float32 and shown.tolist() == [[3.0, 4.0], [5.0, 6.0]]
    shown.zero_()
    assert z.tolist() == [0j, 0j]


def test_gradient_that_shows_the_incoming_one_with_another_dtype():
    x = hw.tensor([1 + 2j, 3 + 4j]).requires_grad_()
    y = hw.compile(hw.view_as_real)(x)
    y.backward(hw.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert x.grad.tolist() == [1 + 2j, 3 + 4j]


def test_complaint_about_data_is_of_eager_kind():
    with pytest.raises(RuntimeError, match="a probability is not in"):
        hw.compile(lambda p: hw.bernoulli(p))(hw.tensor([2.0]))
    with pytest.raises(IndexError, match="out of range"):
        hw.compile(lambda i: hw.ones(3)[i])(hw.tensor([5]))


def test_one_hot_and_masked_fill_need_no_data():
    assert hw.compile(lambda i: hw.one_hot(i, 3))(hw.tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    fill = hw.compile(lambda x, v: x.masked_fill(x > 1, v))
    assert fill(hw.tensor([1.0, 2.0]), hw.tensor(7)).tolist() == [1.0, 7.0]


@pytest.mark.parametrize("dtype", [hw.float32, hw.bfloat16])
def test_text_of_a_tensor_that_outlived_its_capture(dtype):
    kept = []

    @hw.compile
    def keeps(x):
        kept.append(x * 2)
        raise ValueError

    with pytest.raises(ValueError):
        keeps(hw.ones(3, dtype=dtype))
    with pytest.raises(RuntimeError, match="outlived the capture"):
        repr(kept[0])


def test_view_of_a_parameter_has_its_history():
    """Alone, beside a loss, and beside a loss whose backward pass ran inside."""
    for inside in (False, True):
        for compiled in (False, True):
            p = hw.ones(5, 2).requires_grad_()

            def f(x, p=p, inside=inside):
                loss = (p * x).sum()
                if inside:
                    loss.backward()
                return p[1:], p.t(), loss.detach() if inside else loss

            run = hw.compile(f) if compiled else f
            for calls in range(1, 4):
                tail, turned, loss = run(hw.ones(2))
                assert tail.requires_grad and turned.requires_grad and not tail.is_leaf
                (tail.sum() * 2 + turned[0].sum() * 3 + (0 if inside else loss)).backward()
                assert p.grad.tolist() == [[4.0 * calls, calls]] + [[6.0 * calls, 3.0 * calls]] * 4
                with hw.no_grad():
                    assert tail.data_ptr() == p.data_ptr() + 8
