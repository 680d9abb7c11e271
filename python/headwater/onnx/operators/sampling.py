"""Sampling images between their elements: GridSample, RoiAlign, and the bilinear gathering that both stand on."""
from __future__ import annotations

from typing import Any

import headwater as hw

from ..node import Node
from ..registry import op
from ..requirement import OnnxError


def pick(x: Any, indices: list[Any], inside: Any = None) -> Any:
    """x [n, c, *sizes] at whole positions [n, points] for each spatial axis; zero where not `inside`."""
    n, c = x.shape[:2]
    flat: Any = 0
    for index, size in zip(indices, x.shape[2:]):
        flat = flat * size + hw.clamp(index, 0, size - 1)
    found = hw.gather(x.reshape([n, c, -1]), 2, flat.unsqueeze(1).expand([n, c, flat.shape[1]]))
    return found if inside is None else hw.where(inside.unsqueeze(1), found, hw.zeros_like(found))


def _inside(indices: list[Any], sizes: list[int]) -> Any:
    made = None
    for index, size in zip(indices, sizes):
        here = (index >= 0) & (index < size)
        made = here if made is None else made & here
    return made


def linear(x: Any, places: list[Any], fold: Any = None) -> Any:
    """Multilinear values at places [n, points] of each spatial axis. `fold` moves whole positions inside; without it there are zeros."""
    sizes = list(x.shape[2:])
    low = [hw.floor(p) for p in places]
    total: Any = 0
    for corner in range(2 ** len(places)):
        weight, indices = None, []
        for axis, (p, l) in enumerate(zip(places, low)):
            up = corner >> axis & 1
            part = (p - l) if up else (1 - (p - l))
            weight = part if weight is None else weight * part
            indices.append((l + up).to(hw.int64))
        if fold is None:
            found = pick(x, indices, _inside(indices, sizes))
        else:
            found = pick(x, [fold(i, a) for a, i in enumerate(indices)])
        total = total + found * weight.unsqueeze(1)  # type: ignore[union-attr]
    return total


def bilinear(x: Any, y: Any, z: Any) -> Any:
    """x [n, c, h, w] at rows y and columns z, both [n, rows, columns]; zero outside."""
    made = linear(x, [y.reshape([y.shape[0], -1]), z.reshape([z.shape[0], -1])])
    return made.reshape([x.shape[0], x.shape[1], *y.shape[1:]])


# ---------------------------------------------------------------- GridSample
def _mirrored(place: Any, low: float, high: float) -> Any:
    span = high - low
    if span <= 0:
        return hw.zeros_like(place)
    distance = hw.abs(place - low)
    turns, rest = hw.floor(distance / span), hw.fmod(distance, span)
    return hw.where(hw.remainder(turns, 2) == 0, rest + low, high - rest)


def _cubic(distance: Any) -> Any:
    a, d = -0.75, hw.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return hw.where(d <= 1, near, hw.where(d < 2, far, hw.zeros_like(d)))


def _bicubic(x: Any, places: list[Any], fold: Any) -> Any:
    low, total = [hw.floor(p) for p in places], 0
    for i in range(-1, 3):
        for j in range(-1, 3):
            indices = [low[0] + i, low[1] + j]
            weight = _cubic(places[0] - indices[0]) * _cubic(places[1] - indices[1])
            whole = [v.to(hw.int64) for v in indices]
            found = pick(x, whole, _inside(whole, list(x.shape[2:]))) if fold is None else pick(
                x, [fold(v, a) for a, v in enumerate(whole)]
            )
            total = total + found * weight.unsqueeze(1)
    return total


@op("GridSample")
def grid_sample(node: Node, x: Any, grid: Any) -> Any:
    mode, padding, corners = node.attr("mode", "linear"), node.attr("padding_mode", "zeros"), node.attr("align_corners", 0)
    sizes, rank = list(x.shape[2:]), x.dim() - 2
    flat = grid.reshape([grid.shape[0], -1, rank])
    places = [flat[:, :, rank - 1 - a] for a in range(rank)]  # the grid names the last axis first
    places = [(p + 1) / 2 * (s - 1) if corners else ((p + 1) * s - 1) / 2 for p, s in zip(places, sizes)]

    def fold(index: Any, axis: int) -> Any:
        n = sizes[axis]
        if padding == "border":
            return hw.clamp(index, 0, n - 1)
        low, high = (0.0, n - 1.0) if corners else (-0.5, n - 0.5)
        return hw.clamp(_mirrored(index.to(x.dtype), low, high).to(hw.int64), 0, n - 1)

    if padding != "zeros" and mode not in ("cubic", "bicubic"):
        for a, n in enumerate(sizes):
            if padding == "reflection":
                places[a] = _mirrored(places[a], 0.0 if corners else -0.5, n - 1.0 if corners else n - 0.5)
            places[a] = hw.clamp(places[a], 0, n - 1)
    if mode == "nearest":
        whole = [hw.round(p).to(hw.int64) for p in places]
        made = pick(x, whole, _inside(whole, sizes) if padding == "zeros" else None)
    elif mode in ("linear", "bilinear"):
        made = linear(x, places, None if padding == "zeros" else fold)
    elif mode in ("cubic", "bicubic") and rank == 2:
        made = _bicubic(x, places, None if padding == "zeros" else fold)
    else:
        raise OnnxError(f"there is no mode '{mode}' for {rank} axes")
    return made.reshape([*x.shape[:2], *grid.shape[1:-1]])


# ---------------------------------------------------------------- RoiAlign
@op("RoiAlign")
def roi_align(node: Node, x: Any, rois: Any, batches: Any) -> Any:
    height, width = node.attr("output_height", 1), node.attr("output_width", 1)
    half = node.opset >= 16 and node.attr("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    boxes = rois * node.attr("spatial_scale", 1.0) - (0.5 if half else 0.0)
    ratio, made = node.attr("sampling_ratio", 0), []
    for i in range(rois.shape[0]):
        image = x.index_select(0, batches[i : i + 1].to(hw.int64))
        left, top, right, bottom = boxes[i].unbind(0)
        w, h = right - left, bottom - top
        if not half:
            w, h = hw.clamp_min(w, 1.0), hw.clamp_min(h, 1.0)
        ny = ratio or int(hw.ceil(h / height).item())
        nx = ratio or int(hw.ceil(w / width).item())
        ys = top + (hw.arange(height * ny).to(x.dtype) + 0.5) * (h / (height * ny))
        xs = left + (hw.arange(width * nx).to(x.dtype) + 0.5) * (w / (width * nx))
        made.append(_pooled(node, image, ys, xs, (height, ny, width, nx)))
    return hw.cat(made) if made else hw.zeros(0, x.shape[1], height, width, dtype=x.dtype)


def _pooled(node: Node, image: Any, ys: Any, xs: Any, cells: tuple[int, int, int, int]) -> Any:
    height, ny, width, nx = cells
    h, w = image.shape[2:]
    rows = ys.unsqueeze(1).expand(ys.numel(), xs.numel()).reshape(1, -1)
    columns = xs.unsqueeze(0).expand(ys.numel(), xs.numel()).reshape(1, -1)
    inside = (rows >= -1) & (rows <= h) & (columns >= -1) & (columns <= w)
    places = [hw.clamp(rows, 0, h - 1), hw.clamp(columns, 0, w - 1)]
    if node.attr("mode", "avg") == "avg":
        found = linear(image, places, lambda i, a: i)
        found = hw.where(inside.unsqueeze(1), found, hw.zeros_like(found))
        return found.reshape(1, image.shape[1], height, ny, width, nx).mean([3, 5])
    low = [hw.floor(p) for p in places]
    corners = []
    for corner in range(4):
        ups = [corner >> a & 1 for a in range(2)]
        weight = [(p - l) if u else 1 - (p - l) for p, l, u in zip(places, low, ups)]
        whole = [(l + u).to(hw.int64) for l, u in zip(low, ups)]
        corners.append(pick(image, whole) * (weight[0] * weight[1]).unsqueeze(1))
    found = hw.stack(corners).amax([0])
    return found.reshape(1, image.shape[1], height, ny, width, nx).amax([3, 5])
