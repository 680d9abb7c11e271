"""Similarity of vectors."""

from __future__ import annotations

import headwater as hw

from .. import functional as F
from .module import Module


class CosineSimilarity(Module):
    """Cosine of the angle between x1 and x2 along `dim`."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: hw.Tensor, x2: hw.Tensor) -> hw.Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """p-norm of x1 - x2 + eps along the last axis: (N, D) or (D,) to (N,) or ()."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: hw.Tensor, x2: hw.Tensor) -> hw.Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
