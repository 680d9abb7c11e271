"""Operators along an axis in Headwater and in torch: the last axis, the first, one between, all. Same options as operators.py.

    python benchmarks/axes.py [--threads 1 2] [--dtypes float32 bfloat16] [--only REGEX] [--rounds 9] [--markdown FILE]
"""
from __future__ import annotations

from collections.abc import Callable

import operators
import torch
from operators import Case, integers, pair, unary

import headwater as hw

CASES: dict[str, Callable[[str], Case]] = {}
SHAPES = {"rows": (4096, 1024), "columns": (1000, 1000), "power of two": (1024, 1024), "image": (16, 64, 56, 56), "narrow": (100000, 10)}
AXES = {"rows": -1, "columns": 0, "power of two": 0, "image": 1, "narrow": 0}


def add(name: str, *where: str, **kwargs: object) -> None:
    for w in where:
        CASES[f"{name} {w} {'x'.join(map(str, SHAPES[w]))}"] = unary(name, *SHAPES[w], dim=AXES[w], **kwargs)


def backward(name: str, where: str) -> Callable[[str], Case]:
    def make(d: str) -> Case:
        x, tx = pair(d, *SHAPES[where], grad=True)
        g, tg = pair(d, *SHAPES[where])
        y, ty = getattr(hw, name)(x, AXES[where]), getattr(torch, name)(tx, AXES[where])
        return (lambda: hw.autograd.grad(y, x, g, retain_graph=True)), (lambda: torch.autograd.grad(ty, tx, tg, retain_graph=True))

    return make


for _name in ("softmax", "log_softmax"):
    add(_name, "rows", "columns", "power of two", "image", "narrow")
    for _where in ("rows", "columns", "image"):
        CASES[f"{_name} backward {_where}"] = backward(_name, _where)
for _name in ("var", "std", "logsumexp", "argmax", "max", "cumsum", "cumprod", "cummax"):
    add(_name, "rows", "columns", "power of two", "image", "narrow")
for _name in ("var", "argmax"):
    CASES[f"{_name} all 4096x1024"] = unary(_name, 4096, 1024)
CASES["var image axes 0 2 3"] = unary("var", 16, 64, 56, 56, dim=(0, 2, 3))
CASES["logsumexp all 4096x1024"] = unary("logsumexp", 4096, 1024, dim=(0, 1))
CASES["cumsum one line"] = unary("cumsum", 4096 * 1024, dim=0)
CASES["median rows 1000x1000"] = unary("median", 1000, 1000, dim=-1)
CASES["median columns 1000x1000"] = unary("median", 1000, 1000, dim=0)
CASES["sort rows 1000x1000"] = unary("sort", 1000, 1000, dim=-1)
CASES["sort columns 1000x1000"] = unary("sort", 1000, 1000, dim=0)
CASES["topk rows 1000x1000"] = unary("topk", 1000, 1000, k=10, dim=-1)
CASES["topk columns 1000x1000"] = unary("topk", 1000, 1000, k=10, dim=0)


def one_hot(_: str) -> Case:
    i, ti = integers(1000, 8192)
    return (lambda: hw.one_hot(i, 1000)), (lambda: torch.nn.functional.one_hot(ti, 1000))


CASES["one_hot 8192 of 1000"] = one_hot

if __name__ == "__main__":
    operators.main(CASES, __doc__)
