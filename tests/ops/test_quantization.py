"""Quantising operators: against NumPy, against torch's fake quantisation, and the gradients of the published formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headwater as hw
from harness import FLOATS, Sample, fixed, integers, op_test, randn, uniform

F32 = np.float32
RANGES = {hw.uint8: (0, 255), hw.int8: (-128, 127), hw.int16: (-32768, 32767), hw.int32: (-2147483648, 2147483647)}


def spread(steps: Any, x: np.ndarray, axis: int | None) -> np.ndarray:
    steps = np.asarray(steps)
    return steps.reshape(()) if axis is None else steps.reshape([-1 if a == axis % x.ndim else 1 for a in range(x.ndim)])


def rounded(x: np.ndarray, scale: Any, zero: Any, axis: int | None, low: int, high: int) -> np.ndarray:
    work = np.float64 if x.dtype == np.float64 else np.float32
    steps = np.rint(x.astype(work) / spread(scale, x, axis).astype(work)).astype(np.float64)
    zero = 0 if zero is None else spread(zero, x, axis).astype(np.float64)
    return np.clip(np.where(np.isnan(steps), 0, steps) + zero, low, high)



def quantize(x: np.ndarray, scale: Any, zero: Any = None, *, axis: int | None = None, dtype: Any = None, quant_min: int | None = None,
             quant_max: int | None = None) -> np.ndarray:
    dtype = dtype or (getattr(hw, np.asarray(zero).dtype.name) if zero is not None else hw.uint8)
    low, high = RANGES[dtype]
    low, high = low if quant_min is None else quant_min, high if quant_max is None else quant_max
    return rounded(x, scale, zero, axis, low, high).astype(dtype.name)


def dequantize(x: np.ndarray, scale: Any, zero: Any = None, *, axis: int | None = None) -> np.ndarray:
    zero = 0 if zero is None else spread(zero, x, axis).astype(np.float64)
    return (x - zero).astype(F32) * spread(scale, x, axis)


def fake(x: np.ndarray, scale: Any, zero: Any = None, *, axis: int | None = None, quant_min: int, quant_max: int) -> np.ndarray:
    made = rounded(x, scale, zero, axis, quant_min, quant_max) - (0 if zero is None else spread(zero, x, axis))
    return np.where(np.isnan(x), x, made * spread(scale, x, axis))


def scales(*shape: int) -> Any:
    """Powers of two times 3: dividing by them is not exact, and no sample meets a tie by accident."""
    return fixed((2.0 ** integers(-7, -3, *shape) * 1.5).astype(F32))


def float_samples(**extra: Any) -> list[Sample]:
    i8, u8 = np.int8, np.uint8
    return [Sample(randn(3, 5), scales(), **extra),
            Sample(randn(2, 3, 37), scales(), fixed(np.asarray(3, i8)), **extra),
            Sample(randn(4, 33), scales(4), fixed(integers(-9, 9, 4).astype(i8)), axis=0, **extra),
            Sample(randn(2, 3, 4, 5), scales(3), fixed(integers(90, 150, 3).astype(u8)), axis=1, **({**extra, **UNSIGNED} if extra else {})),
            Sample(randn(6, 3), scales(3), axis=-1, **extra),
            Sample(randn(), scales(), **extra), Sample(randn(0, 3), scales(), **extra),
            Sample(randn(1000), scales(1), fixed(np.asarray([5], i8)), **extra)]


UNSIGNED = {"quant_min": 0, "quant_max": 255}
SPECIAL = np.array([0.25, 0.75, -0.25, -0.75, 1.25, np.inf, -np.inf, np.nan, 1e30, -1e30] * 3, np.float64)


def quantize_samples() -> list[Sample]:
    return [*float_samples(), Sample(SPECIAL, fixed(F32(0.5)), dtype=hw.int8), Sample(SPECIAL, fixed(F32(0.5)), fixed(np.uint8(128))),
            Sample(randn(5, 7) * 3, scales(), dtype=hw.int8, quant_min=-8, quant_max=7),
            Sample(randn(5, 7), scales(), dtype=hw.int16), Sample(randn(5, 70), fixed(F32(1.5e-7)), dtype=hw.int32, sample_dtypes=("float32", "float64")),
            Sample(randn(40), scales(), fixed(np.int32(1 << 28)), dtype=hw.int8)]


op_test("quantize_linear", numpy=quantize, samples=quantize_samples, dtypes=FLOATS,
        errors=[(lambda hw: hw.quantize_linear(hw.ones(2, 3), hw.ones(3)), RuntimeError, "but axis is None, which takes one scale"),
                (lambda hw: hw.quantize_linear(hw.ones(2, 3), hw.ones(3), axis=0), RuntimeError, "axis 0 of the input has 2 indices"),
                (lambda hw: hw.quantize_linear(hw.ones(2, 3), hw.ones(3), hw.tensor(0), axis=1), RuntimeError, "Give one for each scale"),
                (lambda hw: hw.quantize_linear(hw.ones(2), hw.tensor(0.1), dtype=hw.float32), TypeError, "must be uint8, int8, int16"),
                (lambda hw: hw.quantize_linear(hw.ones(2), hw.tensor(0.1), quant_min=-8), ValueError, "do not fit into u8"),
                (lambda hw: hw.quantize_linear(hw.ones(2), hw.tensor(0.1), quant_min=9, quant_max=9), ValueError, "must be below quant_max"),
                (lambda hw: hw.quantize_linear(hw.ones(2), hw.ones(2), axis=1), IndexError, "1")])


def integer_samples() -> list[Sample]:
    return [Sample(integers(0, 100, 3, 5), scales()), Sample(integers(0, 100, 3, 45), scales(), fixed(np.int8(7))),
            Sample(integers(0, 100, 4, 33), scales(4), fixed(integers(0, 99, 4)), axis=0),
            Sample(integers(0, 100, 2, 3, 4), scales(3), fixed(integers(0, 99, 3).astype(np.uint8)), axis=1),
            Sample(integers(0, 100), scales()), Sample(integers(0, 100, 0), scales()), Sample(integers(-128, 128, 300), scales(), sample_dtypes=("int8",))]


op_test("dequantize_linear", numpy=dequantize, samples=integer_samples, dtypes=("uint8", "int8", "int16", "int32"),
        errors=[(lambda hw: hw.dequantize_linear(hw.ones(2), hw.tensor(0.1)), TypeError, "input")])
op_test("fake_quantize", numpy=fake, dtypes=FLOATS,
        samples=lambda: [*float_samples(quant_min=-128, quant_max=127), Sample(SPECIAL[:7], fixed(F32(0.5)), quant_min=-3, quant_max=3),
                         Sample(randn(9, 70), scales(), quant_min=-8, quant_max=7)],
        errors=[(lambda hw: hw.fake_quantize(hw.ones(2), hw.tensor(0.1), quant_min=3, quant_max=1), ValueError, "must be below")])
op_test("fake_quantize_per_tensor_affine", torch=torch.fake_quantize_per_tensor_affine, dtypes=("float32",),
        samples=lambda: [Sample(uniform(-4, 4, 7, 33), 0.037, 3, -128, 127), Sample(uniform(-4, 4, 50), 0.03, 128, 0, 255),
                         Sample(randn(9), fixed(F32(0.3)), fixed(np.int32(0)), -8, 7)])
op_test("fake_quantize_per_channel_affine", torch=torch.fake_quantize_per_channel_affine, dtypes=("float32",),
        samples=lambda: [Sample(uniform(-4, 4, 5, 33), fixed(uniform(0.01, 0.1, 5).astype(F32)), fixed(integers(-9, 9, 5).astype(np.int32)), 0, -128, 127),
                         Sample(uniform(-4, 4, 2, 3, 4, 4), fixed(uniform(0.01, 0.1, 3).astype(F32)), fixed(np.zeros(3, np.int32)), 1, -8, 7)])


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("zero", [0, 5])
def test_gradients_are_those_of_torch_learnable(axis: int | None, zero: int) -> None:
    rng = np.random.default_rng(1)
    x, dy = rng.normal(0, 2, (3, 40)).astype(F32), rng.normal(size=(3, 40)).astype(F32)
    count = 1 if axis is None else x.shape[axis]
    step = rng.uniform(0.01, 0.3, count).astype(F32)
    zeros = np.full(count, zero, np.int32)
    a, s = hw.tensor(x, requires_grad=True), hw.tensor(step if axis is not None else step[0], requires_grad=True)
    y = hw.fake_quantize(a, s, hw.tensor(zeros if axis is not None else zeros[0]), axis=axis, quant_min=-16, quant_max=15)
    y.backward(hw.tensor(dy))
    ta, ts, tz = (torch.tensor(v, requires_grad=True) for v in (x, step, zeros.astype(F32)))
    if axis is None:
        ty = torch._fake_quantize_learnable_per_tensor_affine(ta, ts, tz, -16, 15, 1.0)
    else:
        ty = torch._fake_quantize_learnable_per_channel_affine(ta, ts, tz, axis, -16, 15, 1.0)
    ty.backward(torch.tensor(dy))
    np.testing.assert_allclose(y.detach().numpy(), ty.detach().numpy(), rtol=1e-6)
    np.testing.assert_array_equal(a.grad.numpy(), ta.grad.numpy())
    np.testing.assert_allclose(s.grad.numpy().reshape(-1), ts.grad.numpy(), rtol=2e-4, atol=2e-4)


def test_gradient_of_the_scale_of_dequantize_linear() -> None:
    q, scale = hw.tensor([[1, -3], [7, 2]], dtype=hw.int8), hw.tensor([0.5, 0.25], requires_grad=True)
    zero = hw.tensor([1, 2], dtype=hw.int8)
    dy = hw.tensor([[1.0, 2.0], [3.0, -1.0]])
    hw.dequantize_linear(q, scale, zero, axis=0).backward(dy)
    assert scale.grad.tolist() == [0 * 1 + -4 * 2, 5 * 3 + 0 * -1]
    one = hw.tensor(0.5, requires_grad=True)
    hw.dequantize_linear(q, one, hw.tensor(1, dtype=hw.int8)).backward(dy)
    assert one.grad.item() == 0 + -4 * 2 + 6 * 3 + 1 * -1


def test_quantize_keeps_channels_last() -> None:
    x = hw.permute(hw.arange(2 * 4 * 5 * 3).reshape(2, 4, 5, 3).to(hw.float32), (0, 3, 1, 2))
    q = hw.quantize_linear(x, hw.tensor(1.0), dtype=hw.uint8)
    assert q.stride() == x.stride()
    assert hw.dequantize_linear(q, hw.tensor(1.0)).stride() == x.stride()
    np.testing.assert_array_equal(q.numpy(), x.numpy().astype(np.uint8))


def test_compiled_is_eager() -> None:
    def f(x: hw.Tensor, scale: hw.Tensor) -> hw.Tensor:
        q = hw.quantize_linear(x, scale, dtype=hw.int8)
        return hw.dequantize_linear(q, scale) + hw.fake_quantize(x, scale, quant_min=-8, quant_max=7)

    x, scale = hw.randn(7, 33), hw.tensor(0.03)
    compiled = hw.compile(f)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x, scale).numpy(), f(x, scale).numpy())
