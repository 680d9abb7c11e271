"""Handlers of activations: Relu to Softmax."""
from __future__ import annotations

from typing import Any

import headwater as hw

from ..node import Node
from ..registry import op


@op("Relu")
def relu(node: Node, x: Any) -> Any:
    return hw.relu(x) if x.is_floating_point() else hw.clamp_min(x, 0)


@op("LeakyRelu")
def leaky_relu(node: Node, x: Any) -> Any:
    return hw.leaky_relu(x, node.attr("alpha", 0.01))


@op("PRelu")
def prelu(node: Node, x: Any, slope: Any) -> Any:
    if slope.dim() == 1 and slope.shape[0] not in (1, x.shape[-1]):  # one for each channel, as older files have it
        slope = slope.reshape([-1] + [1] * (x.dim() - 2))
    return hw.where(x < 0, x * slope, x)


@op("Elu")
def elu(node: Node, x: Any) -> Any:
    return hw.elu(x, node.attr("alpha", 1.0))


@op("Selu")
def selu(node: Node, x: Any) -> Any:
    alpha, gamma = node.attr("alpha", 1.6732632423543772), node.attr("gamma", 1.0507009873554805)
    if abs(alpha - 1.6732632423543772) < 1e-6 and abs(gamma - 1.0507009873554805) < 1e-6:
        return hw.selu(x)
    return hw.elu(x, alpha) * gamma


@op("Celu")
def celu(node: Node, x: Any) -> Any:
    return hw.celu(x, node.attr("alpha", 1.0))


@op("ThresholdedRelu")
def thresholded_relu(node: Node, x: Any) -> Any:
    return hw.threshold(x, node.attr("alpha", 1.0), 0.0)


@op("HardSigmoid")
def hard_sigmoid(node: Node, x: Any) -> Any:
    alpha, beta = node.attr("alpha", 0.2), node.attr("beta", 0.5)
    if abs(alpha - 1 / 6) < 1e-7 and beta == 0.5:
        return hw.hardsigmoid(x)
    return hw.clamp(x * alpha + beta, 0.0, 1.0)


@op("HardSwish")
def hard_swish(node: Node, x: Any) -> Any:
    return hw.hardswish(x)


@op("Softplus")
def softplus(node: Node, x: Any) -> Any:
    return hw.softplus(x, 1.0, 40.0 if x.dtype == hw.float64 else 20.0)


@op("Softsign")
def softsign(node: Node, x: Any) -> Any:
    return hw.softsign(x)


@op("Mish")
def mish(node: Node, x: Any) -> Any:
    return hw.mish(x)


@op("Gelu")
def gelu(node: Node, x: Any) -> Any:
    return hw.gelu(x, approximate=node.attr("approximate", "none"))


@op("Swish")
def swish(node: Node, x: Any) -> Any:
    alpha = node.attr("alpha", 1.0)
    return hw.silu(x) if alpha == 1.0 else x * hw.sigmoid(x * alpha)


@op("Shrink")
def shrink(node: Node, x: Any) -> Any:
    lambd, bias = node.attr("lambd", 0.5), node.attr("bias", 0.0)
    return hw.where(x < -lambd, x + bias, hw.where(x > lambd, x - bias, hw.zeros_like(x)))


@op("Softmax", "LogSoftmax", "Hardmax")
def softmax_1(node: Node, x: Any) -> Any:
    """Before opset 13 all axes from `axis` on are one."""
    axis = node.attr("axis", 1) % max(x.dim(), 1)
    flat = x.flatten(axis) if axis < x.dim() else x.unsqueeze(-1)
    return _of_last_axis(node, flat, -1).reshape(x.shape)


@op("Softmax", "LogSoftmax", "Hardmax", since=13)
def softmax(node: Node, x: Any) -> Any:
    return _of_last_axis(node, x, node.attr("axis", -1))


def _of_last_axis(node: Node, x: Any, axis: int) -> Any:
    if node.op == "Softmax":
        return hw.softmax(x, axis)
    if node.op == "LogSoftmax":
        return hw.log_softmax(x, axis)
    return hw.movedim(hw.one_hot(hw.argmax(x, axis), x.shape[axis]), -1, axis).to(x.dtype)
