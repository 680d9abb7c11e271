"""Seeded mixes of dtypes, Python numbers, 0-d tensors and in-place writes: dtype, values and refusals are torch's.

    HEADWATER_MIXED=20000 pytest tests/ops/test_mixed_dtypes.py
"""

from __future__ import annotations

import os
import random
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import headwater as hw
from convert import to_numpy

CASES = int(os.environ.get("HEADWATER_MIXED", "300"))
FIRST = int(os.environ.get("HEADWATER_MIXED_SEED", "0"))
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
NUMBERS = (True, False, 0, 1, 2, 3, -1, -2, 100, 127, 128, 200, 255, 256, 300, -128, -129, -200, 32768, 2**31, -(2**31) - 1, 2**40, 2**62, -(2**63),
           0.0, 0.5, -1.5, 2.0, 3.7, -3.7, 1e10, 300.5, 1j)
BINARY = ("add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "pow", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge",
          "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "logical_and", "logical_or", "logical_xor",
          "atan2", "fmax", "fmin", "gcd", "lcm", "hypot", "copysign", "xlogy", "logaddexp", "heaviside", "where", "float_power")
OPERATORS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b, "//": lambda a, b: a // b,
             "%": lambda a, b: a % b, "**": lambda a, b: a**b, "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
             "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b, "==": lambda a, b: a == b}
UNARY = ("abs", "neg", "sign", "square", "sqrt", "exp", "floor", "ceil", "round", "trunc", "bitwise_not", "logical_not", "reciprocal", "sigmoid", "positive",
         "sum", "prod", "mean", "cumsum", "cumprod", "amax", "argmax", "any", "all", "relu", "sgn", "frac", "std", "median", "nansum", "diff", "isfinite")
INPLACE = ("add_", "sub_", "mul_", "div_", "floor_divide_", "remainder_", "pow_", "fill_", "copy_", "clamp_", "bitwise_and_", "bitwise_or_", "eq_", "lt_",
           "masked_fill_", "setitem", "logical_and_", "fmod_", "lerp_", "addcmul_", "index_fill_", "clamp_min_", "iadd", "imul", "ipow")
MIXED = ("addcmul", "addcdiv", "clamp", "clamp_min", "clamp_max", "lerp", "add_alpha", "sub_alpha", "rsub", "masked_fill", "full", "full_like", "where_numbers", "cat",
         "stack", "tensor", "arange", "to", "index_fill", "scatter_value", "pad", "new_full", "isin", "bucketize")


def given(r: random.Random) -> Any:
    """An operand, as a recipe: a Python number, or (dtype, shape, values)."""
    if r.random() < 0.35:
        return r.choice(NUMBERS)
    return tensor_of(r)


def tensor_of(r: random.Random, dtypes: tuple[str, ...] = DTYPES) -> tuple:
    dtype, shape = r.choice(dtypes), r.choice(((), (3,), (2, 3), (3,), (1,)))
    rng = np.random.default_rng(r.randrange(10**6))
    x = rng.integers(-6, 7, shape) if r.random() < 0.7 else rng.integers(-300, 300, shape) // (1 if dtype not in ("int8", "uint8") else 3)
    if "float" in dtype or "complex" in dtype:
        x = x + rng.choice([0.0, 0.25, 0.5], shape)
    return dtype, np.asarray(np.abs(x) if dtype == "uint8" else x)


def build(m: Any, v: Any) -> Any:
    if isinstance(v, tuple) and len(v) == 2 and isinstance(v[0], str):
        dtype = getattr(m, v[0])
        return m.tensor(np.array(v[1])).to(dtype) if v[0] != "bool" else m.tensor(np.array(v[1]) > 0)
    return v


def call(m: Any, kind: str, name: str, args: list) -> Any:
    """The call on library m, with fresh tensors."""
    a = [build(m, v) for v in args]
    if kind == "operator":
        return OPERATORS[name](a[0], a[1])
    if kind == "inplace":
        return inplace(m, name, a)
    if kind == "mixed":
        return mixed(m, name, a)
    if name == "where":
        return m.where(m.tensor([True, False, True]), a[0], a[1])
    if name in ("cumsum", "cumprod", "argmax"):
        return getattr(m, name)(a[0], 0)
    return getattr(m, name)(*a)


def inplace(m: Any, name: str, a: list) -> Any:
    x, y, *rest = a
    if name == "setitem":
        x[..., :2] = y
    elif name == "masked_fill_":
        x.masked_fill_(m.tensor(True), y)
    elif name == "index_fill_":
        x.index_fill_(0, m.tensor([0]), y)
    elif name == "clamp_":
        x.clamp_(y, *rest)
    elif name == "addcmul_":
        x.addcmul_(y, *rest, value=2)
    elif name == "lerp_":
        x.lerp_(y, 0.5)
    elif name == "iadd":
        x += y
    elif name == "imul":
        x *= y
    elif name == "ipow":
        x **= y
    else:
        getattr(x, name)(y)
    return x


def mixed(m: Any, name: str, a: list) -> Any:
    x, y, z = a
    forms = {"add_alpha": lambda: m.add(x, y, alpha=z), "sub_alpha": lambda: m.sub(x, y, alpha=z), "addcmul": lambda: m.addcmul(x, y, z, value=2),
             "addcdiv": lambda: m.addcdiv(x, y, z, value=0.5), "masked_fill": lambda: m.masked_fill(x, m.tensor(True), y),
             "full": lambda: m.full((2,), y), "full_like": lambda: m.full_like(x, y), "where_numbers": lambda: m.where(m.tensor([True, False]), y, z),
             "cat": lambda: m.cat([x.reshape(-1), y.reshape(-1)]), "stack": lambda: m.stack([x.reshape(-1)[:1], y.reshape(-1)[:1]]),
             "tensor": lambda: m.tensor([y, z]), "arange": lambda: m.arange(y), "to": lambda: x.to(y.dtype), "index_fill": lambda: m.index_fill(x, 0, m.tensor([0]), y),
             "scatter_value": lambda: m.scatter(x, 0, m.tensor([0]), y), "pad": lambda: m.nn.functional.pad(x, (1, 1), value=y), "new_full": lambda: x.new_full((2,), y),
             "isin": lambda: m.isin(x, y), "bucketize": lambda: m.bucketize(x, m.sort(y.reshape(-1))[0])}
    return forms[name]() if name in forms else getattr(m, name)(x, y, z) if name != "clamp_min" and name != "clamp_max" else getattr(m, name)(x, y)


def draw(r: random.Random) -> tuple[str, str, list]:
    kind = r.choice(("binary", "binary", "operator", "operator", "unary", "inplace", "inplace", "mixed"))
    if kind == "binary":
        return kind, r.choice(BINARY), [tensor_of(r), given(r)] if r.random() < 0.8 else [given(r), tensor_of(r)]
    if kind == "operator":
        return kind, r.choice(list(OPERATORS)), [tensor_of(r), given(r)] if r.random() < 0.5 else [given(r), tensor_of(r)]
    if kind == "unary":
        return kind, r.choice(UNARY), [tensor_of(r)]
    if kind == "inplace":
        name = r.choice(INPLACE)
        return kind, name, [tensor_of(r), given(r), *([given(r)] if name == "clamp_" else [tensor_of(r)] if name == "addcmul_" else [])]
    return kind, r.choice(MIXED), [tensor_of(r), given(r), given(r)]


def text(args: list) -> str:
    return ", ".join(f"{v[0]}{list(v[1].shape)}{v[1].ravel().tolist()}" if isinstance(v, tuple) else repr(v) for v in args)


def attempt(m: Any, kind: str, name: str, args: list) -> tuple[Any, Exception | None]:
    try:
        return call(m, kind, name, args), None
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, OverflowError, ZeroDivisionError, AttributeError) as e:
        return None, e


RANGES = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1)}
COMPARES = ("eq", "ne", "lt", "le", "gt", "ge", "eq_", "lt_", "<", ">=", "==", "isin")


def beyond(args: list) -> bool:
    """Whether a Python integer lies outside of the range of a tensor's dtype. torch cuts it off; tests/errors/test_numbers.py says what happens here."""
    ranges = [RANGES[v[0]] for v in args if isinstance(v, tuple) and v[0] in RANGES]
    return any(isinstance(v, int) and not low <= v <= high for v in args for low, high in ranges)


def widened(v: Any) -> Any:
    return ("int64", v[1]) if isinstance(v, tuple) and v[0] in RANGES else v


def difference(seed: int) -> str:
    """What differs from torch in this call, or nothing."""
    kind, name, args = draw(random.Random(seed))
    outside = beyond(args)
    call_text = f"{seed}: {kind} {name}({text(args)})"
    want, refused = attempt(torch, kind, name, args if not outside or name not in COMPARES else [widened(v) for v in args])
    got, error = attempt(hw, kind, name, args)
    if refused is not None or error is not None:
        # A dtype refused in words, with the remedy, is a limit and no wrong answer.
        if error is not None and outside and "does not fit" in str(error):
            return ""  # torch cuts the number off, to 8 bits and the like
        if error is not None and refused is None and "not implemented" not in str(error) and not limited(error):
            return f"{call_text}: headwater refuses: {type(error).__name__} {error}"
        if name.startswith("index_fill") and "without overflow" in str(refused):
            return ""  # a 0-d tensor is converted as by .to()
        if refused is not None and error is None and not allowed(str(refused)):
            return f"{call_text}: torch refuses: {refused}; headwater: {got}"
        return ""
    if not isinstance(want, torch.Tensor):
        return ""
    if outside and name in COMPARES:
        want = want.to(getattr(torch, str(got.dtype).rsplit(".", 1)[-1]))
    if str(got.dtype).rsplit(".", 1)[-1] != str(want.dtype).rsplit(".", 1)[-1]:
        return f"{call_text}: {got.dtype}, torch has {want.dtype}"
    x, y = to_numpy(got), to_numpy(want)
    if x.shape != y.shape:
        return f"{call_text}: {x.shape}, torch has {y.shape}"
    tolerance = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "complex64": 1e-5}.get(str(want.dtype)[6:], 1e-9)
    same = np.allclose(x.astype("complex128"), y.astype("complex128"), rtol=tolerance, atol=tolerance, equal_nan=True) if x.dtype.kind in "fc" else np.array_equal(x, y)
    return "" if same else f"{call_text}: {x.ravel()[:6]}, torch has {y.ravel()[:6]}"


def limited(error: Exception) -> bool:
    """A dtype refused in words, with the remedy."""
    return "Convert it with .to()" in str(error)


def allowed(refusal: str) -> bool:
    """What torch has not written for a dtype, or for numbers beside tensors, may be offered."""
    kinds = ("not implemented for", "not supported", "Unsupported", "must be Tensor, not", "must be Number, not", "invalid combination", "different dtypes", "expected dtype")
    return any(kind in refusal for kind in kinds)


@pytest.mark.parametrize("part", range(3))
def test_mixed_dtypes(part: int) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = [d for d in (difference(seed) for seed in range(FIRST + part, FIRST + CASES, 3)) if d]
    assert not found, f"{len(found)} calls differ:\n" + "\n".join(found[:40])
