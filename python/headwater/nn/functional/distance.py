"""Distances and normalisation by a norm."""

from __future__ import annotations

import headwater as hw
from headwater import Tensor


def normalize(input: Tensor, p: float = 2.0, dim: int | tuple[int, ...] = 1, eps: float = 1e-12) -> Tensor:
    """input / max(norm of `input` along `dim`, eps)."""
    return input / hw.norm(input, p, dim, keepdim=True).clamp(min=eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between x1 and x2 along `dim`; each norm is at least eps. x1 and x2 broadcast."""
    dtype = hw.result_type(x1, x2)
    x1, x2 = hw.broadcast_tensors(x1.to(dtype), x2.to(dtype))
    norm1 = hw.norm(x1, 2, dim, keepdim=True).clamp(min=eps)
    norm2 = hw.norm(x2, 2, dim, keepdim=True).clamp(min=eps)
    return ((x1 / norm1) * (x2 / norm2)).sum(dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """p-norm of x1 - x2 + eps along the last axis."""
    return hw.norm(x1 - x2 + eps, p, -1, keepdim=keepdim)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Distances of all pairs of rows of (N, D), as a vector of N (N - 1) / 2 values."""
    count = input.shape[0]
    first = [i for i in range(count) for _ in range(i + 1, count)]
    second = [j for i in range(count) for j in range(i + 1, count)]
    rows = hw.tensor(first, dtype=hw.int64), hw.tensor(second, dtype=hw.int64)
    return hw.norm(input.index_select(0, rows[0]) - input.index_select(0, rows[1]), p, -1)
