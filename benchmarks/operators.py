"""The operator table: each case in Headwater and in torch, same shapes, dtype and thread count, timed in turns.

    python benchmarks/operators.py [--threads 1 2] [--dtypes float32 bfloat16] [--only REGEX] [--rounds 9] [--markdown FILE]
"""
from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import headwater as hw
from paired import compare, seconds

Case = tuple[Callable[[], object], Callable[[], object]]
CASES: dict[str, Callable[[str], Case]] = {}
rng = np.random.default_rng(0)


def case(name: str) -> Callable[[Callable[[str], Case]], Callable[[str], Case]]:
    def add(f: Callable[[str], Case]) -> Callable[[str], Case]:
        CASES[name] = f
        return f

    return add


def pair(dtype: str, *shape: int, grad: bool = False) -> tuple[Any, Any]:
    """The same random values in both frameworks."""
    a = rng.standard_normal(shape).astype("float32")
    ours, theirs = hw.tensor(a).to(getattr(hw, dtype)), torch.tensor(a).to(getattr(torch, dtype))
    return (ours.requires_grad_(), theirs.requires_grad_()) if grad else (ours, theirs)


def integers(high: int, *shape: int) -> tuple[Any, Any]:
    a = rng.integers(0, high, shape)
    return hw.tensor(a), torch.tensor(a)


def matmul(m: int, n: int, k: int) -> Callable[[str], Case]:
    def make(d: str) -> Case:
        a, ta = pair(d, m, k)
        b, tb = pair(d, k, n)
        return (lambda: hw.matmul(a, b)), (lambda: torch.matmul(ta, tb))

    return make


def conv(ci: int, co: int, size: int, kernel: int, stride: int = 1, groups: int = 1, batch: int = 1) -> Callable[[str], Case]:
    def make(d: str) -> Case:
        x, tx = pair(d, batch, ci, size, size)
        w, tw = pair(d, co, ci // groups, kernel, kernel)
        p = kernel // 2
        return ((lambda: hw.conv2d(x, w, stride=stride, padding=p, groups=groups)),
                (lambda: torch.conv2d(tx, tw, stride=stride, padding=p, groups=groups)))

    return make


def unary(name: str, *shape: int, **kwargs: Any) -> Callable[[str], Case]:
    def make(d: str) -> Case:
        x, tx = pair(d, *shape)
        ours, theirs = getattr(hw, name), getattr(torch, name, None) or getattr(torch.nn.functional, name)
        return (lambda: ours(x, **kwargs)), (lambda: theirs(tx, **kwargs))

    return make


CASES["matmul 1024^3"] = matmul(1024, 1024, 1024)
CASES["matmul 4096x4096x1024"] = matmul(4096, 4096, 1024)
CASES["conv 3x3 64@56"] = conv(64, 64, 56, 3)
CASES["conv 3x3 256@14"] = conv(256, 256, 14, 3)
CASES["conv 1x1 1024->256@14"] = conv(1024, 256, 14, 1)
CASES["conv stem 7x7/2 3->64@224"] = conv(3, 64, 224, 7, 2)
CASES["conv depthwise 3x3 96@112"] = conv(96, 96, 112, 3, groups=96)
CASES["softmax 4096x1024"] = unary("softmax", 4096, 1024, dim=-1)
CASES["gelu 4096x1024"] = unary("gelu", 4096, 1024)
CASES["sum axis 0 4096x1024"] = unary("sum", 4096, 1024, dim=0)
CASES["sum axis 1 4096x1024"] = unary("sum", 4096, 1024, dim=1)
CASES["sum all 4096x1024"] = unary("sum", 4096, 1024)


@case("layer_norm 4096x1024")
def _(d: str) -> Case:
    x, tx = pair(d, 4096, 1024)
    w, tw = pair(d, 1024)
    b, tb = pair(d, 1024)
    return (lambda: hw.layer_norm(x, (1024,), w, b)), (lambda: torch.nn.functional.layer_norm(tx, (1024,), tw, tb))


@case("transpose copy 4096x1024")
def _(d: str) -> Case:
    x, tx = pair(d, 4096, 1024)
    return (lambda: x.t().contiguous()), (lambda: tx.t().contiguous())


@case("index_select 8192 of 30000x256")
def _(d: str) -> Case:
    x, tx = pair(d, 30000, 256)
    i, ti = integers(30000, 8192)
    return (lambda: hw.index_select(x, 0, i)), (lambda: torch.index_select(tx, 0, ti))


@case("embedding forward 64x128 of 30000x256")
def _(d: str) -> Case:
    w, tw = pair(d, 30000, 256)
    i, ti = integers(30000, 64, 128)
    return (lambda: hw.embedding(i, w)), (lambda: torch.nn.functional.embedding(ti, tw))


@case("embedding backward 64x128 of 30000x256")
def _(d: str) -> Case:
    w, tw = pair(d, 30000, 256, grad=True)
    i, ti = integers(30000, 64, 128)
    g, tg = pair(d, 64, 128, 256)
    y, ty = hw.embedding(i, w), torch.nn.functional.embedding(ti, tw)
    return (lambda: hw.autograd.grad(y, w, g, retain_graph=True)), (lambda: torch.autograd.grad(ty, tw, tg, retain_graph=True))


@case("cross_entropy 512x32000 forward+backward")
def _(d: str) -> Case:
    x, tx = pair(d, 512, 32000, grad=True)
    i, ti = integers(32000, 512)
    return ((lambda: hw.autograd.grad(hw.cross_entropy(x, i), x)),
            (lambda: torch.autograd.grad(torch.nn.functional.cross_entropy(tx, ti), tx)))


@case("batch_norm training 32x64x56x56")
def _(d: str) -> Case:
    x, tx = pair(d, 32, 64, 56, 56)
    (w, tw), (b, tb) = pair("float32", 64), pair("float32", 64)
    m, v, tm, tv = hw.zeros(64), hw.ones(64), torch.zeros(64), torch.ones(64)
    return ((lambda: hw.batch_norm(x, m, v, w, b, True, 0.1, 1e-5)),
            (lambda: torch.nn.functional.batch_norm(tx, tm, tv, tw, tb, True, 0.1, 1e-5)))


@case("attention 12x128x64")
def _(d: str) -> Case:
    (q, tq), (k, tk), (v, tv) = (pair(d, 1, 12, 128, 64) for _ in range(3))
    return ((lambda: hw.scaled_dot_product_attention(q, k, v)),
            (lambda: torch.nn.functional.scaled_dot_product_attention(tq, tk, tv)))


def main(cases: dict[str, Callable[[str], Case]] = CASES, about: str | None = __doc__) -> None:
    ap = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    ap.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    ap.add_argument("--only", default=".")
    ap.add_argument("--rounds", type=int, default=9)
    ap.add_argument("--markdown", help="also write the table to this file")
    a = ap.parse_args()
    lines = ["| operator | dtype | threads | headwater | torch | ratio (quartiles) |", "|---|---|---:|---:|---:|---|"]
    print(*lines, sep="\n", flush=True)
    ratios = []
    for threads in a.threads:
        hw.set_num_threads(threads)
        torch.set_num_threads(threads)
        for name, make in cases.items():
            if not re.search(a.only, name):
                continue
            for dtype in a.dtypes:
                try:
                    ours, theirs = make(dtype)
                    torch_, us = compare({"torch": theirs, "headwater": ours}, rounds=a.rounds)
                except Exception as e:  # a case that fails is a line of the table, not the end of it
                    line = f"| {name} | {dtype} | {threads} | {type(e).__name__}: {str(e)[:80]} | | |"
                else:
                    ratios.append(us.ratio)
                    mark = " **slower**" if us.ratio > 1.1 else ""
                    line = (f"| {name} | {dtype} | {threads} | {seconds(us.median)} | {seconds(torch_.median)} | "
                            f"{us.ratio:.2f} ({us.quartiles[0]:.2f}-{us.quartiles[1]:.2f}){mark} |")
                lines.append(line)
                print(line, flush=True)
    if ratios:
        lines += ["", f"Median ratio {statistics.median(ratios):.2f}; {sum(r > 1.1 for r in ratios)} of {len(ratios)} above 1.1."]
        print(*lines[-2:], sep="\n")
    if a.markdown:
        with open(a.markdown, "w") as f:
            f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
