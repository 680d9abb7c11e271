"""Handlers of normalisation, over batches, layers, groups and channels."""
from __future__ import annotations

from typing import Any

import headwater as hw

from ..node import Node
from ..registry import MICROSOFT, op


def _channels(value: Any, rank: int) -> Any:
    return value.reshape([1, -1] + [1] * (rank - 2))


@op("BatchNormalization", buffers=(3, 4))
def batch_norm(node: Node, x: Any, scale: Any, bias: Any, mean: Any, var: Any) -> Any:
    eps = node.attr("epsilon", 1e-5)
    if node.opset < 14 or not node.attr("training_mode", 0):
        if scale.dtype == x.dtype == mean.dtype and x.dim() > 1:
            return hw.batch_norm(x, mean, var, scale, bias, False, 0.0, eps)
        wide = x.to(mean.dtype)
        rank = max(x.dim(), 2)
        made = (wide - _channels(mean, rank)) * _channels(scale * (var + eps).rsqrt(), rank) + _channels(bias, rank)
        return made.to(x.dtype)
    momentum, axes = node.attr("momentum", 0.9), [0, *range(2, x.dim())]
    new_mean, new_var = x.mean(axes), x.var(axes, unbiased=False)
    made = (x - _channels(new_mean, x.dim())) * _channels(scale * (new_var + eps).rsqrt(), x.dim()) + _channels(bias, x.dim())
    return made, mean * momentum + new_mean * (1 - momentum), var * momentum + new_var * (1 - momentum)


@op("InstanceNormalization")
def instance_norm(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    return hw.instance_norm(x, None, None, scale, bias, True, 0.0, node.attr("epsilon", 1e-5))


@op("LayerNormalization")
def layer_norm(node: Node, x: Any, scale: Any, bias: Any = None) -> Any:
    return layer_normalized(node, x, scale, bias)


def layer_normalized(node: Node, x: Any, scale: Any, bias: Any, eps: float | None = None) -> Any:
    eps = node.attr("epsilon", 1e-5) if eps is None else eps
    axis = node.attr("axis", -1) % x.dim()
    inner = list(x.shape[axis:])
    axes = list(range(axis, x.dim()))
    whole = list(scale.shape) == inner and (bias is None or list(bias.shape) == inner) and scale.dtype == x.dtype
    made = hw.layer_norm(x, inner, scale if whole else None, bias if whole else None, eps)
    if not whole:
        made = made * scale
        made = made if bias is None else made + bias
    if len(node.outputs) == 1:
        return made
    wide = x.to(hw.float32) if node.attr("stash_type", 1) == 1 else x
    mean = wide.mean(axes, True)
    return made, mean, (hw.square(wide - mean).mean(axes, True) + eps).rsqrt()


@op("RMSNormalization", "SimplifiedLayerNormalization")
def rms_norm(node: Node, x: Any, scale: Any) -> Any:
    axis = node.attr("axis", -1) % x.dim()
    wide = x.to(hw.float32) if node.attr("stash_type", 1) == 1 and x.dtype != hw.float64 else x
    axes = list(range(axis, x.dim()))
    made = wide * (hw.square(wide).mean(axes, True) + node.attr("epsilon", 1e-5)).rsqrt()
    return made.to(x.dtype) * scale


op("SimplifiedLayerNormalization", domain=MICROSOFT)(rms_norm)


@op("GroupNormalization")
def group_norm_18(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    each = x.shape[1] // scale.shape[0]
    return hw.group_norm(
        x, node.attr("num_groups"), scale.repeat_interleave(each), bias.repeat_interleave(each), node.attr("epsilon", 1e-5)
    )


@op("GroupNormalization", since=21)
def group_norm(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    return hw.group_norm(x, node.attr("num_groups"), scale, bias, node.attr("epsilon", 1e-5))


@op("LRN")
def lrn(node: Node, x: Any) -> Any:
    size, squares = node.attr("size"), hw.square(x)
    pads = [0, 0] * (x.dim() - 2) + [(size - 1) // 2, size - 1 - (size - 1) // 2]
    wide = hw.pad(squares, pads)
    total: Any = 0
    for i in range(size):
        total = total + wide.narrow(1, i, x.shape[1])
    return x / (node.attr("bias", 1.0) + node.attr("alpha", 1e-4) / size * total) ** node.attr("beta", 0.75)


@op("MeanVarianceNormalization")
def mean_variance(node: Node, x: Any) -> Any:
    axes = node.attr("axes", [0, 2, 3])
    centred = x - x.mean(axes, True)
    return centred / (hw.sqrt(hw.square(centred).mean(axes, True)) + 1e-9)


@op("LpNormalization")
def lp_normalization(node: Node, x: Any) -> Any:
    axis, p = node.attr("axis", -1), node.attr("p", 2)
    norm = hw.sum(hw.abs(x), axis, True) if p == 1 else hw.sqrt(hw.sum(hw.square(x), axis, True))
    return hw.where(norm == 0, hw.zeros_like(x), x / norm)


@op("Dropout", "TrainableDropout")
def dropout_7(node: Node, x: Any) -> Any:
    return x.clone(), hw.ones_like(x, dtype=hw.bool)


@op("Dropout", since=12, host=(1, 2))
def dropout(node: Node, x: Any, ratio: Any = None, training: Any = None) -> Any:
    if training is None or not bool(training) or (ratio is not None and float(ratio) == 0.0):
        return x.clone(), hw.ones_like(x, dtype=hw.bool)
    p = 0.5 if ratio is None else float(ratio)
    mask = hw.rand(list(x.shape)) >= p
    return hw.where(mask, x / (1 - p), hw.zeros_like(x)), mask
