"""Connectionist temporal classification (Graves et al. 2006): the loss of a sequence of labels without an alignment."""

from __future__ import annotations

from typing import Any

import headwater as hw
from headwater import Tensor

from .loss import _reduce

NEVER = -1e30  # the logarithm of a probability of nought, finite so that its gradient is nought too


def _labels(targets: Tensor, lengths: Tensor, n: int) -> Tensor:
    """Targets as [batch, longest]; concatenated ones are taken apart."""
    if targets.ndim == 2:
        return targets.long()
    parts = targets.long().split(lengths.tolist())
    longest = max((len(p) for p in parts), default=0)
    return hw.stack([hw.pad(p, (0, longest - len(p))) for p in parts]) if n else hw.zeros(0, 0, dtype=hw.int64)


def _shifted(alpha: Tensor, by: int) -> Tensor:
    return hw.pad(alpha[:, : max(alpha.shape[1] - by, 0)], (min(by, alpha.shape[1]), 0), "constant", NEVER)


def _batched(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int) -> Tensor:
    """The negative log-likelihood of each sequence: the forward recursion over states blank, label, blank, label, ..."""
    time, n, _ = log_probs.shape
    labels = _labels(targets, target_lengths, n)
    states = hw.full((n, 2 * labels.shape[1] + 1), blank, dtype=hw.int64)
    states[:, 1::2] = labels
    same = hw.pad((states[:, 2:] == states[:, :-2]).long(), (min(2, states.shape[1]), 0), "constant", 1)
    may_skip = ((states != blank).long() * (1 - same)).bool()
    scores = log_probs.permute(1, 0, 2).gather(2, states.unsqueeze(1).expand(n, time, states.shape[1]))
    start = hw.full(tuple(states.shape), NEVER, dtype=log_probs.dtype)
    start[:, :2] = 0.0
    alpha = start + scores[:, 0]
    for t in range(1, time):
        skipped = hw.where(may_skip, _shifted(alpha, 2), hw.full((), NEVER, dtype=log_probs.dtype))
        step = hw.logsumexp(hw.stack([alpha, _shifted(alpha, 1), skipped]), 0) + scores[:, t]
        alpha = hw.where((input_lengths > t).unsqueeze(1), step, alpha)
    last = 2 * target_lengths.unsqueeze(1)
    with_blank = alpha.gather(1, last)
    with_label = hw.where(last > 0, alpha.gather(1, (last - 1).clamp(min=0)), hw.full((), NEVER, dtype=log_probs.dtype))
    return -hw.logsumexp(hw.cat([with_blank, with_label], 1), 1)


def _lengths(name: str, value: Any, n: int, most: int) -> Tensor:
    lengths = (value if isinstance(value, Tensor) else hw.tensor(value)).long().reshape(-1)
    if len(lengths) != n:
        raise RuntimeError(f"ctc_loss: {name} has {len(lengths)} entries for a batch of {n}")
    if n and not 0 <= lengths.min().item() <= lengths.max().item() <= most:
        raise RuntimeError(f"ctc_loss: {name} must be between 0 and {most}, got {lengths.tolist()}")
    return lengths


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Negative log-likelihood of `targets` (N, S), or concatenated, under `log_probs` (T, N, C), the logarithms of softmax.

    reduction "mean" divides each loss by its target length first. Sequences too short for their target cost infinity, or
    nothing with `zero_infinity`.
    """
    single = log_probs.ndim == 2
    if single:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
    if log_probs.ndim != 3 or not log_probs.is_floating_point() or log_probs.shape[0] == 0:
        raise RuntimeError(f"ctc_loss: log_probs must be floating with axes (T, N, C), T > 0, got {list(log_probs.shape)}")
    time, n, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank must be one of {classes} classes, got {blank}")
    if targets.ndim not in (1, 2) or targets.is_floating_point() or targets.is_complex():
        raise RuntimeError(f"ctc_loss: targets must be integers (N, S) or (all lengths), got {targets.dtype} {list(targets.shape)}")
    inputs = _lengths("input_lengths", input_lengths, n, time)
    wanted = _lengths("target_lengths", target_lengths, n, targets.shape[-1])
    if targets.ndim == 2 and targets.shape[0] != n:
        raise RuntimeError(f"ctc_loss: targets {list(targets.shape)} do not fit a batch of {n}")
    if targets.ndim == 1 and int(wanted.sum()) != len(targets):
        raise RuntimeError(f"ctc_loss: target_lengths add up to {int(wanted.sum())}, but there are {len(targets)} targets")
    loss = _batched(log_probs, targets, inputs, wanted, blank)
    infinite = hw.full((), 0.0 if zero_infinity else float("inf"), dtype=loss.dtype)
    loss = hw.where(loss > -0.5 * NEVER, infinite, loss)
    if reduction == "mean":
        return (loss / wanted.clamp(min=1).to(loss.dtype)).mean()
    return _reduce(loss[0] if single and reduction == "none" else loss, reduction)
