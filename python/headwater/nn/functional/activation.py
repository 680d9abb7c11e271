"""Activations and dropout with the `inplace` argument that F has and operators do not."""

from __future__ import annotations

import math
import warnings
from typing import Any

import headwater as hw
from headwater import Tensor


def _run(name: str, inplace: bool, input: Tensor, *args: Any) -> Tensor:
    return getattr(hw.Tensor, name + "_")(input, *args) if inplace else getattr(hw, name)(input, *args)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0). Shape of the result: that of `input`."""
    return input.relu_() if inplace else hw.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(input, 0), 6)."""
    return _run("relu6", inplace, input)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` limited to [min_val, max_val]."""
    return _run("hardtanh", inplace, input, min_val, max_val)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where positive, else alpha * (exp(input) - 1)."""
    return _run("elu", inplace, input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Scaled ELU of self-normalising networks (Klambauer et al. 2017)."""
    return _run("selu", inplace, input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return _run("celu", inplace, input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where positive, else negative_slope * input."""
    return _run("leaky_relu", inplace, input, negative_slope)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Leaky ReLU whose slope is drawn for each element while training, and is the middle of the range otherwise."""
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slope = hw.where(input >= 0, 1.0, hw.empty_like(input).detach().uniform_(lower, upper))
    return input.mul_(slope) if inplace else input * slope


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    return _run("silu", inplace, input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input))."""
    return _run("mish", inplace, input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(input + 3) / 6."""
    return _run("hardsigmoid", inplace, input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * relu6(input + 3) / 6."""
    return _run("hardswish", inplace, input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """input where it is above the threshold, else `value`."""
    return _run("threshold", inplace, input, threshold, value)


def _axis(name: str, dim: int | None, ndim: int) -> int:
    if dim is None:
        warnings.warn(f"{name}: the implicit choice of dim is deprecated; give dim=...", stacklevel=3)
        return 0 if ndim in (0, 1, 3) else 1
    return dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(input) scaled to sum to one along `dim`; computed in `dtype` if given."""
    return hw.softmax(input, _axis("softmax", dim, input.ndim), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax(-input)."""
    return hw.softmax(-input, _axis("softmin", dim, input.ndim), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """log(softmax(input)), without overflow."""
    return hw.log_softmax(input, _axis("log_softmax", dim, input.ndim), dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A differentiable sample of the categorical distribution (Jang et al. 2017); `hard` gives a one-hot vector."""
    gumbels = -hw.empty_like(logits).detach().exponential_().log()
    soft = hw.softmax((logits + gumbels) / tau, dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    one_hot = hw.zeros_like(logits).detach().scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes elements with probability p and scales the rest by 1 / (1 - p); the identity outside training."""
    return hw.dropout(input, p, training, inplace)


def _channels(
    name: str, input: Tensor, p: float, training: bool, inplace: bool, ranks: tuple[int, int], unbatched: bool
) -> Tensor:
    """Drops whole channels; an input with ranks[0] axes is one sample without batch axis if `unbatched`."""
    if input.ndim not in ranks:
        raise RuntimeError(f"{name}: expected an input with {ranks[0]} or {ranks[1]} axes, got {tuple(input.shape)}.")
    if unbatched and input.ndim == ranks[0]:
        out = hw.feature_dropout(input.unsqueeze(0), p, training).squeeze(0)
    else:
        out = hw.feature_dropout(input, p, training)
    return input.copy_(out) if inplace and training else out


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, L) or (C, L)."""
    return _channels("dropout1d", input, p, training, inplace, (2, 3), True)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, H, W). As in torch, three axes are (N, C, L)."""
    return _channels("dropout2d", input, p, training, inplace, (3, 4), False)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    return _channels("dropout3d", input, p, training, inplace, (4, 5), True)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance of SELU activations (Klambauer et al. 2017)."""
    out = hw.alpha_dropout(input, p, training)
    return input.copy_(out) if inplace and training else out


_SATURATED = -1.7580993408473766  # -scale * alpha of SELU: the value that a dropped unit takes


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Alpha dropout of whole channels (all axes after the second)."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"feature_alpha_dropout: the probability p has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    if p == 1.0:
        return input.mul_(0) if inplace else input * 0
    shape = (*input.shape[:2], *[1] * (input.ndim - 2))
    keep = hw.dropout(hw.ones(shape, dtype=input.dtype), p, True) * (1 - p)
    scale = 1 / math.sqrt((1 - p) * (1 + p * _SATURATED**2))
    out = (input * keep + _SATURATED * (1 - keep)) * scale - scale * p * _SATURATED
    return input.copy_(out) if inplace else out
