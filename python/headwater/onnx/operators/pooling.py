"""Handlers of pooling, over windows and over whole images."""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..symbolic import fixed_sizes
from ..values import tensor
from .convolution import pad_spatial
from .windows import Windows, windows_of

_MAX = {1: hw.max_pool1d, 2: hw.max_pool2d, 3: hw.max_pool3d}
_AVERAGE = {1: hw.avg_pool1d, 2: hw.avg_pool2d, 3: hw.avg_pool3d}
_CONV = {1: hw.conv1d, 2: hw.conv2d, 3: hw.conv3d}


def _windows(node: Node, x: Any) -> Windows:
    windows = windows_of(node, list(x.shape[2:]), node.attr("kernel_shape"))
    if windows.rank not in _MAX:
        raise OnnxError(f"pooling over {windows.rank} axes is not supported, only over 1 to 3")
    return windows


def _plain(windows: Windows) -> bool:
    return windows.symmetric() and all(2 * b <= k for b, k in zip(windows.before, windows.kernel)) and not windows.ceil


@op("MaxPool")
def max_pool(node: Node, x: Any) -> Any:
    windows = _windows(node, x)
    rank, sizes = windows.rank, list(x.shape[2:])
    dtype, asked = x.dtype, node.wants(1)
    if not x.is_floating_point():
        x = x.to(hw.float32)
    if _plain(windows) and not asked:
        made = _MAX[rank](x, windows.kernel, windows.stride, windows.before, windows.dilation)
        return made if made.dtype == dtype else made.to(dtype)
    fixed_sizes(x)
    after = [windows.overhang(i, s) for i, s in enumerate(sizes)]
    wide = pad_spatial(x, windows.before, after, float("-inf"))
    made, where = _MAX[rank](wide, windows.kernel, windows.stride, [0] * rank, windows.dilation, False, True)
    return made.to(dtype), _places(where, windows, list(x.shape), list(wide.shape), node.attr("storage_order", 0))


def _places(where: Any, windows: Windows, shape: list[int], wide: list[int], column_major: int) -> Any:
    """Positions in a padded plane, as positions in the whole tensor without padding."""
    positions = []
    for size in reversed(wide[2:]):
        positions.append(where % size)
        where = where // size
    positions = [p - b for p, b in zip(reversed(positions), windows.before)]
    inside: Any = 0
    order = list(zip(positions, shape[2:]))
    for position, size in reversed(order) if column_major else order:
        inside = inside * size + position
    planes = hw.arange(shape[0] * shape[1]).reshape([shape[0], shape[1]] + [1] * windows.rank)
    return inside + planes * int(np.prod(shape[2:]))


def window_sums(x: Any, windows: Windows, after: list[int]) -> Any:
    """The sum over each window: a convolution with ones."""
    rank = windows.rank
    wide = pad_spatial(x, windows.before, after)
    planes = wide.reshape([-1, 1, *wide.shape[2:]])
    ones = hw.ones([1, 1, *windows.kernel], dtype=x.dtype)
    made = _CONV[rank](planes, ones, None, windows.stride, [0] * rank, windows.dilation)
    return made.reshape([*x.shape[:2], *made.shape[2:]])


@op("AveragePool")
def average_pool(node: Node, x: Any) -> Any:
    windows = _windows(node, x)
    sizes, pads_count = list(x.shape[2:]), bool(node.attr("count_include_pad", 0))
    if _plain(windows) and all(d == 1 for d in windows.dilation):
        return _AVERAGE[windows.rank](x, windows.kernel, windows.stride, windows.before, False, pads_count)
    fixed_sizes(x)
    after = [windows.overhang(i, s) for i, s in enumerate(sizes)]
    counted: Any = hw.ones(1, dtype=x.dtype).reshape([1] * x.dim())
    for axis, size in enumerate(sizes):
        counted = counted * tensor(_counts(windows, axis, size, pads_count)).to(x.dtype).reshape(
            [-1] + [1] * (windows.rank - 1 - axis)
        )
    return window_sums(x, windows, after) / counted


def _counts(windows: Windows, axis: int, size: int, pads_count: bool) -> np.ndarray[Any, Any]:
    """How many elements of each window count."""
    starts = np.arange(windows.count(axis, size)) * windows.stride[axis] - windows.before[axis]
    places = starts[:, None] + np.arange(windows.kernel[axis]) * windows.dilation[axis]
    low, high = (-windows.before[axis], size + windows.after[axis]) if pads_count else (0, size)
    return ((places >= low) & (places < high)).sum(1)


@op("LpPool")
def lp_pool(node: Node, x: Any) -> Any:
    windows, p = _windows(node, x), node.attr("p", 2)
    after = [windows.overhang(i, s) for i, s in enumerate(x.shape[2:])]
    return window_sums(hw.abs(x) ** p, windows, after) ** (1.0 / p)


@op("GlobalAveragePool")
def global_average_pool(node: Node, x: Any) -> Any:
    return x.mean(list(range(2, x.dim())), True)


@op("GlobalMaxPool")
def global_max_pool(node: Node, x: Any) -> Any:
    return x.amax(list(range(2, x.dim())), True)


@op("GlobalLpPool")
def global_lp_pool(node: Node, x: Any) -> Any:
    p = node.attr("p", 2)
    return hw.sum(hw.abs(x) ** p, list(range(2, x.dim())), True) ** (1.0 / p)


@op("MaxUnpool", host=(2,))
def max_unpool(node: Node, x: Any, where: Any, shape: Any = None) -> Any:
    windows = Windows(node.attr("kernel_shape"), node.attr("strides", [1] * (x.dim() - 2)), [1] * (x.dim() - 2), [], [])
    pads = node.attr("pads", [0] * (2 * windows.rank))
    sizes = [
        (n - 1) * s + k - b - a
        for n, s, k, b, a in zip(x.shape[2:], windows.stride, windows.kernel, pads[: windows.rank], pads[windows.rank :])
    ]
    inner = [*x.shape[:2], *sizes]
    flat = hw.zeros(int(np.prod(inner)), dtype=x.dtype)
    made = hw.scatter(flat, 0, where.reshape([-1]), x.reshape([-1]))
    if shape is None:
        return made.reshape(inner)
    wanted = [int(s) for s in shape]
    return hw.pad(made.reshape(inner), [a for w, i in zip(reversed(wanted), reversed(inner)) for a in (0, w - i)])


@op("MaxRoiPool", host=(1,))
def max_roi_pool(node: Node, x: Any, rois: Any) -> Any:
    height, width = node.attr("pooled_shape")
    scale, made = node.attr("spatial_scale", 1.0), []
    for batch, *box in np.asarray(rois).tolist():
        left, top, right, bottom = (int(np.floor(v * scale + 0.5)) for v in box)
        cells = []
        for i in range(height * width):
            ys, xs = _cell(i // width, height, top, bottom, x.shape[2]), _cell(i % width, width, left, right, x.shape[3])
            part = x[int(batch), :, ys[0] : ys[1], xs[0] : xs[1]]
            cells.append(part.amax([1, 2]) if part.numel() else hw.zeros(x.shape[1], dtype=x.dtype))
        made.append(hw.stack(cells, 1).reshape(x.shape[1], height, width))
    return hw.stack(made)


def _cell(index: int, count: int, first: int, last: int, size: int) -> tuple[int, int]:
    each = max(last - first + 1, 1) / count
    low, high = int(np.floor(index * each)) + first, int(np.ceil((index + 1) * each)) + first
    return min(max(low, 0), size), min(max(high, 0), size)
