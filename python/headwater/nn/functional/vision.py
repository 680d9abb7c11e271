"""Padding, resizing and rearranging of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import headwater as hw
from headwater import Tensor


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pads the last axes: `pad` is (before, after) for the last axis, then for the one before, ...

    Args:
        mode: "constant", "reflect" (mirror without the edge), "replicate" (repeat the edge) or "circular".
        value: what to fill with in mode "constant"; 0 if None.
    """
    return hw.pad(input, pad, mode, 0.0 if value is None else value)


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resizes the spatial axes of (N, C, ...) to `size` or by `scale_factor`."""
    return hw.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The older name of `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C * r * r, H, W) to (..., C, H * r, W * r)."""
    r = upscale_factor
    if input.ndim < 3 or r < 1 or input.shape[-3] % (r * r):
        raise RuntimeError(
            f"pixel_shuffle: input {tuple(input.shape)} needs at least 3 axes and a number of channels that is a "
            f"multiple of upscale_factor ** 2 = {r * r}."
        )
    *batch, channels, height, width = input.shape
    split = input.reshape((*batch, channels // (r * r), r, r, height, width))
    n = len(batch)
    moved = split.permute((*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return moved.reshape((*batch, channels // (r * r), height * r, width * r))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H * r, W * r) to (..., C * r * r, H, W)."""
    r = downscale_factor
    if input.ndim < 3 or r < 1 or input.shape[-1] % r or input.shape[-2] % r:
        raise RuntimeError(
            f"pixel_unshuffle: input {tuple(input.shape)} needs at least 3 axes, height and width divisible by {r}."
        )
    *batch, channels, height, width = input.shape
    split = input.reshape((*batch, channels, height // r, r, width // r, r))
    n = len(batch)
    moved = split.permute((*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return moved.reshape((*batch, channels * r * r, height // r, width // r))


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """(N, C, ...) with the channels of the groups interleaved (ShuffleNet)."""
    batch, channels, *rest = input.shape
    if groups < 1 or channels % groups:
        raise RuntimeError(f"channel_shuffle: {channels} channels do not divide into {groups} groups.")
    return input.reshape((batch, groups, channels // groups, *rest)).transpose(1, 2).reshape(input.shape)


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def _windows(size: int, kernel: int, dilation: int, padding: int, stride: int) -> int:
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _places(size: int, kernel: int, dilation: int, padding: int, stride: int) -> Tensor:
    """(kernel, windows): the padded position that each kernel tap reads in each window."""
    windows = _windows(size, kernel, dilation, padding, stride)
    return hw.arange(kernel).unsqueeze(1) * dilation + hw.arange(windows).unsqueeze(0) * stride


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Sliding blocks of (N, C, H, W) as columns: (N, C * kh * kw, number of blocks). (C, H, W) gives two axes."""
    if input.ndim not in (3, 4):
        raise RuntimeError(f"unfold: expected an input (N, C, H, W) or (C, H, W), got {tuple(input.shape)}.")
    x = input.unsqueeze(0) if input.ndim == 3 else input
    kernel, dilation, padding, stride = map(_pair, (kernel_size, dilation, padding, stride))
    batch, channels, height, width = x.shape
    rows = _places(height, kernel[0], dilation[0], padding[0], stride[0])
    columns = _places(width, kernel[1], dilation[1], padding[1], stride[1])
    if rows.shape[1] < 1 or columns.shape[1] < 1:
        raise RuntimeError(f"unfold: the kernel {kernel} does not fit into the padded input {tuple(input.shape)}.")
    padded = pad(x, (padding[1], padding[1], padding[0], padding[0]))
    blocks = padded.index_select(2, rows.reshape(-1)).index_select(3, columns.reshape(-1))
    blocks = blocks.reshape((batch, channels, *rows.shape, *columns.shape)).permute((0, 1, 2, 4, 3, 5))
    out = blocks.reshape((batch, channels * kernel[0] * kernel[1], rows.shape[1] * columns.shape[1]))
    return out[0] if input.ndim == 3 else out


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The sum of columns (N, C * kh * kw, L) put back to their places: (N, C, H, W). The transpose of `unfold`."""
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"fold: expected an input (N, C * kh * kw, L) or (C * kh * kw, L), got {tuple(input.shape)}."
        )
    x = input.unsqueeze(0) if input.ndim == 2 else input
    size, kernel = _pair(output_size), _pair(kernel_size)
    dilation, padding, stride = map(_pair, (dilation, padding, stride))
    taps = kernel[0] * kernel[1]
    rows = _places(size[0], kernel[0], dilation[0], padding[0], stride[0])
    columns = _places(size[1], kernel[1], dilation[1], padding[1], stride[1])
    blocks = rows.shape[1] * columns.shape[1]
    if x.shape[1] % taps or x.shape[2] != blocks:
        raise RuntimeError(
            f"fold: input {tuple(input.shape)} must have a multiple of {taps} rows and {blocks} columns for "
            f"output_size {size}, kernel_size {kernel}."
        )
    batch, channels = x.shape[0], x.shape[1] // taps
    split = x.reshape((batch, channels, kernel[0], kernel[1], rows.shape[1], columns.shape[1]))
    split = split.permute((0, 1, 2, 4, 3, 5)).reshape((batch, channels, rows.numel(), columns.numel()))
    wide = hw.zeros(batch, channels, rows.numel(), size[1] + 2 * padding[1], dtype=x.dtype)
    wide = wide.index_add(3, columns.reshape(-1), split)
    full = hw.zeros(batch, channels, size[0] + 2 * padding[0], size[1] + 2 * padding[1], dtype=x.dtype)
    full = full.index_add(2, rows.reshape(-1), wide)
    out = full[:, :, padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]]
    return out[0] if input.ndim == 2 else out



def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divides by (k + alpha * mean of squares over `size` neighbouring channels) ** beta (AlexNet)."""
    if input.ndim < 3:
        raise ValueError(f"local_response_norm: expected at least 3 axes, got {tuple(input.shape)}")
    batch, channels = input.shape[:2]
    squares = pad((input * input).reshape((batch, channels, -1)), (0, 0, size // 2, (size - 1) // 2))
    total = squares[:, 0:channels]
    for shift in range(1, size):
        total = total + squares[:, shift : shift + channels]
    return input / (total.reshape(input.shape) * (alpha / size) + k) ** beta
