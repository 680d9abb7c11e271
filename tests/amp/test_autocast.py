"""autocast as a context and a decorator; which ops change precision; training under it."""

import threading

import numpy as np
import pytest

import headwater as hw
from headwater.amp import autocast, get_autocast_dtype, is_autocast_enabled


def test_context_and_nesting():
    x = hw.ones(4, 4)
    assert (x @ x).dtype == hw.float32
    with autocast("cpu"):
        assert is_autocast_enabled()
        assert (x @ x).dtype == hw.bfloat16
        with autocast("cpu", dtype=hw.float16):
            assert get_autocast_dtype() == hw.float16
            assert (x @ x).dtype == hw.float16
            with autocast("cpu", enabled=False):
                assert (x @ x).dtype == hw.float32
        assert (x @ x).dtype == hw.bfloat16
    assert not is_autocast_enabled()
    assert (x @ x).dtype == hw.float32


def test_an_error_leaves_the_region():
    with pytest.raises(KeyError), autocast("cpu"):
        raise KeyError
    assert not is_autocast_enabled()


def test_one_object_can_be_entered_twice():
    region = autocast("cpu")
    with region, region:
        pass
    assert not is_autocast_enabled()


def test_decorator():
    @autocast("cpu", dtype=hw.bfloat16)
    def product(x, scale=1):
        """Doc."""
        return x @ x * scale

    assert product(hw.ones(2, 2), scale=2).dtype == hw.bfloat16
    assert product.__doc__ == "Doc."
    assert hw.autocast is autocast
    with pytest.raises(TypeError, match="generator"):

        @autocast("cpu")
        def numbers():
            yield 1


def test_classes_of_ops():
    x, half = hw.ones(4, 4), hw.ones(4, 4, dtype=hw.bfloat16)
    with autocast("cpu"):
        assert (x + x).dtype == hw.float32
        assert half.sum().dtype == hw.float32
        assert hw.cat([x, half]).dtype == hw.float32
        assert (x.double() @ x.double()).dtype == hw.float64
        assert hw.nn.functional.linear(x, x, x[0]).dtype == hw.bfloat16


def test_only_this_thread():
    seen = []
    with autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(is_autocast_enabled()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_gradients_have_the_dtype_of_the_parameters():
    w = hw.tensor(np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)).requires_grad_()
    x = hw.tensor(np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32))
    (x @ w).sum().backward()
    exact, w.grad = w.grad, None
    with autocast("cpu"):
        loss = (x @ w).float().sum()
    loss.backward()
    assert w.grad.dtype == hw.float32
    np.testing.assert_allclose(w.grad.numpy(), exact.numpy(), rtol=0.03, atol=0.05)


def test_errors():
    with pytest.raises(RuntimeError, match="available on 'cpu'"):
        autocast("cuda")
    with pytest.raises(TypeError, match="bfloat16 or float16"):
        autocast("cpu", dtype=hw.float64)


def test_in_place_operations():
    x = hw.ones(2, 2)
    with autocast("cpu"):
        x.copy_(hw.full((2, 2), 2.0))
        x.add_(1).mul_(2)
        hw.nn.init.uniform_(hw.empty(3))
        y = hw.zeros(2, 2).addcmul_(x, x)
        layer = hw.nn.Linear(2, 2)
    assert x.tolist() == [[6.0, 6.0], [6.0, 6.0]] and y.tolist() == [[36.0, 36.0], [36.0, 36.0]]
    assert layer.weight.dtype == hw.float32
