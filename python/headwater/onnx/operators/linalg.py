"""Matrix products and what is made of them."""
from __future__ import annotations

from typing import Any

import headwater as hw

from ..node import Node
from ..registry import MICROSOFT, op


def product(a: Any, b: Any) -> Any:
    """matmul, for integers as well: through float64, which holds sums below 2^53."""
    if a.is_floating_point() or a.is_complex():
        return hw.matmul(a, b)
    return hw.matmul(a.to(hw.float64), b.to(hw.float64)).to(a.dtype)


@op("MatMul")
def matmul(node: Node, a: Any, b: Any) -> Any:
    return product(a, b)


@op("Gemm")
def gemm(node: Node, a: Any, b: Any, c: Any = None) -> Any:
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    a = a.t() if node.attr("transA", 0) else a
    if alpha == beta == 1.0 and c is not None and c.dim() == 1 and node.attr("transB", 0) and a.is_floating_point():
        return hw.linear(a, b, c) if c.shape[0] == b.shape[0] else hw.linear(a, b) + c
    made = product(a, b.t() if node.attr("transB", 0) else b)
    if alpha != 1.0:
        made = made * alpha
    if c is not None:
        made = made + (c if beta == 1.0 else c * beta)
    return made.to(a.dtype)


@op("FusedMatMul", "TransposeMatMul", domain=MICROSOFT)
def fused_matmul(node: Node, a: Any, b: Any) -> Any:
    a = a.transpose(-1, -2) if node.attr("transA", 0) else a
    b = b.transpose(-1, -2) if node.attr("transB", 0) else b
    made = product(a, b)
    alpha = node.attr("alpha", 1.0)
    return made if alpha == 1.0 else made * alpha


@op("FusedGemm", domain=MICROSOFT)
def fused_gemm(node: Node, a: Any, b: Any, c: Any = None) -> Any:
    from .recurrent import activation

    return activation(node.attr("activation", "Relu"), node.attr("activation_alpha", None), node.attr("activation_beta", None))(
        gemm(node, a, b, c)
    )


@op("Einsum")
def einsum(node: Node, *inputs: Any) -> Any:
    equation = node.attr("equation").replace(" ", "")
    if not inputs[0].is_floating_point():
        return hw.einsum(equation, [i.to(hw.float64) for i in inputs]).to(inputs[0].dtype)
    return hw.einsum(equation, list(inputs))


@op("Det")
def det(node: Node, x: Any) -> Any:
    """By elimination with the largest pivot of each column."""
    n = x.shape[-1]
    rest = x.reshape([-1, n, n])
    made = hw.ones(rest.shape[0], dtype=x.dtype)
    for size in range(n, 0, -1):
        pivot = hw.argmax(hw.abs(rest[:, :, 0]), 1)  # [batch]
        rows = pivot.reshape([-1, 1, 1]).expand([rest.shape[0], 1, size])
        chosen = hw.gather(rest, 1, rows)
        first = rest[:, :1]
        swapped = hw.scatter(rest, 1, rows, first)[:, 1:]
        lead = chosen[:, 0, 0]
        made = made * lead * hw.where(pivot == 0, 1.0, -1.0).to(x.dtype)
        safe = hw.where(lead == 0, hw.ones_like(lead), lead).reshape([-1, 1, 1])
        rest = swapped[:, :, 1:] - swapped[:, :, :1] * (chosen[:, :, 1:] / safe)
    return made.reshape(x.shape[:-2])
