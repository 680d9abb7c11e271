"""Python numbers that a small dtype cannot hold: refused in words, or answered as int64 would answer. Never cut off in silence.

Every op of the registry is asked, at each place that takes a number, so a new op is covered when it is declared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import headwater as hw

RANGES = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1)}
SHORT = {"uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32"}
REFUSED = (RuntimeError, ValueError, TypeError, IndexError, OverflowError, MemoryError)
OPS = {n: i for n in hw._C.op_names() if not (i := hw._C.describe_op(n))["internal"] and not i["random"]}
VALUES = [1, 44, 3, 100]
SIZED = ("empty", "empty_like", "new_empty", "empty_strided")  # results without values


def places(info: dict) -> list[str]:
    """The arguments that take a number: inputs beside a tensor, and attributes that are numbers."""
    inputs = [i["name"] for i in info["inputs"] if not i["variadic"]]
    return (inputs if len(inputs) > 1 else []) + [a["name"] for a in info["attrs"] if a["kind"] in ("number", "float")]


def plausible(info: dict, dtype: str) -> dict[str, Any]:
    """Arguments by name with which most ops can be called: tensors of four elements, indices and axes 0."""
    given: dict[str, Any] = {}
    for i in info["inputs"]:
        if i["variadic"] or i["optional"]:
            continue
        if i["name"] == "index" or "float" not in " ".join(i["dtypes"]) and "int64" in i["dtypes"] and dtype not in i["dtypes"]:
            given[i["name"]] = hw.tensor([0, 2, 1, 1])
        elif i["dtypes"] == ["bool"]:
            given[i["name"]] = hw.tensor([True, False, True, False])
        else:
            given[i["name"]] = hw.tensor(VALUES).to(getattr(hw, dtype))
    for a in info["attrs"]:
        if a["name"] == "dtype" and not info["inputs"]:
            given["dtype"] = getattr(hw, dtype)
        elif a["required"]:
            given[a["name"]] = {"int": 0, "ints": (1, 1), "float": 1.0, "number": 1, "bool": False, "dtype": getattr(hw, dtype)}.get(a["kind"], "none")
    if info["name"] in ("linspace", "logspace"):
        given["steps"] = 3
    return given


def attempt(name: str, place: str, number: Any, dtype: str) -> tuple[list, Exception | None]:
    info = OPS[name]
    hw.manual_seed(0)
    given = plausible(info, dtype)
    given[place] = number
    try:
        function = getattr(hw, name, None) or getattr(hw.Tensor, name)
        result = function(given.pop(info["order"][0]), **given) if info["inputs"] else function(**given)
    except REFUSED as e:
        return [], e
    return [t for t in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(t, hw.Tensor)], None


def differs(got: list, wide: list, wraps: bool) -> str:
    """What the answer in a small dtype and the one in int64 disagree about."""
    for g, w in zip(got, wide):
        x, y = (np.asarray(hw._C.to_numpy(t)) for t in (g, w))
        if x.dtype.kind in "iu":
            y = y.astype(x.dtype) if wraps else y
            if not np.array_equal(x.astype("int64"), y.astype("int64")):
                return f"{x.ravel()[:4]} instead of {y.ravel()[:4]}"
        elif not np.allclose(x, y, rtol=1e-3, equal_nan=True):
            return f"{x.ravel()[:4]} instead of {y.ravel()[:4]}"
    return ""


def fault(name: str, place: str, number: Any, dtype: str) -> str:
    got, refusal = attempt(name, place, number, dtype)
    if refusal is not None:
        wide, also = attempt(name, place, number, "int64")
        text = str(refusal)
        if also is None and not (text.startswith(name) and SHORT[dtype] in text and f"{number}" in text.replace("+", "")):
            return f"the message names not all of op, dtype and number: {text}"
        return ""
    wide, refusal = attempt(name, place, number, "int64")
    return "" if refusal is not None else differs(got, wide, OPS[name]["numbers"] == "wraps" or (dtype == "uint8" and number < 0))  # torch: -1 is 255


CASES = [(n, p) for n in OPS if n not in SIZED for p in places(OPS[n])]
CALLABLE = [(n, p) for n, p in CASES if attempt(n, p, 1, "int16")[1] is None]


def test_most_ops_can_be_asked() -> None:
    names = {n for n, _ in CALLABLE}
    assert len(names) >= 60, sorted(names)
    assert {"add", "eq", "where", "fill_", "scatter", "index_fill", "masked_fill", "pad", "full", "arange", "clamp", "addcmul"} <= names


@pytest.mark.parametrize("name", sorted({n for n, _ in CALLABLE}))
def test_integers_beyond_the_range(name: str) -> None:
    found = [f"{place}={number} with {dtype}: {what}" for place in (p for n, p in CALLABLE if n == name) for dtype, (low, high) in RANGES.items()
             for number in (high + 1, low - 1, high + 45, 2**40) if name != "arange" or abs(number) < 10**6
             if (what := fault(name, place, number, dtype))]
    assert not found, f"{len(found)} silent or unclear answers:\n" + "\n".join(found[:20])


@pytest.mark.parametrize("name", sorted(n for n in OPS if OPS[n]["numbers"] == "stores"))
@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 1e30, 1j])
def test_what_is_stored_must_be_a_number_of_the_dtype(name: str, number: Any) -> None:
    place = OPS[name]["inputs"][-1]["name"]
    for dtype in (*RANGES, "int64"):
        if name == "where" and not isinstance(number, complex):
            continue  # promotes to a floating dtype
        _, refusal = attempt(name, place, number, dtype)
        if name == "where":
            assert refusal is None
        else:
            assert isinstance(refusal, RuntimeError) and "does not fit" in str(refusal), f"{dtype}: {refusal}"


def u8(m: Any) -> Any:
    return m.tensor([44, 50, 3]).to(m.uint8)


STORED: list[tuple[Callable, type[Exception]]] = [
    (lambda m: u8(m).__setitem__(0, 300), RuntimeError),
    (lambda m: u8(m).__setitem__(u8(m) > 44, 300), RuntimeError),
    (lambda m: u8(m).__setitem__(m.tensor([0, 1]), float("nan")), RuntimeError),
    (lambda m: u8(m).__setitem__(slice(0, 2), 1j), RuntimeError),
    (lambda m: u8(m).new_full((2,), 256), RuntimeError),
    (lambda m: m.tensor([300], dtype=m.uint8), RuntimeError),
    (lambda m: m.full((2,), float("inf"), dtype=m.int64), RuntimeError),
    (lambda m: m.linspace(0, 300, 4, dtype=m.uint8), RuntimeError),
    (lambda m: m.masked_fill(m.ones(2, dtype=m.float16), m.tensor([True, False]), -1e9), RuntimeError),
    (lambda m: u8(m) ** 256, RuntimeError),
    (lambda m: m.index_fill(u8(m), 0, m.tensor([0]), m.tensor(300)), RuntimeError),
    (lambda m: u8(m).index_fill_(0, m.tensor([0]), m.tensor(float("nan"))), RuntimeError),
    (lambda m: m.index_fill(m.ones(2).to(m.float16), 0, m.tensor([0]), m.tensor(1e5)), RuntimeError),
    (lambda m: m.addcmul(u8(m), u8(m), u8(m), value=300), RuntimeError),
    (lambda m: m.index_add(u8(m), 0, m.tensor([0]), u8(m)[:1], alpha=300), RuntimeError),
    (lambda m: m.nn.functional.threshold(u8(m), 3, 300), RuntimeError),
    (lambda m: u8(m) + 2**70, OverflowError),
    (lambda m: m.ones(2) * 2**70, OverflowError),
    (lambda m: m.add(m.ones(2), m.ones(2), alpha=1j), RuntimeError),
]


@pytest.mark.parametrize("call", range(len(STORED)))
def test_torch_refuses_too(call: int) -> None:
    function, error = STORED[call]
    with pytest.raises(error, match="fit|complex"):
        function(hw)
    with pytest.raises(error):
        function(torch)


def test_fractions_are_cut_off_as_in_torch() -> None:
    for m in (hw, torch):
        x = u8(m)
        x[0] = 1.5
        assert x.fill_(2.9).tolist() == [2] * 3 and m.masked_fill(u8(m), u8(m) > 44, 1.5).tolist() == [44, 1, 3]
        assert m.index_fill(u8(m), 0, m.tensor([0]), m.tensor(1.5)).tolist() == [1, 50, 3]


def test_comparisons_with_numbers_beyond_the_range() -> None:
    x = u8(hw)
    assert (x == 300).tolist() == [False] * 3 and (x < 300).tolist() == [True] * 3 and (x > -1).tolist() == [True] * 3
    assert (300 > x).tolist() == [True] * 3 and hw.isin(x, 300).tolist() == [False] * 3 and hw.searchsorted(hw.tensor([1, 2]).to(hw.uint8), 300).item() == 2
    assert hw.compile(lambda t: (t != 300) & (t >= -1))(x).tolist() == [True] * 3
    assert x.lt_(300).tolist() == [1, 1, 1]


def test_sums_wrap_around_as_tensors_do() -> None:
    for m in (hw, torch):
        assert (u8(m) + 300).tolist() == [88, 94, 47] and (u8(m) - 45).tolist() == [255, 5, 214] and (u8(m) & 300).tolist() == [44, 32, 0]


def test_complex_factors_of_complex_tensors_are_refused() -> None:
    z = hw.tensor([1 + 1j])
    for call in (lambda: hw.add(z, z, alpha=1j), lambda: hw.addcmul(z, z, z, value=1j), lambda: hw.addmm(z[None], z[None], z[None], beta=1j)):
        with pytest.raises(RuntimeError, match="complex numbers are not implemented here"):
            call()


def test_a_float_may_be_an_integer_of_any_size() -> None:
    assert hw.isclose(hw.ones(1), hw.ones(1), rtol=2**70).item()
    with pytest.raises(OverflowError):
        hw.isclose(hw.ones(1), hw.ones(1), rtol=10**400)


def test_one_number_of_linspace_is_the_first() -> None:
    assert hw.linspace(3, 5, 1).tolist() == torch.linspace(3, 5, 1).tolist() == [3]
    assert hw.topk(hw.tensor(2.5), 0).values.item() == torch.topk(torch.tensor(2.5), 0).values.item() == 2.5
    with pytest.raises(ValueError, match="beyond the 0 elements"):
        hw.as_strided(hw.empty(0), (), ())


def test_what_does_not_fit_is_refused_before_anything_is_written() -> None:
    x = u8(hw)
    with pytest.raises(RuntimeError, match="index_fill.*value 300 does not fit uint8"):
        x.index_fill_(0, hw.tensor([0]), hw.tensor(300))
    assert x.tolist() == u8(hw).tolist()
    f = hw.compile(lambda t, v: t.index_fill(0, hw.tensor([1]), v))
    assert f(x, hw.tensor(255)).tolist() == [44, 255, 3]
    with pytest.raises(RuntimeError, match="value 256 does not fit uint8"):
        f(x, hw.tensor(256))


@pytest.mark.parametrize("alpha", [-1, 2, 0, True])
def test_the_factor_of_truth_values_is_one(alpha: Any) -> None:
    for a, b in ((True, True), (True, False), (False, True), (False, False)):
        results = [(m.add(m.tensor([a]), m.tensor([b]), alpha=alpha).tolist(), m.tensor([a]).add_(m.tensor([b]), alpha=alpha).tolist()) for m in (hw, torch)]
        assert results[0] == results[1]
        x, y = hw.tensor([a]), hw.tensor([b])
        assert hw.compile(lambda x, y: ~hw.add(x, y, alpha=alpha))(x, y).tolist() == [not v for v in results[0][0]]
    with pytest.raises(RuntimeError, match="cannot be subtracted"):
        hw.sub(hw.tensor([True]), hw.tensor([True]), alpha=alpha)
