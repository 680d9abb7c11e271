"""The generic op test: one call of op_test per op makes a test of every rule the op declares, from samples.

    op_test("expm1", torch=torch.expm1, samples=lambda: [Sample(randn(3, 4)), Sample(randn(0)), Sample(randn())],
            dtypes=FLOATS + COMPLEX + INTS, grad=True, grad2=True)

Arrays of samples are float64 or int64 NumPy arrays. Float arrays become the dtype under test. Integer arrays become it too
when a sample has no float array; beside float arrays they are indices and stay int64. Boolean arrays and `fixed(array)` stay.
A tuple or list with arrays is a list of tensors.
"""

from __future__ import annotations

import functools
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import checks
import headwater as hw
from convert import Fixed

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTS = ("uint8", "int8", "int16", "int32", "int64")
BOOL = ("bool",)
ALL = FLOATS + COMPLEX + INTS + BOOL

TESTED: dict[str, str] = {}  # op -> test module; test_registry.py asks it

_rng = np.random.default_rng(0)


def randn(*shape: int) -> np.ndarray:
    """Normal values that stay clear of zero and of half integers, where functions have kinks and rounding flips."""
    x = np.asarray(_rng.standard_normal(shape))
    x = np.where(np.abs(x) < 0.05, x + 0.1, x)
    return np.where(np.abs(x * 2 - np.rint(x * 2)) < 0.02, x + 0.03, x)


def uniform(low: float, high: float, *shape: int) -> np.ndarray:
    return np.asarray(_rng.uniform(low, high, shape))


def integers(low: int, high: int, *shape: int) -> np.ndarray:
    """From low to high - 1, int64."""
    return np.asarray(_rng.integers(low, high, shape), dtype=np.int64)


def booleans(*shape: int) -> np.ndarray:
    return np.asarray(_rng.random(shape) < 0.5)


def permutation(*shape: int) -> np.ndarray:
    """All different, at distance 0.1 and more: for sort, max, median, whose gradients jump at ties."""
    n = int(np.prod(shape))
    return (_rng.permutation(n).reshape(shape) - n / 2) * 0.1 + 0.03


def fixed(array: Any) -> Fixed:
    """An array that keeps its dtype whatever dtype is under test."""
    return Fixed(array)


class Sample:
    """Arguments of one call. `dtypes` limits the dtypes it is meant for, `grad=False` leaves it out of gradient checks,
    `captured=False`: the call looks at data, so that hw.compile refuses it (or for which dtypes it does not)."""

    def __init__(self, *args: Any, sample_dtypes: tuple[str, ...] | None = None, sample_grad: bool = True,
                 sample_sbp: bool = True, sample_captured: bool | tuple[str, ...] = True, **kwargs: Any):
        self.args, self.kwargs = args, kwargs
        self.dtypes, self.grad, self.sbp, self.captured = sample_dtypes, sample_grad, sample_sbp, sample_captured

    @functools.cached_property
    def text(self) -> str:
        def text(v: Any) -> str:
            if isinstance(v, (np.ndarray, Fixed)):
                return f"{v.dtype.name}{list(v.shape)}"
            return "[" + ", ".join(map(text, v)) + "]" if isinstance(v, (list, tuple)) else repr(v)

        parts = [text(a) for a in self.args] + [f"{k}={text(v)}" for k, v in self.kwargs.items()]
        return f"({', '.join(parts)})"

    def __repr__(self) -> str:
        return self.text


@dataclass
class OpTest:
    """All that op_test was told; the checks read it."""

    name: str
    function: Callable
    oracle: Callable | None
    oracle_kind: str  # "torch", "numpy" or "none"
    sample_maker: Callable[[], list[Sample]]
    dtypes: tuple[str, ...]
    grad: bool
    grad2: bool
    tol: dict[str, float]
    grad_tol: float
    random: bool
    same_dtype: bool
    grad_args: tuple[int, ...] | None
    sbp: bool
    strided: bool
    captured: bool
    errors: list = field(default_factory=list)

    @property
    def info(self) -> dict:
        return hw._C.describe_op(self.name)

    def samples(self, dtype: str | None = None) -> list[Sample]:
        global _rng
        _rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        made = self.sample_maker()
        return [s for s in made if dtype is None or s.dtypes is None or dtype in s.dtypes]

    def tolerance(self, dtype: str) -> float:
        return self.tol.get(dtype, checks.TOLERANCE[dtype])


def op_test(name: str, *, torch: Callable | None = None, numpy: Callable | None = None,
            samples: Callable[[], list[Sample]], dtypes: tuple[str, ...] = FLOATS, grad: bool = False,
            grad2: bool = False, tol: dict[str, float] | float | None = None, grad_tol: float = 1e-5,
            errors: list | tuple = (), function: Callable | None = None, random: bool = False,
            same_dtype: bool = True, grad_args: tuple[int, ...] | None = None, sbp: bool = True,
            strided: bool = True, captured: bool = True) -> None:
    """Makes the tests of op `name` in the calling module.

    torch, numpy: the oracle, called with the same arguments. `function`: what to call instead of hw.<name>, as
    hw.nn.functional.<name>. `random`: values are not compared, only dtype, shape and repeatability under a seed.
    `same_dtype=False`: the oracle's dtype is not compared. `grad_args`: positions of the arguments to differentiate
    (default: all float arrays). `captured=False`: the op looks at data, so hw.compile refuses it. tol: one number for all
    dtypes or a dict. errors: (callable(hw), exception, text in message).
    """
    if isinstance(tol, (int, float)):
        tol = dict.fromkeys(ALL, float(tol))
    kind = "torch" if torch else "numpy" if numpy else "none"
    test = OpTest(name, function or getattr(hw, name, None) or _by_name(name), torch or numpy, kind, samples, tuple(dtypes),
                  grad, grad2, dict(tol or {}), grad_tol, random, same_dtype, grad_args, sbp, strided, captured, list(errors))
    module = sys._getframe(1).f_globals
    TESTED[name] = module["__name__"]
    for suffix, maker in checks.TESTS.items():
        made = maker(test)
        if made is not None:
            made.__name__ = made.__qualname__ = f"test_{name}_{suffix}"
            assert made.__name__ not in module, f"op_test({name!r}) twice in {module['__name__']}"
            module[made.__name__] = made


def _by_name(name: str) -> Callable:
    """An op that is not there yet fails in its own tests, not while the module is collected."""

    def call(*args: Any, **kwargs: Any) -> Any:
        pytest.fail(f"headwater has no function {name}")

    return call
