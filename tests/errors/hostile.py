"""Hostile arguments for ops, as descriptions that are built once for Headwater and once for torch."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

HUGE = 2**63 - 1
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
SHAPES = ((), (0,), (1,), (2,), (3,), (2, 3), (3, 2), (1, 3), (2, 0), (2, 3, 4), (1, 2, 4, 4), (2, 2, 3, 3))
INTEGERS = (0, 1, 2, 3, 4, -1, -2, -3, -7, 7, 100, 2**31, -(2**31), 2**40, HUGE, -HUGE - 1)
FLOATS = (0.0, -0.0, 0.5, 1.0, -1.0, 2.0, 1e-30, 1e30, 1e308, float("nan"), float("inf"), float("-inf"))
WORDS = ("none", "mean", "sum", "tanh", "floor", "trunc", "linear", "nearest", "constant", "reflect", "replicate", "bogus", "")


class TensorSpec:
    """A tensor to be: values come from a seed, so both libraries get the same."""

    def __init__(self, shape: tuple[int, ...], dtype: str, layout: str, seed: int, special: bool):
        self.shape, self.dtype, self.layout, self.seed, self.special = shape, dtype, layout, seed, special

    def array(self) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        x = rng.integers(-4, 6, self.shape) if "int" in self.dtype else rng.standard_normal(self.shape)
        x = np.asarray(x)
        if self.special and x.size and "int" not in self.dtype:
            x.ravel()[0] = (np.nan, np.inf, -np.inf, 0.0)[self.seed % 4]
        if self.dtype.startswith("uint"):
            x = np.abs(x)
        return np.asarray(x > 0 if self.dtype == "bool" else x)

    def build(self, lib: Any) -> Any:
        x = self.array()
        if self.layout == "reversed" and x.ndim > 1:
            axes = tuple(range(x.ndim))[::-1]
            return self.made(lib, np.ascontiguousarray(x.transpose(axes))).permute(axes)
        if self.layout == "expanded" and x.ndim > 0 and x.shape[0] > 0:
            return self.made(lib, np.ascontiguousarray(x[:1])).expand(x.shape)
        return self.made(lib, x)

    def made(self, lib: Any, x: np.ndarray) -> Any:
        return lib.from_numpy(x).to(getattr(lib, self.dtype))

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}{'' if self.layout == 'plain' else ' ' + self.layout}#{self.seed}"


class DTypeSpec:
    def __init__(self, name: str):
        self.name = name

    def build(self, lib: Any) -> Any:
        return getattr(lib, self.name)

    def __repr__(self) -> str:
        return self.name


def build(v: Any, lib: Any) -> Any:
    if isinstance(v, (TensorSpec, DTypeSpec)):
        return v.build(lib)
    if isinstance(v, (list, tuple)):
        return type(v)(build(x, lib) for x in v)
    return v


class Hostile:
    """Draws arguments for the ops' declarations. Most of each call is plausible, so that it gets past the first check."""

    def __init__(self, seed: int):
        self.r = random.Random(seed)
        self.shape: tuple[int, ...] = ()
        self.dtype = "float32"

    def tensor(self, dtypes: list[str]) -> TensorSpec:
        r = self.r
        shape = self.shape if r.random() < 0.7 else r.choice(SHAPES)
        dtype = self.dtype if r.random() < 0.7 and self.dtype in dtypes else r.choice(DTYPES if r.random() < 0.2 else dtypes)
        layout = r.choice(("plain", "plain", "reversed", "expanded"))
        return TensorSpec(shape, dtype, layout, r.randrange(10**6), r.random() < 0.2)

    def junk(self) -> Any:
        return self.r.choice((None, "x", "", b"y", [], (), {}, object, 1.5, HUGE, 2**64, -(2**70), float("nan"), 1 + 2j, True, [None], ["a"], [[1]],
                              self.tensor(list(DTYPES)), [self.tensor(list(DTYPES))], DTypeSpec("float32"), range(3)))

    def input(self, facts: dict) -> Any:
        r = self.r
        if r.random() < 0.06:
            return self.junk()
        if facts["variadic"]:
            return [self.tensor(facts["dtypes"]) for _ in range(r.choice((0, 1, 2, 2, 3)))]
        if facts["optional"] and r.random() < 0.5:
            return None
        if r.random() < 0.1:
            return r.choice((2, -1, 0, 2.5, True, HUGE))
        return self.tensor(facts["dtypes"])

    def integer(self) -> int:
        return self.r.choice(INTEGERS[:8]) if self.r.random() < 0.75 else self.r.choice(INTEGERS)

    def attr(self, facts: dict) -> Any:
        r, kind = self.r, facts["kind"]
        if r.random() < 0.08:
            return self.junk()
        if facts["nullable"] and r.random() < 0.4:
            return None
        if kind == "int":
            return self.integer()
        if kind == "ints":
            if r.random() < 0.2:
                return self.integer()
            n = r.choice((0, 1, 1, 2, 2, 3, len(self.shape), len(self.shape)))
            return r.choice((list, tuple))(self.integer() for _ in range(n))
        if kind == "bool":
            return r.random() < 0.5
        if kind == "float":
            return r.choice(FLOATS)
        if kind == "floats":
            return [r.choice(FLOATS) for _ in range(r.randrange(4))]
        if kind == "number":
            return r.choice((*FLOATS, 0, 1, 2, -1, -3, True, HUGE))
        if kind == "str":
            return facts["default"] if r.random() < 0.4 and facts["default"] else r.choice(WORDS)
        if kind == "dtype":
            return DTypeSpec(r.choice(DTYPES))
        return self.junk()

    def call(self, info: dict) -> tuple[list, dict]:
        """Positional and keyword arguments for one call of the op."""
        r = self.r
        self.shape = r.choice(SHAPES)
        self.dtype = r.choice(("float32", "float32", "float64", "int64", "bfloat16", r.choice(DTYPES)))
        inputs = {i["name"]: i for i in info["inputs"]}
        attrs = {a["name"]: a for a in info["attrs"]}
        args: list = []
        kwargs: dict = {}
        positional = True
        for name in info["order"]:
            if name in inputs:
                value, needed = self.input(inputs[name]), not inputs[name]["optional"]
            else:
                facts = attrs[name]
                value, needed = self.attr(facts), facts["required"]
                positional = positional and not facts["keyword_only"]
            if r.random() < (0.03 if needed else 0.5):
                positional = False  # left out: what follows goes by name
                continue
            if positional:
                args.append(value)
            else:
                kwargs[name] = value
        if r.random() < 0.02:
            kwargs["no_such_argument"] = 1
        if r.random() < 0.02:
            args.append(self.junk())
        return args, kwargs
