"""Pooling whose arguments need a look first, power-average pooling, and the inverse of max pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import headwater as hw
from headwater import Tensor


def _sizes(name: str, output_size: Any, ndim: int) -> list[int]:
    """output_size for each axis; None, the size of the input, is -1 to the op."""
    given = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * ndim
    if any(isinstance(n, int) and n < 0 for n in given):
        raise RuntimeError(f"{name}: sizes must not be negative, got {output_size}")
    return [-1 if n is None else n for n in given]


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide the length into `output_size` parts."""
    return hw.adaptive_avg_pool1d(input, _sizes("adaptive_avg_pool1d", output_size, 1))


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide (height, width) into `output_size` parts; None keeps an axis as it is."""
    return hw.adaptive_avg_pool2d(input, _sizes("adaptive_avg_pool2d", output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide (depth, height, width) into `output_size` parts; None keeps an axis as it is."""
    return hw.adaptive_avg_pool3d(input, _sizes("adaptive_avg_pool3d", output_size, 3))


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows that divide the length into `output_size` parts."""
    return hw.adaptive_max_pool1d(input, _sizes("adaptive_max_pool1d", output_size, 1), return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows that divide (height, width) into `output_size` parts; None keeps an axis as it is."""
    return hw.adaptive_max_pool2d(input, _sizes("adaptive_max_pool2d", output_size, 2), return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows that divide (depth, height, width) into `output_size` parts; None keeps an axis as it is."""
    return hw.adaptive_max_pool3d(input, _sizes("adaptive_max_pool3d", output_size, 3), return_indices)


def _each(value: Any, ndim: int) -> list[int]:
    return list(value) if isinstance(value, (list, tuple)) else [value] * ndim


def _lp_pool(input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool, ndim: int) -> Tensor:
    kernel = _each(kernel_size, ndim)
    mean = getattr(hw, f"avg_pool{ndim}d")(input**norm_type, kernel, stride, 0, ceil_mode)
    taps = 1
    for k in kernel:
        taps *= k
    return (mean.sign() * mean.abs().relu() * taps) ** (1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(sum of input ** norm_type over a window) ** (1 / norm_type)."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(sum of input ** norm_type over a window) ** (1 / norm_type)."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(sum of input ** norm_type over a window) ** (1 / norm_type)."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 3)


def _max_unpool(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any, ndim: int
) -> Tensor:
    if input.ndim not in (ndim + 1, ndim + 2):
        raise RuntimeError(f"max_unpool{ndim}d: input must have {ndim + 1} or {ndim + 2} axes, got {list(input.shape)}")
    if indices.shape != input.shape:
        raise RuntimeError(f"max_unpool{ndim}d: indices {list(indices.shape)} and input {list(input.shape)} differ")
    kernel, pad = _each(kernel_size, ndim), _each(padding, ndim)
    step = kernel if stride is None else _each(stride, ndim)
    usual = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-ndim:], step, pad, kernel)]
    size = usual if output_size is None else [int(n) for n in output_size][-ndim:]
    for wanted, least, s in zip(size, usual, step):
        if not least - s < wanted < least + s:
            raise ValueError(f"max_unpool{ndim}d: output_size {size} must be within a stride {step} of {usual}")
    lead = list(input.shape[:-ndim])
    flat = hw.zeros([*lead, _product(size)], dtype=input.dtype)
    places = indices.reshape([*lead, -1])
    return flat.scatter(-1, places, input.reshape([*lead, -1])).reshape([*lead, *size])


def _product(sizes: Sequence[int]) -> int:
    n = 1
    for size in sizes:
        n *= size
    return n


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Zeros, with each maximum where max_pool1d(..., return_indices=True) found it."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Zeros, with each maximum where max_pool2d(..., return_indices=True) found it."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Zeros, with each maximum where max_pool3d(..., return_indices=True) found it."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 3)
