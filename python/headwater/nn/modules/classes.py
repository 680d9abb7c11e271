"""Classifiers by cosines, for very many classes."""

from __future__ import annotations

from typing import Any

import headwater as hw

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class MarginCrossEntropyLoss(Module):
    """margin_cross_entropy of cosines (N, C) and classes (N,): ArcFace by default, CosFace with margin2=0, margin3=0.35."""

    def __init__(
        self, margin1: float = 1.0, margin2: float = 0.5, margin3: float = 0.0, scale: float = 64.0, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.margin1, self.margin2, self.margin3, self.scale = margin1, margin2, margin3, scale
        self.reduction = reduction

    def forward(self, input: hw.Tensor, target: hw.Tensor) -> hw.Tensor:
        return hw.margin_cross_entropy(input, target, self.margin1, self.margin2, self.margin3, self.scale, self.reduction)

    def extra_repr(self) -> str:
        return f"margin1={self.margin1}, margin2={self.margin2}, margin3={self.margin3}, scale={self.scale}"


class CosineLinear(Module):
    """Cosines between inputs (N, in_features) and the centres of classes: (N, num_classes)."""

    def __init__(self, in_features: int, num_classes: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.in_features, self.num_classes = in_features, num_classes
        self.weight = Parameter(hw.distributed.new_table((num_classes, in_features), device, dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Normal with standard deviation 0.01."""
        init.normal_(self.weight, 0.0, 0.01)

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.linear(F.normalize(input), F.normalize(self.weight))

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, num_classes={self.num_classes}"


class PartialFC(CosineLinear):
    """Features (N, in_features) and classes (N,) to the loss of a classifier of which each step uses a sample of the classes.

    An et al., "Partial FC: training 10 million identities on a single machine", ICCVW 2021. In training the classes of the batch take
    part, and every other one with the probability `sample_rate`; only they get a gradient (`weight.sparse_grad`) and are updated by SGD
    (momentum and weight decay too act on them only), Adagrad or SparseAdam. In evaluation all take part. Split `weight` over ranks
    with hw.split(0), or create the module under hw.distributed.tables_on; the samples and results do not depend on the number of ranks.
    Call `cosines` for the scores.
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        sample_rate: float = 1.0,
        margin1: float = 1.0,
        margin2: float = 0.5,
        margin3: float = 0.0,
        scale: float = 64.0,
        reduction: str = "mean",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if not 0 < sample_rate <= 1:
            raise ValueError(f"sample_rate must be in (0, 1], got {sample_rate}")
        super().__init__(in_features, num_classes, device, dtype)
        self.sample_rate, self.reduction = sample_rate, reduction
        self.margin1, self.margin2, self.margin3, self.scale = margin1, margin2, margin3, scale

    def cosines(self, input: hw.Tensor) -> hw.Tensor:
        """(N, num_classes)"""
        return super().forward(input)

    def forward(self, input: hw.Tensor, target: hw.Tensor) -> hw.Tensor:  # type: ignore[override]
        rate = self.sample_rate if self.training else 1.0
        return F.partial_margin_cross_entropy(
            input, self.weight, target, rate, self.margin1, self.margin2, self.margin3, self.scale, self.reduction
        )

    def extra_repr(self) -> str:
        margins = f"margin1={self.margin1}, margin2={self.margin2}, margin3={self.margin3}, scale={self.scale}"
        return f"{super().extra_repr()}, sample_rate={self.sample_rate}, {margins}"
