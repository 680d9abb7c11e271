"""Batch normalisation folded into the layer before it, for inference."""

from __future__ import annotations

import copy
from typing import Any

import headwater as hw


def _scale(mean: Any, variance: Any, eps: float, weight: Any, bias: Any) -> tuple[Any, Any]:
    """Factor and offset of each channel: y = factor * x + offset."""
    factor = (variance + eps).rsqrt()
    factor = factor if weight is None else factor * weight
    return factor, (0 if bias is None else bias) - mean * factor


def _fused(weight: Any, bias: Any, channel_axis: int, factor: Any, offset: Any) -> tuple[Any, Any]:
    shape = [1] * weight.ndim
    shape[channel_axis] = -1
    new_weight = (weight * factor.reshape(shape)).to(weight.dtype)
    new_bias = (offset if bias is None else bias * factor + offset).to(weight.dtype)
    return (hw.nn.Parameter(new_weight.detach(), requires_grad=weight.requires_grad),
            hw.nn.Parameter(new_bias.detach(), requires_grad=weight.requires_grad if bias is None else bias.requires_grad))


def fuse_conv_bn_weights(conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any,
                         transpose: bool = False) -> tuple[Any, Any]:
    """Weight and bias of one convolution that does what the convolution and the normalisation after it do.

    `transpose`: the output channels are the second axis of the weight. Groups of a transposed convolution are not offered.
    """
    factor, offset = _scale(bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    return _fused(conv_w, conv_b, 1 if transpose else 0, factor, offset)


def fuse_linear_bn_weights(linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any,
                           bn_b: Any) -> tuple[Any, Any]:
    """Weight and bias of one linear layer that does what the layer and the normalisation after it do."""
    factor, offset = _scale(bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    return _fused(linear_w, linear_b, 0, factor, offset)


def _checked(name: str, layer: Any, bn: Any) -> Any:
    if layer.training or bn.training:
        raise RuntimeError(f"{name}: both modules must be in eval mode; call .eval() on them first")
    if bn.running_mean is None or bn.running_var is None:
        raise RuntimeError(f"{name}: the normalisation keeps no running statistics (track_running_stats=False)")
    return copy.deepcopy(layer)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of the convolution that also does what the batch normalisation after it does.

    Raises RuntimeError unless both are in eval mode and the normalisation has running statistics.
    """
    fused = _checked("fuse_conv_bn_eval", conv, bn)
    if transpose and conv.groups != 1:
        raise NotImplementedError(f"fuse_conv_bn_eval: a transposed convolution with {conv.groups} groups is not offered")
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
                                                    bn.bias, transpose)
    return fused


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of the linear layer that also does what the batch normalisation after it does.

    Raises RuntimeError unless both are in eval mode and the normalisation has running statistics.
    """
    fused = _checked("fuse_linear_bn_eval", linear, bn)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
                                                      bn.bias)
    return fused
