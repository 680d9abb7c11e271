"""Reductions, norms, scans and arg-reductions against torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import headwater as hw
from harness import ALL, BOOL, COMPLEX, FLOATS, INTS, Sample, fixed, op_test, permutation, randn, uniform

REAL = FLOATS + INTS
NAN = np.array([1.0, math.nan, 3.0, -2.0])
INFINITE = np.tile(np.array([[-math.inf, 0.0], [-math.inf, -math.inf], [math.inf, 1.0], [math.nan, 2.0], [math.inf, math.nan]]).T, (9, 5))

WIDE = ("float32", "float64", "int32", "int64")  # hold all of a large permutation
EQUAL = np.array([[1.0, 3.0, 2.0, 3.0, 1.0] * 7] * 23)
NANS = np.where(np.add.outer(np.arange(25), np.arange(19)) % 11 == 7, math.nan, np.add.outer(np.arange(25) % 4, np.arange(19) % 3))


def axes(*extra: Sample, keepdim: bool = True) -> list[Sample]:
    """Whole, inner, outer, middle, several axes; empty and 0-d; large enough for the cascade and for threads."""
    return [Sample(randn(3, 4)), Sample(randn()), Sample(randn(2, 3, 4), 1), Sample(randn(2, 3, 4), dim=-1),
            Sample(randn(2, 3, 4), dim=(0, 2), **({"keepdim": True} if keepdim else {})), Sample(randn(5), 0),
            Sample(randn(2, 5, 7), 0), Sample(randn(67, 130), 0, sample_grad=False), Sample(randn(3, 37), 1), *extra]


EMPTY = [Sample(randn(0)), Sample(randn(3, 0), 1), Sample(randn(3, 0), 0), Sample(randn(0, 3), dim=0, keepdim=True)]

op_test("sum", torch=torch.sum, samples=lambda: axes(*EMPTY, Sample(randn(41, 3), 0), Sample(randn(600, 5), 0, sample_grad=False)),
        dtypes=ALL, grad=True, grad2=True, tol={"float32": 1e-4, "complex64": 1e-4, "float16": 4e-3, "bfloat16": 3e-2},
        errors=[(lambda hw: hw.sum(hw.ones(2), 1), IndexError, "axis 1"), (lambda hw: hw.ones(2).sum(dim=(0, 0)), RuntimeError, "dim"),
                (lambda hw: hw.sum(hw.ones(2), axs=1), TypeError, "axs")])
op_test("mean", torch=torch.mean, samples=lambda: axes(*EMPTY), dtypes=FLOATS + COMPLEX, grad=True, grad2=True,
        errors=[(lambda hw: hw.mean(hw.ones(2, dtype=hw.int64)), RuntimeError, "floating")])
op_test("prod", torch=torch.prod, samples=lambda: [Sample(uniform(0.5, 1.5, 3, 4)), Sample(randn()), Sample(uniform(0.5, 1.5, 2, 3, 4), 1),
        Sample(uniform(0.5, 1.5, 2, 5), -1, True), Sample(uniform(0.8, 1.2, 40), 0), Sample(randn(0)),
        Sample(np.array([[1.0, 0, 3], [0, 2, 0], [1, 2, 3]]), 1, sample_grad=False)],
        dtypes=ALL, grad=True, grad2=True, tol={"float16": 1e-2, "bfloat16": 6e-2, "float32": 1e-4})
for _name in ("amax", "amin"):
    op_test(_name, torch=getattr(torch, _name), dtypes=REAL + BOOL, grad=True, grad2=True,
            samples=lambda: [Sample(permutation(3, 4)), Sample(randn()), Sample(permutation(2, 3, 4), 1), Sample(permutation(5, 3), (0, 1)),
                             Sample(permutation(2, 3, 4), dim=(0, 2), keepdim=True), Sample(permutation(50, 70), 0, sample_grad=False),
                             Sample(NAN, 0, sample_dtypes=FLOATS, sample_grad=False), Sample(randn(3, 0), 0)],
            errors=[(lambda hw, n=_name: getattr(hw, n)(hw.ones(0)), IndexError, "no elements")])
for _name in ("any", "all"):
    op_test(_name, torch=getattr(torch, _name), dtypes=ALL,
            samples=lambda: [Sample(randn(3, 4)), Sample(randn()), Sample(np.array([[0.0, 1, 0], [1, 1, 1], [0, 0, 0]]), 1),
                             Sample(np.array([[0.0, 1, 1], [0, 1, 0]]), dim=0, keepdim=True), *EMPTY])
op_test("count_nonzero", torch=torch.count_nonzero, dtypes=ALL,
        samples=lambda: [Sample(np.array([[0.0, 1, 0], [1, 1, 1]])), Sample(np.array([[0.0, 1, 0], [1, 1, 1]]), 1), Sample(randn(0)),
                         Sample(randn(2, 3, 4), dim=(0, 1))])
op_test("nansum", torch=torch.nansum, samples=lambda: axes(Sample(NAN, sample_grad=False, sample_dtypes=FLOATS)), dtypes=FLOATS, grad=True,
        tol={"float32": 1e-4, "float16": 4e-3, "bfloat16": 3e-2})
op_test("nanmean", torch=torch.nanmean, samples=lambda: axes(Sample(NAN, sample_grad=False)), dtypes=FLOATS, grad=True,
        tol={"float16": 4e-3, "bfloat16": 3e-2})
op_test("aminmax", torch=torch.aminmax, dtypes=REAL + BOOL, grad=True,
        samples=lambda: [Sample(permutation(3, 4)), Sample(permutation(3, 4), dim=1), Sample(permutation(3, 4), dim=0, keepdim=True)])

for _name in ("var", "std", "var_mean", "std_mean"):
    op_test(_name, torch=getattr(torch, _name), dtypes=FLOATS, grad=True, grad2=True, tol={"float32": 1e-4},
            samples=lambda: [Sample(randn(3, 4)), Sample(randn(2, 3, 4), 1), Sample(randn(2, 3, 4), (0, 2), keepdim=True),
                             Sample(randn(5, 3), 0, correction=0), Sample(randn(3, 5), 1, False, True), Sample(randn(4, 3), True),
                             Sample(randn(30, 41), 0, sample_grad=False), Sample(randn(3, 1), 1, correction=0, sample_grad=False),
                             Sample(randn(70, 90), sample_grad=False), Sample(randn(2, 4, 5, 6) + 3, (0, 2, 3), sample_grad=False),
                             Sample(randn(203, 41) + 100, 0, sample_grad=False, sample_dtypes=("float32", "float64")),
                             Sample(randn(3, 5000) - 100, 1, sample_grad=False, sample_dtypes=("float32", "float64")),
                             Sample(randn(900, 3), 0, sample_grad=False), Sample(randn(9, 700), 0, sample_grad=False)])
op_test("logsumexp", torch=torch.logsumexp, dtypes=FLOATS + INTS, grad=True, grad2=True,
        samples=lambda: [Sample(randn(3, 4), 1), Sample(randn(3, 4) * 50, 0), Sample(randn(2, 3, 4), dim=(0, 2), keepdim=True), Sample(randn(), 0),
                         Sample(np.array([[-math.inf, 0.0], [-math.inf, -math.inf], [math.inf, 1.0]]), 1, sample_dtypes=FLOATS, sample_grad=False),
                         Sample(INFINITE, 0, sample_dtypes=FLOATS, sample_grad=False), Sample(INFINITE.T.copy(), 1, sample_dtypes=FLOATS, sample_grad=False),
                         Sample(randn(700, 40), 0, sample_grad=False), Sample(randn(3, 0), 1, sample_dtypes=FLOATS),
                         Sample(randn(2, 5000) * 9, 1, sample_grad=False, sample_dtypes=FLOATS), Sample(randn(900, 3), 0, sample_grad=False)])

ORDERS = [2.0, 1.0, 0.0, math.inf, -math.inf, 3.0, 0.5]


def norms(name: str) -> list[Sample]:
    many = [Sample(randn(3, 4), **{name: p}) for p in ORDERS] + [Sample(permutation(2, 3, 4), **{name: p}, dim=(0, 2)) for p in ORDERS[:5]]
    return [Sample(randn(3, 4)), Sample(randn(2, 5), dim=1, keepdim=True), Sample(randn(3000), sample_grad=False),
            Sample(np.zeros((2, 3)), dim=1, sample_grad=False), *many]


LOOSE = {"float16": 8e-3, "bfloat16": 6e-2, "float32": 1e-4}
op_test("linalg_vector_norm", torch=torch.linalg.vector_norm, samples=lambda: norms("ord"), dtypes=FLOATS + ("complex64",), grad=True, grad2=True,
        tol=LOOSE, errors=[(lambda hw: hw.linalg_vector_norm(hw.ones(2, dtype=hw.int32)), RuntimeError, "floating")])
op_test("norm", torch=torch.norm, samples=lambda: norms("p") + [Sample(randn(3, 4), "fro")], dtypes=FLOATS, grad=True, tol=LOOSE)
op_test("dist", torch=torch.dist, samples=lambda: [Sample(randn(3, 4), randn(4)), Sample(randn(3), randn(3), 1.0)], dtypes=("float32", "float64"),
        grad=True, grad2=True)
op_test("cdist", torch=torch.cdist, samples=lambda: [Sample(randn(3, 4), randn(5, 4)), Sample(randn(2, 3, 4), randn(2, 2, 4), 1.0)],
        dtypes=("float32", "float64"), grad=True, grad2=True)
op_test("trace", torch=torch.trace, samples=lambda: [Sample(randn(3, 3)), Sample(randn(3, 5)), Sample(randn(5, 2))],
        dtypes=("float32", "float64", "int64", "complex64"), grad=True, strided=False,
        errors=[(lambda hw: hw.trace(hw.ones(3)), RuntimeError, "matrix")])
op_test("diff", torch=torch.diff, samples=lambda: [Sample(randn(5)), Sample(randn(3, 5), 2), Sample(randn(3, 5), dim=0), Sample(randn(1)),
        Sample(randn(3, 2), prepend=randn(3, 1), append=randn(3, 2))], dtypes=("float32", "float64", "int64"), grad=True)

for _name in ("argmax", "argmin"):
    op_test(_name, torch=getattr(torch, _name), dtypes=REAL,
            samples=lambda: [Sample(permutation(3, 4)), Sample(randn()), Sample(permutation(2, 3, 4), 1), Sample(permutation(5, 3), 0, True),
                             Sample(permutation(40, 51), 0), Sample(np.array([3.0, 1, 3, 1])), Sample(NAN, 0, sample_dtypes=FLOATS),
                             Sample(randn(3, 0), 0), Sample(permutation(3, 700), -1), Sample(permutation(2, 21, 35), 1, sample_dtypes=WIDE),
                             Sample(EQUAL, 1), Sample(EQUAL, 0), Sample(EQUAL.T.copy(), 0), Sample(NANS, 0, sample_dtypes=FLOATS),
                             Sample(NANS, 1, sample_dtypes=FLOATS), Sample(permutation(5000), sample_dtypes=WIDE)],
            errors=[(lambda hw, n=_name: getattr(hw, n)(hw.ones(0)), IndexError, "no elements")])
for _name in ("max", "min", "median"):
    op_test(f"_{_name}_dim", torch=getattr(torch, _name), function=getattr(hw, _name), dtypes=REAL, grad=True, grad2=True,
            samples=lambda: [Sample(permutation(2, 3, 4), 1), Sample(permutation(5, 3), dim=0, keepdim=True), Sample(randn(), 0), Sample(randn(3, 0), 0),
                             Sample(permutation(40, 51), 0), Sample(NAN, 0, sample_dtypes=FLOATS, sample_grad=False),
                             Sample(permutation(2, 21, 35), 1, sample_dtypes=WIDE, sample_grad=False), Sample(NANS[7:], 1, sample_dtypes=FLOATS, sample_grad=False),
                             Sample(NANS, 0, sample_dtypes=FLOATS, sample_grad=False), Sample(permutation(3, 5000), 1, sample_dtypes=WIDE, sample_grad=False)],
            errors=[(lambda hw, n=_name: getattr(hw, n)(hw.ones((3, 0)), 1), IndexError, "no elements")])
op_test("median", torch=torch.median, samples=lambda: [Sample(permutation(3, 4)), Sample(permutation(5)), Sample(NAN, sample_dtypes=FLOATS, sample_grad=False)],
        dtypes=REAL, grad=True)
for _name in ("cummax", "cummin"):
    op_test(_name, torch=getattr(torch, _name), dtypes=REAL, grad=True,
            samples=lambda: [Sample(permutation(3, 4), 1), Sample(permutation(2, 3, 4), dim=0), Sample(np.array([1.0, 3, 3, 2]), 0, sample_grad=False),
                             Sample(NAN, 0, sample_dtypes=FLOATS, sample_grad=False), Sample(EQUAL, 0, sample_grad=False), Sample(EQUAL, 1, sample_grad=False),
                             Sample(NANS, 0, sample_dtypes=FLOATS, sample_grad=False), Sample(NANS, 1, sample_dtypes=FLOATS, sample_grad=False),
                             Sample(permutation(2, 21, 35), 1, sample_dtypes=WIDE, sample_grad=False), Sample(permutation(3, 900), 1, sample_dtypes=WIDE, sample_grad=False),
                             Sample(np.linspace(-50, 50, 101), 0, sample_grad=False)])
op_test("cumsum", torch=torch.cumsum, samples=lambda: [Sample(randn(3, 4), 1), Sample(randn(2, 3, 4), dim=0), Sample(randn(), 0), Sample(randn(0), 0),
        Sample(randn(50, 70), 0, sample_grad=False), Sample(randn(2, 5, 35), 1, sample_grad=False), Sample(randn(2, 1500), 1, sample_grad=False),
        Sample(np.array([1.0, math.inf, 2, -1] * 40), 0, sample_dtypes=FLOATS, sample_grad=False)], dtypes=ALL, grad=True, grad2=True, tol={"float16": 1e-2, "bfloat16": 6e-2, "float32": 1e-4, "complex64": 1e-4})
op_test("cumprod", torch=torch.cumprod, samples=lambda: [Sample(uniform(0.5, 1.5, 3, 4), 1), Sample(uniform(0.5, 1.5, 2, 3, 4), dim=0), Sample(randn(), 0),
        Sample(np.array([[1.0, 0, 3, 2], [0, 2, 0, 1]]), 1, sample_grad=False), Sample(uniform(0.9, 1.1, 2, 9, 35), 1, sample_grad=False),
        Sample(np.r_[0.0, np.full(300, 1e4)], 0, sample_dtypes=FLOATS, sample_grad=False)], dtypes=ALL, grad=True, grad2=True,
        tol={"float16": 1e-2, "bfloat16": 6e-2})

op_test("logcumsumexp", torch=torch.logcumsumexp, dtypes=FLOATS, grad=True, grad2=True, samples=lambda: [
    Sample(randn(3, 4), 1), Sample(randn(2, 3, 4) * 40, dim=0), Sample(randn(), 0), Sample(randn(3, 0), 1), Sample(randn(2, 600), 1, sample_grad=False),
    Sample(np.array([-math.inf, -math.inf, 1, 700, math.inf, 3]), 0, sample_grad=False), Sample(NAN, 0, sample_grad=False)])
op_test("mode", torch=lambda x, dim=-1, keepdim=False: torch.mode(x, dim, keepdim), dtypes=FLOATS + INTS, grad=True, grad2=True, samples=lambda: [
    Sample(permutation(3, 4)), Sample(permutation(3, 4), 0, True), Sample(np.array([[3, 1, 3, 1, 2], [5, 5, 4, 4, 4]]), 1, sample_grad=False), Sample(randn())],
    errors=[(lambda hw: hw.mode(hw.ones((3, 0)), 1), IndexError, "no elements")])
op_test("nanmedian", torch=torch.nanmedian, dtypes=REAL, grad=True,
        samples=lambda: [Sample(permutation(3, 4)), Sample(permutation(5)), Sample(NAN, sample_dtypes=FLOATS, sample_grad=False)])
op_test("_nanmedian_dim", torch=torch.nanmedian, function=hw.nanmedian, dtypes=REAL, grad=True, grad2=True, samples=lambda: [
    Sample(permutation(3, 4), 1), Sample(permutation(5, 3), dim=0, keepdim=True), Sample(randn(), 0),
    Sample(np.array([[math.nan, 2, 1], [3, math.nan, math.nan], [5, 1, 2]]), 1, sample_dtypes=FLOATS, sample_grad=False)],
    errors=[(lambda hw: hw.nanmedian(hw.ones((3, 0)), 1), IndexError, "no elements")])
HALVES = np.array([0.1, 0.5, 0.99])
for _name in ("quantile", "nanquantile"):
    op_test(_name, torch=getattr(torch, _name), dtypes=("float32", "float64"), grad=True, grad_args=(0,), samples=lambda: [
        Sample(permutation(3, 5), 0.3), Sample(permutation(3, 5), 0.3, 1), Sample(permutation(3, 5), HALVES, 0, True, sample_captured=False),
        Sample(permutation(2, 3, 4), HALVES, 1, sample_captured=False), Sample(permutation(6), 0.5, None, True), Sample(randn(), 0.2),
        Sample(permutation(6), HALVES, keepdim=True, sample_captured=False),
        Sample(np.array([[1.0, math.nan, 3, 2], [4, 3, 2, 1], [math.nan] * 4]), 0.4, 1, sample_grad=False),
        *(Sample(permutation(2, 6), 0.33, 1, interpolation=how) for how in ("lower", "higher", "midpoint", "nearest"))],
        errors=[(lambda hw, n=_name: getattr(hw, n)(hw.ones(3), 1.5), RuntimeError, "q must be between 0 and 1"),
                (lambda hw, n=_name: getattr(hw, n)(hw.ones(3), hw.tensor([0.5, 2.0])), RuntimeError, "between 0 and 1"),
                (lambda hw, n=_name: getattr(hw, n)(hw.ones(0), 0.5), RuntimeError, "no elements"),
                (lambda hw, n=_name: getattr(hw, n)(hw.ones(3), 0.5, interpolation="cubic"), RuntimeError, "interpolation must be")])
op_test("histc", torch=torch.histc, dtypes=("float32", "float64"), samples=lambda: [
    Sample(randn(50), sample_captured=False), Sample(randn(50), 7, sample_captured=False), Sample(randn(5, 9), bins=4, min=-1, max=1.5),
    Sample(np.array([1.0, 1, 1]), 3, sample_captured=False),
    Sample(randn(0), 3), Sample(np.array([0.0, 1, 2, 3, math.nan, math.inf]), 3, 0, 3)],
    errors=[(lambda hw: hw.histc(hw.ones(3), 0), RuntimeError, "bins must be positive"),
            (lambda hw: hw.histc(hw.ones(3), 3, 2, 1), RuntimeError, "max must be larger"),
            (lambda hw: hw.histc(hw.tensor([1.0, math.nan])), RuntimeError, "not finite")])
op_test("renorm", torch=torch.renorm, dtypes=FLOATS + ("complex64",), grad=True, grad2=True, samples=lambda: [
    Sample(randn(3, 4), 2, 0, 1.0), Sample(randn(3, 4) * 0.1, 2, 1, 5.0), Sample(randn(2, 3, 2), 1, -2, 0.5), Sample(randn(2, 3), 3.0, 0, 1),
    Sample(randn(2, 0), 2, 0, 1)],
    errors=[(lambda hw: hw.renorm(hw.ones(3), 2, 0, 1), RuntimeError, "two axes"), (lambda hw: hw.renorm(hw.ones(3, 3), 0, 0, 1), RuntimeError, "p must be")])


def test_max_and_min_of_two_tensors() -> None:
    a, b = hw.tensor([1.0, 4.0]), hw.tensor([3.0, 2.0])
    assert hw.max(a, b).tolist() == [3, 4] and a.min(b).tolist() == [1, 2]
    assert hw.max(a).item() == 4 and hw.min(a, dim=0).indices.item() == 0


@pytest.mark.parametrize("op", ["prod", "cumprod"])
def test_gradients_at_zeros(op: str) -> None:
    for row in ([2.0, 0, 3, 4], [0.0, 2, 0, 1], [0.0, 0, 0, 0], [1.0, 2, 3, 0]):
        x, t = hw.tensor(row, requires_grad=True), torch.tensor(row, requires_grad=True)
        weight = [1.0, -2.0, 0.5, 3.0]
        (getattr(hw, op)(x, 0) * hw.tensor(weight)).sum().backward()
        (getattr(torch, op)(t, 0) * torch.tensor(weight)).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-6)


def test_median_of_equal_elements() -> None:
    """Of equal elements the one of the median's rank, in every kernel."""
    for dtype in (hw.float32, hw.bfloat16, hw.float64, hw.int64, hw.int8):
        x = hw.tensor([3, 1, 2, 2, 2, -3, 0, 2, 5, 2]).to(dtype)
        assert [v.item() for v in hw.median(x, 0)] == [2, 3]
        assert [v.item() for v in hw.median(hw.zeros(7, dtype=dtype), 0)] == [0, 3]


def test_sum_of_many_is_accurate() -> None:
    x = (np.arange(3_000_000) % 1000).astype(np.float32) / 999
    for shape, dim in (((3_000_000,), 0), ((3_000_000, 1), 0), ((1_000_000, 3), 0), ((3, 1_000_000), 1), ((100_000, 30), 0)):
        y = x.reshape(shape)
        np.testing.assert_allclose(hw.from_numpy(y).sum(dim).numpy(), y.sum(dim, dtype=np.float64), rtol=2e-7)


def test_same_bits_every_time() -> None:
    x = hw.from_numpy(np.random.default_rng(0).standard_normal((1000, 300)).astype(np.float32))
    for dim in (None, 0, 1):
        assert len({x.sum(dim).numpy().tobytes() for _ in range(5)}) == 1

for _name in ("trapezoid", "cumulative_trapezoid"):
    op_test(_name, torch=getattr(torch, _name), dtypes=("float32", "float64", "complex64", "int64"), grad=True, grad2=True, samples=lambda: [
        Sample(randn(5)), Sample(randn(3, 4), dim=0), Sample(randn(3, 4), dx=0.5), Sample(randn(3, 4), randn(4)), Sample(randn(3, 4), randn(3), dim=0),
        Sample(randn(3, 4), randn(3, 4), dim=1), Sample(randn(2, 3, 4), randn(3, 4)), Sample(randn(2, 1))],
        errors=[(lambda hw, n=_name: getattr(hw, n)(hw.ones(3, 4), hw.ones(3)), RuntimeError, "x has 3 places, y has 4"),
                (lambda hw, n=_name: getattr(hw, n)(hw.ones(3), hw.ones(3), dx=2), RuntimeError, "either x or dx"),
                (lambda hw, n=_name: getattr(hw, n)(hw.tensor(1.0)), RuntimeError, "at least one axis")])
op_test("cov", torch=torch.cov, dtypes=("float32", "float64", "complex64", "complex128", "int64"), grad=True, tol={"complex64": 1e-4}, samples=lambda: [
    Sample(randn(3, 5)), Sample(randn(5)), Sample(randn(3, 5), correction=0), Sample(randn(1, 4)),
    Sample(randn(2, 4), fweights=fixed(np.array([1, 2, 3, 1]))), Sample(randn(2, 4), aweights=fixed(np.array([0.5, 1.0, 2.0, 1.5])), sample_dtypes=("float64", "complex128")),
    Sample(randn(2, 3), correction=2, fweights=fixed(np.array([3, 1, 2])), aweights=fixed(np.array([0.5, 1.0, 2.0])), sample_dtypes=("float64",))],
    errors=[(lambda hw: hw.cov(hw.ones(2, 2, 2)), RuntimeError, "at most two axes"),
            (lambda hw: hw.cov(hw.ones(2, 3), fweights=hw.tensor([1, 2])), RuntimeError, "one weight for each of the 3 observations")])
op_test("corrcoef", torch=torch.corrcoef, dtypes=("float32", "float64", "int64"), grad=True, strided=False,
        samples=lambda: [Sample(randn(3, 6)), Sample(randn(4), sample_grad=False), Sample(randn(2, 5))])
