"""Resize and Upsample: along each axis a selection, or a product with a matrix of weights that depends on the sizes alone."""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from ...compiler.symbols import SizeIsNeeded, SymInt
from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..symbolic import fixed_sizes
from ..values import check_size, ints, tensor

_Array = np.ndarray[Any, Any]


def _positions(how: str, size: int, new: int, scale: float, roi: tuple[float, float]) -> _Array:
    """Where each new element lies among the old ones."""
    x = np.arange(new, dtype=np.float64)
    if how == "half_pixel":
        return (x + 0.5) / scale - 0.5
    if how == "half_pixel_symmetric":
        exact = size * scale
        return size / 2 * (1 - new / exact) + (x + 0.5) / scale - 0.5
    if how == "pytorch_half_pixel":
        return (x + 0.5) / scale - 0.5 if new > 1 else np.zeros(new)
    if how == "align_corners":
        return x * (size - 1) / (size * scale - 1) if new > 1 else np.zeros(new)
    if how == "asymmetric":
        return x / scale
    if how == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    if how == "tf_crop_and_resize":
        start, end = roi
        if new > 1:
            return start * (size - 1) + x * (end - start) * (size - 1) / (new - 1)
        return np.full(new, 0.5 * (start + end) * (size - 1))
    raise OnnxError(f"there is no coordinate_transformation_mode '{how}'")


def _nearest(places: _Array, how: str) -> _Array:
    if how == "round_prefer_floor":
        return np.ceil(places - 0.5)
    if how == "round_prefer_ceil":
        return np.floor(places + 0.5)
    if how in ("floor", "ceil"):
        return np.floor(places) if how == "floor" else np.ceil(places)
    raise OnnxError(f"there is no nearest_mode '{how}'")


def _kernel(mode: str, distance: _Array, a: float) -> _Array:
    d = np.abs(distance)
    if mode == "linear":
        return np.maximum(0.0, 1.0 - d)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _weights(node: Node, mode: str, places: _Array, size: int, scale: float) -> _Array:
    """[new, size]"""
    a, outside = node.attr("cubic_coeff_a", -0.75), node.attr("exclude_outside", 0)
    shrink = min(scale, 1.0) if node.attr("antialias", 0) else 1.0
    support = (1 if mode == "linear" else 2) / shrink
    first = np.floor(places - support).astype(int)
    reach = int(np.ceil(2 * support)) + 2
    taps = first[:, None] + np.arange(reach + 1)
    weights = _kernel(mode, (taps - places[:, None]) * shrink, a)
    if outside or shrink < 1.0:
        inside = (taps >= 0) & (taps < size)
        weights = np.where(inside, weights, 0.0) if outside else weights
    weights = weights / weights.sum(1, keepdims=True)
    made = np.zeros((len(places), size))
    rows = np.broadcast_to(np.arange(len(places))[:, None], taps.shape)
    np.add.at(made, (rows, np.clip(taps, 0, size - 1)), weights)
    return made


def _along(x: Any, axis: int, matrix: _Array) -> Any:
    weights = tensor(np.ascontiguousarray(matrix)).to(x.dtype)
    if axis == x.dim() - 1:
        return hw.matmul(x, weights.t())
    return hw.movedim(hw.matmul(hw.movedim(x, axis, -1), weights.t()), -1, axis)


def _resized(node: Node, x: Any, mode: str, axes: list[int], new: list[int], scales: list[float], roi: list[float]) -> Any:
    how = node.attr("coordinate_transformation_mode", "half_pixel") if node.opset >= 11 else "asymmetric"
    mode, dtype = "linear" if mode in ("linear", "bilinear", "trilinear") else mode, x.dtype
    check_size([dict(zip(axes, new)).get(a, n) for a, n in enumerate(x.shape)])
    if quick := _whole_image(node, x, mode, how, axes, new, scales):
        return quick[0]
    fixed_sizes(x)
    outside = None
    for i, axis in enumerate(axes):
        size = x.shape[axis]
        if new[i] == size and scales[i] == 1.0 and how != "tf_crop_and_resize":
            continue
        places = _positions(how, size, new[i], scales[i], (roi[i], roi[i + len(axes)]) if roi else (0.0, 1.0))
        if how == "tf_crop_and_resize":
            beyond = tensor(np.asarray((places < 0) | (places > size - 1))).reshape([-1] + [1] * (x.dim() - 1 - axis))
            outside = beyond if outside is None else outside | beyond
        if mode == "nearest":
            nearest = "floor" if node.opset < 11 else node.attr("nearest_mode", "round_prefer_floor")
            index = np.clip(_nearest(places, nearest), 0, size - 1).astype(np.int64)
            x = x.index_select(axis, tensor(index))
        elif mode in ("linear", "cubic"):
            x = _along(x if x.is_floating_point() else x.to(hw.float32), axis, _weights(node, mode, places, size, scales[i]))
        else:
            raise OnnxError(f"there is no mode '{mode}'")
    if outside is not None:
        x = hw.where(outside, tensor(np.array(node.attr("extrapolation_value", 0.0), np.float32)).to(x.dtype), x)
    return x if x.dtype == dtype else hw.round(x).to(dtype)


def _whole_image(node: Node, x: Any, mode: str, how: str, axes: list[int], new: list[int], scales: list[float]) -> list[Any]:
    """Images in the common ways: by the operator that reads and writes once."""
    spatial = [(a, n) for a, n in zip(axes, new) if n != x.shape[a]]
    if x.dim() != 4 or not x.is_floating_point() or any(a < 2 for a, _ in spatial) or node.attr("antialias", 0):
        return []
    sizes = list(x.shape[2:])
    for a, n in spatial:
        sizes[a - 2] = n
    exact = all(type(n) is SymInt or abs(s * x.shape[a] - n) < 1e-6 for a, n, s in zip(axes, new, scales))
    if mode == "nearest" and exact:
        floors = node.opset < 11 or node.attr("nearest_mode", "round_prefer_floor") == "floor"
        whole = floors or all(n % x.shape[a] == 0 for a, n in zip(axes, new))
        if how == "asymmetric" and (floors or whole and node.attr("nearest_mode", "") != "ceil"):
            if floors or all(n == x.shape[a] for a, n in zip(axes, new)):
                return [hw.interpolate(x, sizes, mode="nearest")]
    if mode == "linear" and exact and how in ("half_pixel", "align_corners") and not node.attr("exclude_outside", 0):
        return [hw.interpolate(x, sizes, mode="bilinear", align_corners=how == "align_corners")]
    return []


def _sizes_for(node: Node, x: Any, axes: list[int], wanted: list[int]) -> tuple[list[int], list[float]]:
    if not any(type(w) is int for w in wanted) or any(type(w) is SymInt for w in wanted):
        raise SizeIsNeeded
    fixed_sizes(x)
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    scales = [w / x.shape[a] for w, a in zip(wanted, axes)]
    if policy == "stretch":
        return wanted, scales
    one = min(scales) if policy == "not_larger" else max(scales)
    return [int(np.floor(one * x.shape[a] + 0.5)) for a in axes], [one] * len(axes)


@op("Resize", since=10, host=(1,))
def resize_10(node: Node, x: Any, scales: Any) -> Any:
    return _by_scales(node, x, [float(s) for s in scales], list(range(x.dim())), [])


@op("Resize", since=11, host=(1, 2, 3))
def resize(node: Node, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None) -> Any:
    axes = [a % x.dim() for a in node.attr("axes", list(range(x.dim())))]
    window = [] if roi is None else [float(r) for r in np.asarray(roi).reshape(-1)]
    if sizes is not None and np.size(sizes):
        new, factors = _sizes_for(node, x, axes, ints(sizes))
        return _resized(node, x, node.attr("mode", "nearest"), axes, new, factors, window)
    if scales is None or not np.size(scales):
        raise OnnxError("neither scales nor sizes are given")
    return _by_scales(node, x, [float(s) for s in np.asarray(scales).reshape(-1)], axes, window)


def _by_scales(node: Node, x: Any, scales: list[float], axes: list[int], window: list[float]) -> Any:
    crops = node.attr("coordinate_transformation_mode", "") == "tf_crop_and_resize" and window
    new: list[int] = []
    for i, a in enumerate(axes):
        if type(x.shape[a]) is SymInt:  # a whole factor gives a size that changes with it
            if crops or scales[i] != int(scales[i]):
                raise SizeIsNeeded
            new.append(x.shape[a] * int(scales[i]) if scales[i] != 1.0 else x.shape[a])
            continue
        part = window[i + len(axes)] - window[i] if crops else 1.0
        new.append(int(np.floor(np.float64(x.shape[a]) * part * np.float64(scales[i]) + 1e-9)))
    return _resized(node, x, node.attr("mode", "nearest"), axes, new, scales, window)


@op("Upsample")
def upsample_7(node: Node, x: Any) -> Any:
    return _by_scales(node, x, node.attr("scales"), list(range(x.dim())), [])


@op("Upsample", since=9, host=(1,))
def upsample(node: Node, x: Any, scales: Any) -> Any:
    return _by_scales(node, x, [float(s) for s in scales], list(range(x.dim())), [])
