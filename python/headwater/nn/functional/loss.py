"""Losses with F's argument lists (`size_average` and `reduce` are torch's older spelling of `reduction`)."""

from __future__ import annotations

import math
from collections.abc import Callable

import headwater as hw
from headwater import Tensor


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def _reduce(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction; use 'none', 'mean' or 'sum'")


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Negative log-likelihood of softmax(input) along axis 1 (axis 0 of a vector).

    Args:
        input: scores, (N, C, ...) or (C,).
        target: class indices (N, ...) or probabilities of the shape of `input`.
        weight: (C,), a factor for each class.
    """
    return hw.cross_entropy(
        input,
        target,
        weight=weight,
        ignore_index=ignore_index,
        reduction=_reduction(size_average, reduce, reduction),
        label_smoothing=label_smoothing,
    )


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood: `input` holds log-probabilities (N, C, ...), `target` class indices (N, ...)."""
    reduction = _reduction(size_average, reduce, reduction)
    return hw.nll_loss(input, target, weight=weight, ignore_index=ignore_index, reduction=reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squared difference."""
    reduction = _reduction(size_average, reduce, reduction)
    if weight is None:
        return hw.mse_loss(input, target, reduction=reduction)
    loss = hw.mse_loss(input, target, reduction="none") * weight
    return loss.sum() / weight.sum() if reduction == "mean" else _reduce(loss, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute difference."""
    reduction = _reduction(size_average, reduce, reduction)
    if weight is None:
        return hw.l1_loss(input, target, reduction=reduction)
    loss = hw.l1_loss(input, target, reduction="none") * weight
    return loss.sum() / weight.sum() if reduction == "mean" else _reduce(loss, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared difference below `beta`, absolute above it."""
    return hw.smooth_l1_loss(input, target, reduction=_reduction(size_average, reduce, reduction), beta=beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """`delta` times the smooth L1 loss with beta = delta."""
    if weight is None:
        return hw.huber_loss(input, target, reduction=reduction, delta=delta)
    loss = hw.huber_loss(input, target, reduction="none", delta=delta) * weight
    return loss.sum() / weight.sum() if reduction == "mean" else _reduce(loss, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), logarithms limited to >= -100."""
    reduction = _reduction(size_average, reduce, reduction)
    return hw.binary_cross_entropy(input, target, weight=weight, reduction=reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy(sigmoid(input), target), without overflow."""
    reduction = _reduction(size_average, reduce, reduction)
    return hw.binary_cross_entropy_with_logits(input, target, weight=weight, reduction=reduction, pos_weight=pos_weight)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target * (log(target) - input); "batchmean" divides the sum by the size of axis 0."""
    reduction = _reduction(size_average, reduce, reduction)
    if reduction == "batchmean":
        return hw.kl_div(input, target, reduction="sum", log_target=log_target) / (input.shape[0] if input.ndim else 1)
    return hw.kl_div(input, target, reduction=reduction, log_target=log_target)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of a Poisson distribution; `full` adds Stirling's approximation."""
    loss = hw.exp(input) - target * input if log_input else input - target * hw.log(input + eps)
    if full:
        stirling = target * hw.log(target) - target + 0.5 * hw.log(2 * math.pi * target)
        loss = loss + hw.where(target > 1, stirling, hw.zeros_like(stirling))
    return _reduce(loss, _reduction(size_average, reduce, reduction))


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Negative log-likelihood of a Gaussian with mean `input` and variance `var` (limited to >= eps)."""
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = hw.full_like(input.detach(), float(var))
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif len(var.shape) != input.ndim or any(v not in (1, i) for v, i in zip(var.shape, input.shape)):
            raise ValueError(f"var is of incorrect size: {tuple(var.shape)} for input {tuple(input.shape)}")
    with hw.no_grad():
        limit = var.detach().clamp(min=eps) - var.detach()
    var = var + limit  # the limit does not stop the gradient, as in torch
    loss = 0.5 * (hw.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduce(loss, reduction)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1."""
    zero = hw.zeros_like(input.detach())
    loss = hw.where(target != 1, (margin - input).clamp(min=0), zero) + hw.where(target != -1, input, zero)
    return _reduce(loss, _reduction(size_average, reduce, reduction))


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
    loss = (-target * (input1 - input2) + margin).clamp(min=0)
    return _reduce(loss, _reduction(size_average, reduce, reduction))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1. Inputs (N, D) or (D,), target (N,) or ()."""
    if target.ndim + 1 != input1.ndim or target.ndim + 1 != input2.ndim:
        raise RuntimeError(
            f"cosine_embedding_loss: target {tuple(target.shape)} must have one axis less than "
            f"input1 {tuple(input1.shape)} and input2 {tuple(input2.shape)}."
        )
    eps = 1e-12
    dot = (input1 * input2).sum(-1)
    cos = dot / (((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)).sqrt()
    zero = hw.zeros_like(cos.detach())
    loss = hw.where(target == 1, 1 - cos, zero) + hw.where(target == -1, (cos - margin).clamp(min=0), zero)
    return _reduce(loss, _reduction(size_average, reduce, reduction))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) with the p-norm distance. Inputs (N, D) or (D,)."""
    from .distance import pairwise_distance

    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
        margin=margin,
        swap=swap,
        reduction=_reduction(size_average, reduce, reduction),
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """The triplet loss with any distance; `swap` uses the nearer of anchor and positive (Balntas et al. 2016)."""
    from .distance import pairwise_distance

    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = distance_function or pairwise_distance
    positive_distance, negative_distance = distance(anchor, positive), distance(anchor, negative)
    if swap:
        negative_distance = hw.minimum(negative_distance, distance(positive, negative))
    return _reduce((margin + positive_distance - negative_distance).clamp(min=0), reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)) with target 1 or -1."""
    return _reduce(hw.softplus(-target * input), _reduction(size_average, reduce, reduction))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over classes of the binary cross-entropy with logits. Shapes (N, C)."""
    loss = hw.softplus(-input) * target + hw.softplus(input) * (1 - target)
    if weight is not None:
        loss = loss * weight
    return _reduce(loss.mean(-1), _reduction(size_average, reduce, reduction))


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the other classes of max(0, margin - input[y] + input[i]) ** p. Shapes (N, C) and (N,)."""
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 are supported, got {p}")
    single = input.ndim == 1
    scores, labels = (input.unsqueeze(0), target.reshape(1)) if single else (input, target)
    index = labels.unsqueeze(1)
    loss = (margin - scores.gather(1, index) + scores).clamp(min=0) ** p
    if weight is not None:
        loss = loss * weight[labels].unsqueeze(1)
    loss = loss.scatter(1, index, 0.0).sum(1) / scores.shape[1]
    return _reduce(loss[0] if single else loss, _reduction(size_average, reduce, reduction))


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Hinge loss between labelled and unlabelled classes; `target` (N, C) lists labels, ended by -1."""
    single = input.ndim == 1
    scores, labels = (input.unsqueeze(0), target.unsqueeze(0)) if single else (input, target)
    valid = (labels < 0).to(hw.int64).cumsum(1) == 0
    index = hw.where(valid, labels, hw.zeros_like(labels))
    is_label = hw.zeros_like(scores.detach()).scatter_add(1, index, valid.to(scores.dtype)) > 0
    chosen = scores.gather(1, index)
    hinge = (1 - chosen.unsqueeze(2) + scores.unsqueeze(1)).clamp(min=0)
    mask = (valid.unsqueeze(2) & is_label.logical_not().unsqueeze(1)).to(scores.dtype)
    loss = (hinge * mask).sum((1, 2)) / scores.shape[1]
    return _reduce(loss[0] if single else loss, _reduction(size_average, reduce, reduction))
