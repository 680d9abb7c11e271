"""Elementwise ops of one tensor against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import headwater as hw
from harness import ALL, BOOL, COMPLEX, FLOATS, INTS, Sample, fixed, integers, op_test, randn, uniform

REAL = FLOATS + INTS
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-30, 1e30]


def special() -> np.ndarray:
    """NaN, infinities, zeros, tiny and huge values."""
    return np.array(SPECIAL)


def plain(*extra: Any, low: float | None = None, high: float = 1.0, **kwargs: Any) -> list[Sample]:
    """The shapes every unary op is tried on: 2-d, larger than a vector and odd, empty, 0-d; values from [low, high] if given."""
    make = randn if low is None else lambda *shape: uniform(low, high, *shape)
    return [Sample(make(3, 5), *extra, **kwargs), Sample(make(67), *extra, **kwargs), Sample(make(2, 0), *extra, **kwargs),
            Sample(make(), *extra, **kwargs)]


def with_special(*extra: Any, **kwargs: Any) -> list[Sample]:
    return [*plain(*extra, **kwargs), Sample(special(), *extra, sample_dtypes=FLOATS, sample_grad=False, **kwargs)]


SMOOTH = {"grad": True, "grad2": True}
LOOSE = {"float32": 4e-5, "complex64": 4e-5, "float64": 1e-9}

# ---------------------------------------------------------------- exponentials, logarithms, powers
for name in ("exp", "exp2", "expm1", "sin", "cos", "sinh", "cosh", "tanh", "asinh", "atan", "sigmoid"):
    op_test(name, torch=getattr(torch, name), dtypes=FLOATS + INTS + BOOL + (COMPLEX if name != "exp2" else ()),
            samples=(lambda: plain()) if name in ("sinh", "cosh", "asinh", "atan") else (lambda: [*plain(), Sample(
                special(), sample_dtypes=FLOATS, sample_grad=False)]), **SMOOTH, tol=LOOSE)
for name in ("log", "log2", "log10", "sqrt", "rsqrt", "reciprocal"):
    op_test(name, torch=getattr(torch, name), samples=lambda: [
        *plain(low=0.2, high=3.0), Sample(special(), sample_dtypes=FLOATS, sample_grad=False)], dtypes=FLOATS + COMPLEX + INTS,
        **SMOOTH, tol=LOOSE)
op_test("log1p", torch=torch.log1p, samples=lambda: [*plain(low=-0.8, high=2.0), Sample(np.array([1e-12, -1e-12, 0.0]))],
        dtypes=FLOATS + COMPLEX, **SMOOTH, tol=LOOSE)
op_test("square", torch=torch.square, samples=with_special, dtypes=FLOATS + COMPLEX + INTS, **SMOOTH)
op_test("tan", torch=torch.tan, samples=lambda: plain(low=-1.2, high=1.2), dtypes=FLOATS + COMPLEX + INTS, **SMOOTH, tol=LOOSE)
for name in ("asin", "acos", "atanh"):
    op_test(name, torch=getattr(torch, name), samples=lambda: plain(low=-0.9, high=0.9), dtypes=FLOATS + COMPLEX + INTS,
            **SMOOTH, tol=LOOSE)
op_test("acosh", torch=torch.acosh, samples=lambda: plain(low=1.1, high=4.0), dtypes=FLOATS + COMPLEX, **SMOOTH, tol=LOOSE)

# ---------------------------------------------------------------- special functions
op_test("erf", torch=torch.erf, samples=with_special, dtypes=REAL, **SMOOTH)
op_test("erfc", torch=torch.erfc, samples=lambda: [*with_special(), Sample(uniform(2, 9, 20))], dtypes=REAL, **SMOOTH)
op_test("erfinv", torch=torch.erfinv, samples=lambda: [*plain(low=-0.95, high=0.95), Sample(np.array([-1.0, 1.0, 0.0, 1.5]), sample_grad=False)],
        dtypes=FLOATS, **SMOOTH, tol=LOOSE)
op_test("lgamma", torch=torch.lgamma, samples=lambda: [*plain(low=0.3, high=6), Sample(np.array([-0.5, -1.7, 30.0]))],
        dtypes=FLOATS + INTS, grad=True, tol=LOOSE)
op_test("digamma", torch=torch.digamma, samples=lambda: [*plain(low=0.3, high=6), Sample(np.array([-0.5, -1.7, 30.0]))],
        dtypes=FLOATS, grad=True, tol=LOOSE)
op_test("sinc", torch=torch.sinc, samples=lambda: [*plain(), Sample(np.array([0.0, 1.0]), sample_grad=False)], dtypes=FLOATS + INTS,
        **SMOOTH, tol=LOOSE)
op_test("logit", torch=torch.logit, samples=lambda: [*plain(low=0.1, high=0.9), Sample(uniform(0.01, 0.99, 9), eps=0.2), Sample(uniform(0.1, 0.9, 3), eps=1.0, sample_grad=False),
                                                    Sample(np.array([-0.5, 0.0, 1.0, 1.5]), sample_grad=False)], dtypes=FLOATS, **SMOOTH)

# ---------------------------------------------------------------- rounding, sign, parts
for name in ("ceil", "floor", "trunc"):
    op_test(name, torch=getattr(torch, name), samples=with_special, dtypes=REAL, grad=True)
op_test("round", torch=torch.round, samples=lambda: [
    *with_special(), Sample(np.array([0.5, 1.5, 2.5, -0.5, -1.5]), sample_grad=False), Sample(randn(8), decimals=1, sample_dtypes=("float32", "float64")),
    Sample(np.array([123.0, 155.0]), decimals=-1, sample_grad=False, sample_dtypes=("float32", "float64"))], dtypes=REAL, grad=True)
op_test("frac", torch=torch.frac, samples=plain, dtypes=FLOATS, grad=True)
op_test("abs", torch=torch.abs, samples=lambda: [*with_special(), Sample(fixed(np.array([-128, 127], dtype=np.int8)))],
        dtypes=REAL + COMPLEX, grad=True)
op_test("sign", torch=torch.sign, samples=lambda: [*plain(), Sample(np.array([0.0, -2.0, np.inf]), sample_grad=False)], dtypes=REAL + BOOL, grad=True)
op_test("sgn", torch=torch.sgn, samples=lambda: [*plain(), Sample(np.array([0.0, -2.0]), sample_grad=False)], dtypes=ALL, grad=True)
op_test("neg", torch=torch.neg, samples=with_special, dtypes=REAL + COMPLEX, **SMOOTH,
        errors=[(lambda hw: hw.neg(hw.tensor([True])), TypeError, "neg(")])
op_test("positive", torch=torch.positive, samples=plain, dtypes=REAL + COMPLEX, grad=True,
        errors=[(lambda hw: hw.positive(hw.tensor([True])), TypeError, "positive(")])
op_test("deg2rad", torch=torch.deg2rad, samples=plain, dtypes=REAL, grad=True)
op_test("rad2deg", torch=torch.rad2deg, samples=plain, dtypes=REAL, grad=True)
op_test("real", torch=torch.real, samples=plain, dtypes=ALL, grad=True)
op_test("imag", torch=torch.imag, samples=plain, dtypes=COMPLEX, grad=False,
        errors=[(lambda hw: hw.imag(hw.tensor([1.0])), TypeError, "imag(")])
op_test("conj", torch=torch.conj_physical, samples=plain, dtypes=ALL, grad=True)
op_test("angle", torch=torch.angle, samples=lambda: [*plain(), Sample(np.array([np.nan, -0.0, 0.0]), sample_dtypes=FLOATS, sample_grad=False)],
        dtypes=REAL + COMPLEX, grad=True)

# ---------------------------------------------------------------- tests of one value
for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"):
    op_test(name, torch=getattr(torch, name), samples=with_special,
            dtypes=ALL if name in ("isnan", "isinf", "isfinite") else REAL + BOOL)
op_test("logical_not", torch=torch.logical_not, samples=lambda: [*with_special(), Sample(np.array([0.0, 1.0, -1.0]))], dtypes=ALL)
op_test("bitwise_not", torch=torch.bitwise_not, samples=lambda: [Sample(integers(-9, 9, 5, 3)), Sample(integers(0, 9)), Sample(integers(0, 9, 0))],
        dtypes=INTS + BOOL, errors=[(lambda hw: hw.bitwise_not(hw.tensor([1.0])), TypeError, "integer dtype or bool")])
op_test("nan_to_num", torch=torch.nan_to_num, samples=lambda: [*with_special(), Sample(special(), nan=1.5, posinf=2.0, neginf=-3.0, sample_grad=False),
                                                              Sample(special(), 4.0, sample_grad=False)], dtypes=REAL + BOOL, grad=True)

# ---------------------------------------------------------------- activations
op_test("relu", torch=torch.relu, samples=with_special, dtypes=REAL, **SMOOTH)
op_test("relu6", torch=F.relu6, samples=lambda: [*with_special(), Sample(uniform(4, 8, 9))], dtypes=FLOATS, **SMOOTH)
op_test("hardtanh", torch=F.hardtanh, samples=lambda: [*with_special(), Sample(randn(9), -0.3, 0.7)], dtypes=FLOATS + ("int64",), grad=True, grad2=True,
        errors=[(lambda hw: hw.hardtanh(hw.tensor([1.0]), 2, 1), ValueError, "min_val must not be above max_val, got 2 and 1")])
op_test("silu", torch=F.silu, samples=plain, **SMOOTH)
op_test("gelu", torch=F.gelu, samples=lambda: [*plain(), Sample(randn(3, 5), approximate="tanh"), Sample(np.array([-20.0, 20.0, 0.0]))], **SMOOTH,
        errors=[(lambda hw: hw.gelu(hw.tensor([1.0]), approximate="fast"), ValueError, "approximate must be 'none' or 'tanh', got 'fast'")])
op_test("softplus", torch=F.softplus, samples=lambda: [*plain(), Sample(randn(9), 2.0, 1.0), Sample(np.array([-50.0, 50.0]))], **SMOOTH)
op_test("elu", torch=F.elu, samples=lambda: [*plain(), Sample(randn(9), 0.5), Sample(np.array([-50.0, 50.0]))], **SMOOTH)
op_test("selu", torch=F.selu, samples=plain, **SMOOTH)
op_test("celu", torch=F.celu, samples=lambda: [*plain(), Sample(randn(9), 0.5)], **SMOOTH,
        errors=[(lambda hw: hw.celu(hw.tensor([1.0]), 0), RuntimeError, "alpha cannot be 0 or NaN, got 0")])
op_test("leaky_relu", torch=F.leaky_relu, samples=lambda: [*plain(), Sample(randn(9), 0.3)], **SMOOTH)
op_test("hardsigmoid", torch=F.hardsigmoid, samples=lambda: [*plain(), Sample(uniform(-5, 5, 9))], **SMOOTH)
op_test("hardswish", torch=F.hardswish, samples=lambda: [*plain(), Sample(uniform(-5, 5, 9))], **SMOOTH)
op_test("mish", torch=F.mish, samples=lambda: [*plain(), Sample(np.array([-30.0, 30.0]))], **SMOOTH)
op_test("logsigmoid", torch=F.logsigmoid, samples=lambda: [*plain(), Sample(np.array([-90.0, 90.0]))], **SMOOTH)
op_test("softsign", torch=F.softsign, samples=plain, grad=True)
op_test("tanhshrink", torch=F.tanhshrink, samples=plain, **SMOOTH, tol={"float16": 4e-3, "bfloat16": 3e-2})
op_test("softshrink", torch=F.softshrink, samples=lambda: [*plain(), Sample(randn(9), 0.2), Sample(special(), sample_grad=False)], grad=True,
        errors=[(lambda hw: hw.softshrink(hw.tensor([1.0]), -1.0), RuntimeError, "lambd must not be negative")])
op_test("hardshrink", torch=F.hardshrink, samples=lambda: [*plain(), Sample(randn(9), 0.2), Sample(special(), sample_grad=False)], grad=True)
op_test("threshold", torch=F.threshold, samples=lambda: [Sample(randn(3, 5), 0.1, 20.0), Sample(randn(0), 0.1, 1.0), Sample(randn(), 1, 2)],
        dtypes=FLOATS, grad=True)
op_test("prelu", torch=torch.prelu, samples=lambda: [Sample(randn(2, 3, 4), randn(3)), Sample(randn(5), randn(1)), Sample(randn(2, 3), randn(3))],
        grad=True, grad2=True, errors=[(lambda hw: hw.prelu(hw.tensor([[1.0, 2.0]]), hw.tensor([1.0, 2.0, 3.0])), RuntimeError, "weight has 3 elements, input has 2 channels")])
op_test("glu", torch=F.glu, samples=lambda: [Sample(randn(3, 4)), Sample(randn(4, 3), 0), Sample(randn(2, 4, 3), dim=-2)], **SMOOTH,
        errors=[(lambda hw: hw.glu(hw.tensor([1.0, 2.0, 3.0])), RuntimeError, "axis 0 must have an even size, got 3"),
                (lambda hw: hw.glu(hw.tensor([1.0, 2.0]), 3), IndexError, "glu")])

# ---------------------------------------------------------------- bounds
op_test("clamp", torch=torch.clamp, samples=lambda: [
    Sample(randn(3, 5), -0.5, 0.7), Sample(randn(3, 5), min=0.1), Sample(randn(67), max=0.1), Sample(randn(), -0.2, 0.2), Sample(randn(0), 0, 1),
    Sample(randn(4), 2, 1, sample_grad=False), Sample(randn(3, 4), uniform(-1, 0, 4), uniform(0, 1, 3, 1)),
    Sample(randn(3, 4), min=uniform(-1, 1, 4)), Sample(special(), -1.0, 2.0, sample_dtypes=FLOATS, sample_grad=False)],
    dtypes=REAL, grad=True, grad2=True, errors=[(lambda hw: hw.clamp(hw.tensor([1.0])), ValueError, "at least one of min and max")])
op_test("clamp_min", torch=torch.clamp_min, samples=lambda: [Sample(randn(3, 5), 0.2), Sample(randn(3, 4), randn(4)), Sample(randn(), 0), Sample(special(), 0.5, sample_dtypes=FLOATS, sample_grad=False)],
        dtypes=REAL, grad=True)
op_test("clamp_max", torch=torch.clamp_max, samples=lambda: [Sample(randn(3, 5), 0.2), Sample(randn(3, 4), randn(4)), Sample(randn(), 0), Sample(special(), 0.5, sample_dtypes=FLOATS, sample_grad=False)],
        dtypes=REAL, grad=True)

# ---------------------------------------------------------------- copies and conversions
op_test("clone", torch=torch.clone, samples=plain, dtypes=ALL, grad=True)


@pytest.mark.parametrize("to", ALL)
@pytest.mark.parametrize("dtype", ALL)
def test_cast_pair(dtype: str, to: str) -> None:
    x = np.array([0.0, 1.0, 2.0, 100.0] + ([-3.0, 1.5, -1.5] if dtype.startswith(("float", "bfloat", "complex")) and not to.startswith("u") else []))
    want = torch.tensor(x).to(getattr(torch, dtype)).to(getattr(torch, to))
    got = hw.cast(hw.cast(hw.tensor(x), getattr(hw, dtype)), getattr(hw, to))
    assert str(got.dtype).rsplit(".", 1)[-1] == to
    np.testing.assert_array_equal(hw._C.to_numpy(hw.cast(got, hw.complex128)), want.to(torch.complex128).numpy())


op_test("cast", samples=lambda: [Sample(randn(3, 5), hw.float64), Sample(randn(0), hw.float32), Sample(randn(), hw.bfloat16, sample_grad=False)],
        dtypes=FLOATS, grad=True)


def test_gradient_of_tanh_gelu_far_out() -> None:
    x = hw.tensor([-1e30, -20.0, 0.0, 20.0, 1e30], requires_grad=True)
    y = hw.gelu(x, approximate="tanh")
    y.sum().backward()
    np.testing.assert_allclose(y.detach().numpy(), [0, 0, 0, 20, 1e30], rtol=1e-6, atol=1e-30)
    np.testing.assert_allclose(x.grad.numpy(), [0, 0, 0.5, 1, 1], atol=1e-30)
op_test("isreal", torch=torch.isreal, dtypes=("float32", "complex64", "complex128", "int64", "bool"), samples=lambda: [Sample(randn(3, 4)), Sample(np.zeros(3)), Sample(randn(0))])
