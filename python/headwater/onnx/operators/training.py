"""ai.onnx.preview.training: steps of optimisers as operators."""
from __future__ import annotations

from typing import Any

import headwater as hw

from ..node import Node
from ..registry import op

_TRAINING = "ai.onnx.preview.training"


def _groups(tensors: tuple[Any, ...], kinds: int) -> list[tuple[Any, ...]]:
    """[x1, x2, g1, g2, ...] -> [(x1, g1, ...), (x2, g2, ...)]"""
    count = len(tensors) // kinds
    return [tensors[i::count] for i in range(count)]


def _flat(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(value for column in zip(*rows) for value in column)


@op("Adagrad", domain=_TRAINING)
def adagrad(node: Node, rate: Any, step: Any, *tensors: Any) -> Any:
    lr = rate / (1 + step * node.attr("decay_factor", 0.0))
    made = []
    for x, gradient, total in _groups(tensors, 3):
        gradient = gradient + node.attr("norm_coefficient", 0.0) * x
        total = total + gradient * gradient
        made.append((x - lr * gradient / (hw.sqrt(total) + node.attr("epsilon", 1e-6)), total))
    return _flat(made)


@op("Momentum", domain=_TRAINING)
def momentum(node: Node, rate: Any, step: Any, *tensors: Any) -> Any:
    alpha, nesterov = node.attr("alpha"), node.attr("mode") == "nesterov"
    beta: Any = hw.where(step > 0, hw.full((), node.attr("beta")), hw.ones(()))
    made = []
    for x, gradient, velocity in _groups(tensors, 3):
        gradient = gradient + node.attr("norm_coefficient") * x
        velocity = alpha * velocity + beta * gradient
        made.append((x - rate * (gradient + alpha * velocity if nesterov else velocity), velocity))
    return _flat(made)


@op("Adam", domain=_TRAINING)
def adam(node: Node, rate: Any, step: Any, *tensors: Any) -> Any:
    alpha, beta = node.attr("alpha", 0.9), node.attr("beta", 0.999)
    late = hw.sqrt(1 - beta ** step.to(rate.dtype)) / (1 - alpha ** step.to(rate.dtype))
    lr = hw.where(step > 0, rate * late, rate)
    made = []
    for x, gradient, first, second in _groups(tensors, 4):
        gradient = gradient + node.attr("norm_coefficient", 0.0) * x
        first = alpha * first + (1 - alpha) * gradient
        second = beta * second + (1 - beta) * gradient * gradient
        new = x - lr * first / (hw.sqrt(second) + node.attr("epsilon", 1e-6))
        made.append(((1 - node.attr("norm_coefficient_post", 0.0)) * new, first, second))
    return _flat(made)
