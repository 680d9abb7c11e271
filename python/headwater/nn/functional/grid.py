"""Sampling of images at positions of a grid, and grids of affine maps (spatial transformers)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import headwater as hw
from headwater import Tensor


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Positions (N, H, W, 2) or (N, D, H, W, 3) in [-1, 1] that the affine maps `theta` (N, 2, 3) or (N, 3, 4) give.

    `size` is that of the output, (N, C, H, W) or (N, C, D, H, W). -1 and 1 are the centres of the outermost points with
    `align_corners`, else their outer edges.
    """
    spatial = list(size)[2:]
    ndim = len(spatial)
    if ndim not in (2, 3) or list(theta.shape) != [size[0], ndim, ndim + 1]:
        raise ValueError(f"affine_grid: theta {list(theta.shape)} does not fit an output of size {list(size)}")
    if min(size) <= 0:
        raise ValueError(f"affine_grid: sizes must be positive, got {list(size)}")
    axes = []
    for n in spatial:
        line = hw.linspace(-1, 1, n, dtype=theta.dtype) if n > 1 else hw.zeros(1, dtype=theta.dtype)
        axes.append(line if align_corners else line * ((n - 1) / n))
    points = [a.reshape(-1) for a in hw.meshgrid(*axes, indexing="ij")][::-1]  # x first
    base = hw.stack([*points, hw.ones_like(points[0])], 1)
    return (base @ theta.transpose(1, 2)).reshape((size[0], *spatial, ndim))


def _reflected(x: Tensor, low: float, high: float) -> Tensor:
    if high <= low:
        return x * 0
    span = high - low
    x = (x - low).abs()
    flips = (x / span).floor()
    rest = x - flips * span
    return hw.where(flips % 2 == 0, rest + low, high - rest)


def _inside(x: Tensor, n: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Positions moved into the image; with "zeros" they stay outside."""
    if padding_mode == "reflection":
        x = _reflected(x, 0.0, n - 1.0) if align_corners else _reflected(x, -0.5, n - 0.5)
    return x if padding_mode == "zeros" else x.clamp(0, n - 1)


def _cubic(t: Tensor) -> list[Tensor]:
    """Weights of the four points around t in [0, 1)."""
    a = -0.75

    def far(d: Tensor) -> Tensor:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    def near(d: Tensor) -> Tensor:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _taps(x: Tensor, n: int, mode: str, padding_mode: str, align_corners: bool) -> list[tuple[Tensor, Tensor | None]]:
    """Along one axis: the points that are read, and their weights (None: 1)."""
    if mode == "bicubic":
        low = x.detach().floor()
        weights = _cubic(x - low)
        return [(_inside(low + k - 1, n, padding_mode, align_corners), w) for k, w in enumerate(weights)]
    x = _inside(x, n, padding_mode, align_corners)
    if mode == "nearest":
        return [(x.detach().round(), None)]
    low = x.detach().floor()
    return [(low, low + 1 - x), (low + 1, x - low)]


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Values of `input` (N, C, H, W) or (N, C, D, H, W) at the positions `grid` (N, ..., 2 or 3), x first, in [-1, 1].

    mode: "bilinear", "nearest" or "bicubic" (4-d input only). padding_mode, for positions outside: "zeros", "border" or
    "reflection". align_corners: see `affine_grid`.
    """
    ndim = input.ndim - 2
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"grid_sample: mode must be 'bilinear', 'nearest' or 'bicubic', got {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"grid_sample: padding_mode must be 'zeros', 'border' or 'reflection', got {padding_mode!r}")
    if ndim not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != ndim or grid.shape[0] != input.shape[0]:
        raise RuntimeError(f"grid_sample: grid {list(grid.shape)} does not fit input {list(input.shape)}")
    if mode == "bicubic" and ndim != 2:
        raise RuntimeError("grid_sample: mode 'bicubic' needs input (N, C, H, W)")
    if 0 in input.shape[2:]:
        raise RuntimeError(f"grid_sample: input {list(input.shape)} has an empty axis")
    batch, channels, *sizes = input.shape
    flat, outer, per_axis = input.reshape((batch, channels, -1)), tuple(grid.shape[1:-1]), []
    for axis, n in enumerate(sizes):
        g = grid[..., ndim - 1 - axis].reshape((batch, -1))
        x = (g + 1) * ((n - 1) / 2) if align_corners else ((g + 1) * n - 1) / 2
        per_axis.append(_taps(x, n, mode, padding_mode, bool(align_corners)))
    total = None
    for taps in itertools.product(*per_axis):
        place, weight, seen = None, None, None
        for (x, w), n in zip(taps, sizes):
            at = x.detach().long().clamp(0, n - 1)  # NaN too
            place = at if place is None else place * n + at
            weight = w if weight is None or w is None else weight * w
            if padding_mode == "zeros":
                here = hw.logical_and(x >= 0, x <= n - 1).detach()
                seen = here if seen is None else hw.logical_and(seen, here)
        assert place is not None
        value = flat.gather(2, place.unsqueeze(1).expand(batch, channels, place.shape[1]))
        if seen is not None:
            value = hw.where(seen.unsqueeze(1), value, hw.zeros((), dtype=value.dtype))
        value = value if weight is None else value * weight.unsqueeze(1)
        total = value if total is None else total + value
    assert total is not None
    return total.reshape((batch, channels, *outer))
