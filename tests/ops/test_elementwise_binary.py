"""Elementwise ops of two and three tensors against torch: promotion, broadcasting, integer semantics."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest
import torch

import headwater as hw
from harness import ALL, BOOL, COMPLEX, FLOATS, INTS, Sample, booleans, fixed, integers, op_test, randn, uniform

REAL = FLOATS + INTS
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5])


def pairs(low: float | None = None, high: float = 1.0, *extra: Any, **kwargs: Any) -> list[Sample]:
    """Equal shapes, broadcasting both ways, numbers, 0-d, empty."""
    make = randn if low is None else lambda *shape: uniform(low, high, *shape)
    return [Sample(make(3, 5), make(3, 5), *extra, **kwargs), Sample(make(2, 1, 3), make(4, 1), *extra, **kwargs),
            Sample(make(67), 2, *extra, **kwargs), Sample(make(), make(3), *extra, **kwargs), Sample(make(0, 3), make(3), *extra, **kwargs)]


def nonzero(*shape: int) -> np.ndarray:
    """At least 0.4 away from zero, so that no integer dtype rounds to zero."""
    x = randn(*shape)
    return np.asarray(x + np.where(x < 0, -0.4, 0.4))


def specials() -> Sample:
    return Sample(np.repeat(SPECIAL, len(SPECIAL)), np.tile(SPECIAL, len(SPECIAL)), sample_dtypes=FLOATS, sample_grad=False)


SMOOTH = {"grad": True, "grad2": True}


def broadcast_error(name: str) -> list:
    return [(lambda hw: getattr(hw, name)(hw.tensor([1, 2]), hw.tensor([1, 2, 3])), RuntimeError, name + "("),
            (lambda hw: getattr(hw, name)(hw.tensor([1]), "2"), TypeError, name),
            (lambda hw: getattr(hw, name)(hw.tensor([1]), [2]), TypeError, name)]


# ---------------------------------------------------------------- arithmetic
op_test("add", torch=torch.add, samples=lambda: [*pairs(), specials(), Sample(randn(3, 2), randn(2), alpha=2),
                                                 Sample(randn(3), randn(3), alpha=0.5, sample_dtypes=FLOATS + COMPLEX)],
        dtypes=FLOATS + COMPLEX + INTS, **SMOOTH, errors=broadcast_error("add"))
op_test("sub", torch=torch.sub, samples=lambda: [*pairs(), specials(), Sample(randn(3, 2), randn(2), alpha=2)],
        dtypes=FLOATS + COMPLEX + INTS, **SMOOTH, errors=broadcast_error("sub"))
op_test("rsub", torch=torch.rsub, samples=lambda: [*pairs(), Sample(randn(3, 2), randn(2), alpha=2)], dtypes=FLOATS + COMPLEX + INTS, grad=True)
op_test("mul", torch=torch.mul, samples=lambda: [*pairs(), specials()], dtypes=ALL, **SMOOTH, errors=broadcast_error("mul"))
op_test("div", torch=torch.div, samples=lambda: [
    Sample(randn(3, 5), nonzero(3, 5)), Sample(randn(2, 1, 3), nonzero(4, 1)), Sample(randn(67), 2), Sample(randn(), nonzero(3)),
    Sample(randn(0, 3), nonzero(3)), specials(), *[Sample(randn(4, 5), nonzero(5), rounding_mode=m, sample_dtypes=REAL) for m in ("floor", "trunc")],
    *[Sample(fixed(integers(-9, 9, 20)), fixed(np.array([-4, -3, 2, 5])[:, None]), rounding_mode=m) for m in ("floor", "trunc")]],
    dtypes=FLOATS + COMPLEX + INTS, **SMOOTH,
    errors=[*broadcast_error("div"), (lambda hw: hw.div(hw.tensor([1]), 0, rounding_mode="floor"), RuntimeError, "ZeroDivisionError"),
            (lambda hw: hw.div(hw.tensor([1]), 2, rounding_mode="up"), RuntimeError, "rounding_mode must be None, 'floor' or 'trunc', got 'up'")])
for name, oracle in (("floor_divide", torch.floor_divide), ("remainder", torch.remainder), ("fmod", torch.fmod)):
    op_test(name, torch=oracle, samples=lambda: [
        Sample(randn(3, 5), nonzero(3, 5)), Sample(randn(2, 1, 3), nonzero(4, 1)), Sample(randn(67), 2), Sample(randn(), nonzero(3)), specials(),
        Sample(fixed(integers(-20, 20, 20)), fixed(np.array([-4, -3, 2, 5])[:, None]), sample_dtypes=("int64",))],
        dtypes=REAL, grad=name != "floor_divide", grad2=False,
        errors=[(lambda hw, n=name: getattr(hw, n)(hw.tensor([1, 2]), hw.tensor([1, 0])), RuntimeError, "ZeroDivisionError"), *broadcast_error(name)])
op_test("pow", torch=torch.pow, samples=lambda: [
    *[Sample(uniform(0.3, 2, 3, 4), e) for e in (0, 1, 2, 3)], *[Sample(uniform(0.3, 2, 5), e, sample_dtypes=FLOATS + COMPLEX) for e in (-1, 0.5, -0.5, 2.5, -2)],
    Sample(uniform(0.3, 2, 3, 4), uniform(0.3, 2, 4)), Sample(uniform(0.3, 2), uniform(0, 2, 3)), Sample(randn(0), 2), Sample(2.5, uniform(0, 2, 3)),
    Sample(randn(6), 3), Sample(np.array([0.0, 0.0, 2.0]), np.array([0.0, 2.0, 0.0]), sample_grad=False),
    Sample(fixed(integers(-4, 4, 6)), fixed(integers(0, 5, 6)), sample_dtypes=("int64",))],
    dtypes=FLOATS + COMPLEX + INTS, **SMOOTH, tol={"float32": 5e-5, "complex64": 1e-4, "complex128": 1e-8, "float16": 4e-3, "bfloat16": 3e-2},
    errors=[(lambda hw: hw.pow(hw.tensor([2]), -1), RuntimeError, "negative power"), *broadcast_error("pow")])
op_test("float_power", torch=torch.float_power, samples=lambda: [Sample(uniform(0.3, 2, 3, 4), 2), Sample(uniform(0.3, 2, 3, 4), uniform(0, 2, 4))],
        dtypes=("float32", "float64", "int32", "complex64"), grad=True, tol=1e-6)

# ---------------------------------------------------------------- the larger, the smaller, angles
for name in ("maximum", "minimum", "fmax", "fmin"):
    op_test(name, torch=getattr(torch, name), samples=lambda: [s for s in [*pairs(), specials(), Sample(randn(4), fixed(randn(4)), sample_dtypes=("float64",))]
                                                               if not isinstance(s.args[1], int)],
            dtypes=REAL + BOOL, grad=True, errors=[broadcast_error(name)[0]])
op_test("atan2", torch=torch.atan2, samples=lambda: [Sample(randn(3, 5), randn(3, 5)), Sample(randn(2, 1), randn(3)), Sample(randn(), randn(3)), specials()],
        dtypes=REAL, **SMOOTH)
op_test("hypot", torch=torch.hypot, samples=lambda: [Sample(randn(3, 5), randn(3, 5)), Sample(randn(2, 1), randn(3)), Sample(np.array([3e200]), np.array([4e200]), sample_dtypes=("float64",), sample_grad=False)],
        dtypes=FLOATS, **SMOOTH)
op_test("copysign", torch=torch.copysign, samples=lambda: [*pairs(), specials()], dtypes=REAL, grad=True)
op_test("logaddexp", torch=torch.logaddexp, samples=lambda: [s for s in [*pairs(), Sample(np.array([1000.0, -1000.0]), np.array([999.0, 5.0])), specials()] if not isinstance(s.args[1], int)], dtypes=FLOATS, grad=True,
        grad2=True, tol={"bfloat16": 3e-2, "float16": 4e-3})
op_test("logaddexp2", torch=torch.logaddexp2, samples=lambda: [s for s in pairs() if not isinstance(s.args[1], int)], dtypes=FLOATS, grad=True, grad2=True,
        tol={"bfloat16": 3e-2, "float16": 4e-3})
op_test("xlogy", torch=torch.xlogy, samples=lambda: [*pairs(0.2, 2.0), Sample(np.array([0.0, 0.0, 2.0]), np.array([0.0, np.nan, 0.0]), sample_dtypes=FLOATS, sample_grad=False)],
        dtypes=REAL, **SMOOTH)
op_test("heaviside", torch=torch.heaviside, samples=lambda: [Sample(np.array([-1.0, 0.0, 2.0, np.nan]), np.array(0.5), sample_dtypes=FLOATS), Sample(randn(3, 4), randn(4))], dtypes=FLOATS + INTS)
op_test("nextafter", torch=torch.nextafter, samples=lambda: [Sample(randn(3, 4), randn(4)), Sample(np.array([0.0, np.nan, np.inf]), np.array(1.0))],
        dtypes=("float16", "bfloat16", "float32", "float64"), tol=0)

# ---------------------------------------------------------------- comparisons and logic
for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    op_test(name, torch=getattr(torch, name), samples=lambda: [*pairs(), specials(), Sample(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]))],
            dtypes=ALL if name in ("eq", "ne") else REAL + BOOL, errors=[broadcast_error(name)[0]])
for name in ("logical_and", "logical_or", "logical_xor"):
    op_test(name, torch=getattr(torch, name), samples=lambda: [s for s in [*pairs(), Sample(np.array([0.0, 1, 0, 2]), np.array([0.0, 0, 1, 3]))] if not isinstance(s.args[1], int)], dtypes=ALL)
for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    op_test(name, torch=getattr(torch, name), samples=lambda: [Sample(integers(-9, 99, 3, 5), integers(-9, 99, 5)), Sample(integers(0, 9, 67), 5), Sample(integers(0, 9, 0), integers(0, 9, 1))],
            dtypes=INTS + BOOL, errors=[(lambda hw, n=name: getattr(hw, n)(hw.tensor([1.0]), hw.tensor([1.0])), TypeError, "integer dtype or bool")])
for name in ("bitwise_left_shift", "bitwise_right_shift"):
    op_test(name, torch=getattr(torch, name), samples=lambda: [Sample(integers(-9, 99, 3, 5), integers(0, 7, 5)), Sample(integers(0, 9, 67), 2)], dtypes=INTS)
for name in ("gcd", "lcm"):
    op_test(name, torch=getattr(torch, name), samples=lambda: [Sample(integers(-40, 99, 3, 5), integers(-40, 40, 5)), Sample(integers(0, 9), integers(0, 9)), Sample(integers(0, 3, 9), integers(0, 2, 9))], dtypes=INTS)
op_test("isclose", torch=torch.isclose, samples=lambda: [
    Sample(randn(3, 4), randn(3, 4)), Sample(np.array([1.0, 1.0, np.nan, np.inf, np.inf, -np.inf]), np.array([1.000001, 1.1, np.nan, np.inf, -np.inf, 1.0]), sample_dtypes=FLOATS),
    Sample(np.array([1.0, np.nan]), np.array([1.01, np.nan]), 0.1, 0.0, equal_nan=True, sample_dtypes=FLOATS), Sample(np.array([1.0, 2.0]), np.array([1.0, 3.0]), 0, 0)],
    dtypes=("float32", "float64", "int64", "complex64"))

# ---------------------------------------------------------------- three inputs
op_test("where", torch=torch.where, samples=lambda: [
    Sample(booleans(3, 5), randn(3, 5), randn(3, 5)), Sample(booleans(3, 1), randn(4), randn()), Sample(booleans(67), randn(67), 2.5, sample_dtypes=FLOATS),
    Sample(booleans(4), 0.5, randn(4), sample_dtypes=FLOATS), Sample(booleans(0), randn(0), randn(0)), Sample(booleans(), randn(), randn())], dtypes=ALL, **SMOOTH,
    errors=[(lambda hw: hw.where(hw.tensor([1.0]), 1, 2), TypeError, "where(")])
op_test("lerp", torch=torch.lerp, samples=lambda: [Sample(randn(3, 5), randn(3, 5), 0.3), Sample(randn(3, 5), randn(5), 0.8), Sample(randn(3, 5), randn(3, 5), uniform(0, 1, 5)),
                                                   Sample(randn(), randn(), 0.5), Sample(randn(0), randn(0), 0.5)], dtypes=FLOATS + COMPLEX, **SMOOTH)
op_test("addcmul", torch=torch.addcmul, samples=lambda: [Sample(randn(3, 5), randn(3, 5), randn(3, 5)), Sample(randn(3, 5), randn(3, 1), randn(5), value=2),
                                                         Sample(randn(3), randn(3), randn(), value=0.5, sample_dtypes=FLOATS + COMPLEX)], dtypes=FLOATS + COMPLEX + INTS, **SMOOTH)
op_test("addcdiv", torch=torch.addcdiv, samples=lambda: [Sample(randn(3, 5), randn(3, 5), nonzero(3, 5)), Sample(randn(3, 5), randn(3, 1), nonzero(5), value=2),
                                                         Sample(randn(3), randn(3), nonzero(), value=0.5)], dtypes=FLOATS + COMPLEX, **SMOOTH)
op_test("masked_fill", torch=lambda x, mask, value: x.masked_fill(mask, value), samples=lambda: [
    Sample(randn(3, 5), booleans(3, 5), 2), Sample(randn(3, 1), booleans(2, 1, 4), 0), Sample(randn(0), booleans(0), 1),
    Sample(randn(3, 5), booleans(5), fixed(np.array(1)), sample_captured=FLOATS + COMPLEX + ("int64", "bool"))],
    dtypes=ALL, grad=True, errors=[
        (lambda hw: hw.masked_fill(hw.tensor([1, 2]), hw.tensor([True, False]), 1e30), RuntimeError, "value 1e+30 does not fit i64"),
        (lambda hw: hw.masked_fill(hw.tensor([1, 2]), hw.tensor([1, 0]), 1), TypeError, "'mask' must have bool"),
        (lambda hw: hw.masked_fill(hw.tensor([1, 2]), hw.tensor([True, False]), hw.tensor([1])), RuntimeError, "0-d tensor")])


# ---------------------------------------------------------------- promotion
def _operand(kind: str, dtype: str, lib: Any) -> Any:
    if kind == "number":
        return {"b": True, "i": 3, "u": 3, "f": 2.5, "c": 1 + 2j}[dtype[0]]
    return lib.tensor([1, 2] if kind == "vector" else 1).to(getattr(lib, dtype))


@pytest.mark.parametrize("op", ["add", "mul", "div", "eq"])
def test_promotion(op: str) -> None:
    """The dtype and values of every pair of dtypes, as vectors, 0-d tensors and numbers, are torch's."""
    wrong = []
    for a, b in itertools.product(ALL, ALL):
        for kind in ("vector", "0-d", "number"):
            args = [(_operand("vector", a, lib), _operand(kind, b.replace("bfloat", "float"), lib) if kind == "number" else _operand(kind, b, lib))
                    for lib in (hw, torch)]
            try:
                want = getattr(torch, op)(*args[1])
            except NotImplementedError:  # torch has 16-bit complex dtypes but no arithmetic for them
                continue
            if want.dtype == torch.complex32:  # not a dtype of ours
                continue
            got = getattr(hw, op)(*args[0])
            if str(got.dtype).split(".")[-1] != str(want.dtype).split(".")[-1] or not np.allclose(hw._C.to_numpy(got.to(hw.complex128)), want.to(torch.complex128).numpy(), rtol=1e-2):
                wrong.append(f"{a} {op} {kind} {b}: {got.dtype}, torch has {want.dtype}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow])
@pytest.mark.parametrize("number", [2, 2.0, True])
def test_numbers_on_either_side(op: Any, number: Any) -> None:
    for data in ([1, 2, 3], [1.0, 2.5, 3.0]):
        if number is True and op in (operator.sub, operator.floordiv, operator.mod, operator.pow):
            continue
        for args in (lambda lib: (lib.tensor(data), number), lambda lib: (number, lib.tensor(data))):
            got, want = op(*args(hw)), op(*args(torch))
            assert str(got.dtype).split(".")[-1] == str(want.dtype).split(".")[-1]
            np.testing.assert_allclose(hw._C.to_numpy(got), want.numpy(), rtol=1e-6)


def test_integer_division_signs() -> None:
    """Every pair of small integers, in every integer dtype, as in torch (and Python for floor and %)."""
    values = [-128, -7, -3, -1, 1, 2, 3, 7, 127]
    for dtype in ("int8", "int16", "int32", "int64"):
        a, b = (torch.tensor(x, dtype=getattr(torch, dtype)) for x in zip(*itertools.product(values, values)))
        x, y = hw.from_numpy(a.numpy()), hw.from_numpy(b.numpy())
        for name, args in (("floor_divide", {}), ("remainder", {}), ("fmod", {}), ("div", {"rounding_mode": "floor"}), ("div", {"rounding_mode": "trunc"})):
            keep = ~((a == -128) & (b == -1)) if dtype == "int8" else torch.ones_like(a, dtype=torch.bool)  # overflows
            want, got = getattr(torch, name)(a, b, **args), hw._C.to_numpy(getattr(hw, name)(x, y, **args))
            np.testing.assert_array_equal(got[keep.numpy()], want.numpy()[keep.numpy()], err_msg=f"{name} {args} {dtype}")


def test_inplace_comparison_writes_zeros_and_ones() -> None:
    x = hw.tensor([1.0, 2.0, 3.0])
    assert x.lt_(2.5) is x
    assert x.tolist() == [1.0, 1.0, 0.0] and x.dtype == hw.float32


def test_aliases_are_torch_names() -> None:
    from headwater.aliases import ALIASES

    for alias, name in ALIASES.items():
        assert hasattr(torch, alias) or hasattr(torch.Tensor, alias), alias
        assert hasattr(hw, name), f"alias {alias} of {name}, which is not there"
        assert getattr(hw, alias) is getattr(hw, name), alias


@pytest.mark.parametrize(("call", "text"), [
    (lambda: hw.sub(hw.tensor([True]), hw.tensor([True])), "bool tensors cannot be subtracted"),
    (lambda: hw.tensor([True]) - 1, "bool tensors cannot be subtracted"),
    (lambda: hw.add(hw.tensor([1]), hw.tensor([1]), alpha=1.5), "alpha must be an integer"),
    (lambda: hw.tensor([1], dtype=hw.uint8).masked_fill(hw.tensor([True]), 300), "value 300 does not fit u8"),
])
def test_refused(call: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call()


def test_pow_gradient_at_zero() -> None:
    """At a zero base the gradient is that of torch: none for exponent 0, none toward the exponent."""
    for base, exponent in (([0.0, 0.0, 2.0, 0.0], [0.0, 2.0, 0.0, 1.0]), ([0.0, 2.0], 3.0), ([0.0, 2.0], 0.0)):
        found = []
        for lib in (hw, torch):
            b = lib.tensor(base, dtype=lib.float64, requires_grad=True)
            e = lib.tensor(exponent, dtype=lib.float64, requires_grad=True) if isinstance(exponent, list) else exponent
            inputs = [b, e] if isinstance(exponent, list) else [b]
            found.append([g.tolist() for g in lib.autograd.grad([lib.pow(b, e).sum()], inputs)])
        assert found[0] == found[1]


def test_where_as_a_method_starts_with_the_values() -> None:
    x, condition, other = hw.tensor([1, 2]), hw.tensor([True, False]), hw.tensor([3, 4])
    assert x.where(condition, other).tolist() == torch.tensor([1, 2]).where(torch.tensor([True, False]), torch.tensor([3, 4])).tolist()
    assert hw.where(condition, x, other).tolist() == [1, 4]


def test_comparisons_of_whole_tensors_give_bools() -> None:
    a = hw.tensor([1.0, float("nan")])
    assert hw.allclose(a, a, equal_nan=True) is True and hw.allclose(a, a) is False
    assert hw.equal(hw.tensor([1, 2]), hw.tensor([1, 2])) is True
    assert hw.equal(hw.tensor([1, 2]), hw.tensor([[1, 2]])) is False
    with pytest.raises(TypeError, match="equal"):
        hw.equal(a, 1)


@pytest.mark.parametrize(("call", "want"), [
    (lambda: hw.tensor([5], dtype=hw.uint8).clamp(-1), [5]), (lambda: hw.tensor([5], dtype=hw.int32).clamp(max=2**62), [5]),
    (lambda: hw.tensor([5, -7], dtype=hw.int8).clamp(-1000, 3), [3, -7])])
def test_clamp_bounds_beyond_the_dtype_do_not_bind(call: Any, want: list) -> None:
    assert call().tolist() == want


def test_clamp_bound_that_nothing_satisfies_is_refused() -> None:
    with pytest.raises(RuntimeError, match="max -1 is outside the range of u8"):
        hw.tensor([5], dtype=hw.uint8).clamp(max=-1)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("name", ["add", "sub", "rsub", "addcmul"])
def test_negative_factors_wrap_around_like_products(name: str, dtype: str) -> None:
    def result(m):
        a, b = (m.tensor(v, dtype=getattr(m, dtype)) for v in ([2, 0, 4], [1, 3, 5]))
        return (m.addcmul(a, a, b, value=-1) if name == "addcmul" else getattr(m, name)(a, b, alpha=-1)).tolist()

    assert result(hw) == result(torch)


def test_a_factor_beyond_the_dtype_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="alpha 300 does not fit u8"):
        hw.add(hw.tensor([1], dtype=hw.uint8), 2, alpha=300)

op_test("ldexp", torch=torch.ldexp, dtypes=("float32", "float64", "int64"), grad=True, grad_args=(0,), samples=lambda: [
    Sample(randn(3, 4), integers(-4, 5, 4)), Sample(randn(3), fixed(np.array(2))), Sample(randn(2, 1), integers(-3, 3, 2, 3))])


@pytest.mark.parametrize("dtype, value, exponent", [
    ("float32", 1e-30, 130), ("float32", 1e30, -170), ("float64", 1e-300, 1030), ("float64", 3.0, 10**15), ("float16", 1e-4, 20), ("bfloat16", 3.0, -140),
    ("float16", 3.0, -(2**60))])
def test_ldexp_beyond_the_powers_that_are_numbers(dtype: str, value: float, exponent: int) -> None:
    got = hw.ldexp(hw.tensor([value], dtype=getattr(hw, dtype)), hw.tensor([exponent]))
    want = torch.tensor([value], dtype=getattr(torch, dtype)).double() * 2.0 ** max(-1070, min(exponent, 1030) if exponent < 1030 else 1023)
    want = want * 2.0**7 if exponent == 1030 else want * float("inf") if exponent > 1030 else want
    assert got.dtype is getattr(hw, dtype) and got.tolist() == want.to(getattr(torch, dtype)).tolist()


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "gcd", "lcm", "bitwise_left_shift", "bitwise_right_shift", "hypot", "logaddexp", "logaddexp2",
                                  "atan2", "nextafter", "copysign", "addcmul", "addcdiv"])
@pytest.mark.parametrize("kinds", [("bool", "uint8"), ("int64", "bool"), ("bool", "float32"), ("float32", "bool"), ("bfloat16", "int16"), ("float64", "uint8")])
def test_the_common_dtype_has_to_fit(name: str, kinds: tuple[str, str]) -> None:
    """An operand that an op does not take by itself is taken where it becomes another dtype first."""
    values = np.array([1.0, 0.0, 3.0]), np.array([1.0, 1.0, 7.0])
    a, b = ([m.tensor(v).to(getattr(m, k)) for v, k in zip(values, kinds)] for m in (hw, torch))
    extra = name.startswith("addc")
    try:
        want = getattr(torch, name)(*b, *b[1:] * extra)
    except (RuntimeError, NotImplementedError):
        pytest.skip("torch refuses this pair as well")
    got = getattr(hw, name)(*a, *a[1:] * extra)
    assert str(got.dtype)[10:] == str(want.dtype)[6:]
    np.testing.assert_allclose(got.double().numpy(), want.double().numpy(), rtol=1e-2 if "bfloat16" in kinds else 1e-6)


def test_what_no_promotion_mends_is_refused() -> None:
    for call in (lambda: hw.tensor([True]) % hw.tensor([True]), lambda: hw.gcd(hw.tensor([1]), hw.tensor([1.0])), lambda: hw.hypot(hw.tensor([1]), hw.tensor([1])),
                 lambda: hw.where(hw.tensor([1.0]), hw.tensor([1.0]), hw.tensor([1.0]))):
        with pytest.raises(TypeError, match="Convert it with .to()"):
            call()


@pytest.mark.parametrize("name, slope", [("atan2", 200 / (1.5**2 + 200**2)), ("lerp", 0.5), ("logaddexp", 0.0)])
def test_gradients_with_small_integers_do_not_wrap(name: str, slope: float) -> None:
    x = hw.tensor([1.5], requires_grad=True)
    other = hw.tensor([200], dtype=hw.uint8)
    getattr(hw, name)(x, other, *[0.5] * (name == "lerp")).backward()
    assert x.grad is not None and x.grad.item() == pytest.approx(slope, rel=1e-5)


def test_gradients_with_bool() -> None:
    mask = [True, False, True]
    for name in ("logaddexp", "logaddexp2", "lerp", "atan2", "hypot", "addcmul", "addcdiv"):
        grads = []
        for other in (hw.tensor(mask), hw.tensor(mask).float()):
            x = hw.tensor([1.5, 2.0, 3.0], requires_grad=True)
            getattr(hw, name)(x, *[other] * (2 if name in ("lerp", "addcmul", "addcdiv") else 1)).nan_to_num(0.0).sum().backward()
            assert x.grad is not None
            grads.append(x.grad.tolist())
        assert grads[0] == grads[1], name


def test_shifts_in_place() -> None:
    x = hw.tensor([8, 1], dtype=hw.uint8)
    same = x
    x <<= hw.tensor([1, 2])
    x >>= 1
    assert x is same and x.tolist() == [8, 2] and x.dtype is hw.uint8
