"""Linear layers between dequantised operands, compiled: in integers, as the floats that the graph says but for one rounding."""
import numpy as np
import pytest

import headwater as hw
from headwater import nn


class QuantLinear(nn.Module):
    """The interchange form: quantise, dequantise, a float layer, quantise the result."""

    def __init__(self, k, n, *, dtype=hw.uint8, zero=True, rows=True, bias=True, relu=False, out=True):
        super().__init__()
        rng = np.random.default_rng(k * n)
        low, high = (0, 255) if dtype == hw.uint8 else (-128, 127)
        self.register_buffer("scale", hw.tensor(0.03))
        self.register_buffer("zero", hw.tensor(int(rng.integers(low, high)), dtype=dtype) if zero else None)
        self.register_buffer("weight", hw.tensor(rng.integers(-127, 128, (n, k)).astype(np.int8)))
        self.register_buffer("weight_scale", hw.tensor(rng.uniform(0.001, 0.01, n if rows else ()).astype(np.float32)))
        self.register_buffer("bias", hw.randn(n) if bias else None)
        self.register_buffer("out_scale", hw.tensor(0.05))
        self.register_buffer("out_zero", hw.tensor(7, dtype=dtype))
        self.dtype, self.relu, self.out, self.axis = dtype, relu, out, 0 if rows else None

    def forward(self, x):
        q = hw.quantize_linear(x, self.scale, self.zero, dtype=self.dtype)
        y = nn.functional.linear(hw.dequantize_linear(q, self.scale, self.zero),
                                 hw.dequantize_linear(self.weight, self.weight_scale, axis=self.axis), self.bias)
        if self.relu:
            y = y.relu()
        return hw.quantize_linear(y, self.out_scale, self.out_zero) if self.out else y


def both(module, x):
    with hw.no_grad():
        forward = hw.compile(module)
        fast = forward(x)
        return module(x), fast, [op for op, _, _ in forward.variants[0].program.steps()]


@pytest.mark.parametrize("dtype", [hw.uint8, hw.int8])
@pytest.mark.parametrize("options", [{}, {"zero": False}, {"rows": False}, {"bias": False}, {"relu": True}, {"out": False},
                                     {"out": False, "bias": False, "relu": True}])
def test_as_the_floats(dtype, options):
    hw.manual_seed(0)
    module = QuantLinear(70, 45, dtype=dtype, **options).eval()
    plain, fast, ops = both(module, hw.randn(3, 9, 70))
    assert "_linear_int8" in ops and "linear" not in ops
    assert fast.dtype == plain.dtype and fast.shape == plain.shape
    if fast.dtype == hw.float32:
        np.testing.assert_allclose(fast.numpy(), plain.numpy(), rtol=1e-5, atol=1e-5)
    else:
        steps = np.abs(fast.numpy().astype(int) - plain.numpy().astype(int))
        assert steps.max() <= 1 and (steps > 0).mean() < 0.01 and len(np.unique(plain.numpy())) > 20


def test_chained_layers_stay_in_bytes():
    hw.manual_seed(0)
    first, second = QuantLinear(64, 96, relu=True), QuantLinear(96, 32, out=False)
    second.scale, second.zero = first.out_scale, first.out_zero

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = first, second

        def forward(self, x):
            y = hw.dequantize_linear(self.first(x), self.first.out_scale, self.first.out_zero)
            return self.second(y)

    plain, fast, ops = both(Two().eval(), hw.randn(8, 64))
    assert ops.count("_linear_int8") == 2
    np.testing.assert_allclose(fast.numpy(), plain.numpy(), rtol=0, atol=0.03)


def test_new_weights_and_scales_count():
    hw.manual_seed(0)
    module = QuantLinear(64, 32, out=False).eval()
    x = hw.randn(4, 64)
    with hw.no_grad():
        forward = hw.compile(module)
        before = forward(x).numpy()
        module.weight.copy_(-module.weight)
        module.weight_scale.mul_(2)
        after, plain = forward(x).numpy(), module(x).numpy()
    np.testing.assert_allclose(after, plain, rtol=1e-5, atol=1e-5)
    assert np.abs(after - before).max() > 0.1


def test_training_stays_in_floats():
    module = QuantLinear(64, 32, out=False)
    x = hw.randn(4, 64, requires_grad=True)

    @hw.compile
    def step(x):
        y = nn.functional.linear(hw.dequantize_linear(module.weight, module.weight_scale, axis=0), x)
        y.sum().backward()
        return y

    step(x)
    assert "_linear_int8" not in [op for op, _, _ in step.variants[0].program.steps()]
