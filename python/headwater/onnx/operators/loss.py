"""Handlers of losses over classes."""
from __future__ import annotations

from typing import Any

import headwater as hw

from ..node import Node
from ..registry import op


def _of_log_probabilities(node: Node, logs: Any, target: Any, weight: Any) -> Any:
    ignored = node.attr("ignore_index", None)
    target = target.to(hw.int64)
    kept = hw.ones_like(target, dtype=hw.bool) if ignored is None else target != ignored
    safe = hw.where(kept, target, hw.zeros_like(target))
    picked = -hw.gather(logs, 1, safe.unsqueeze(1)).squeeze(1)
    weights = kept.to(logs.dtype)
    if weight is not None:
        weights = weights * weight.index_select(0, safe.reshape([-1])).reshape(safe.shape)
    picked = hw.where(kept, picked * weights, hw.zeros_like(picked))
    how = node.attr("reduction", "mean")
    if how == "none":
        return picked
    return picked.sum() if how == "sum" else picked.sum() / weights.sum()


@op("NegativeLogLikelihoodLoss")
def nll(node: Node, x: Any, target: Any, weight: Any = None) -> Any:
    return _of_log_probabilities(node, x, target, weight)


@op("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(node: Node, x: Any, target: Any, weight: Any = None) -> Any:
    logs = hw.log_softmax(x, 1)
    return _of_log_probabilities(node, logs, target, weight), logs
