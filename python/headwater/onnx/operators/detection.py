"""NonMaxSuppression, and images from files."""
from __future__ import annotations

import io
from typing import Any

import numpy as np

import headwater as hw

from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..values import number


@op("NonMaxSuppression", host=(2, 3, 4))
def non_max_suppression(
    node: Node, boxes: Any, scores: Any, most: Any = None, overlap: Any = None, least: Any = None
) -> Any:
    """Greedy: the best box stays, those that overlap it too much go."""
    limit = 0 if most is None else number(most)
    bound = 0.0 if overlap is None else number(overlap)
    corners = _corners(boxes, bool(node.attr("center_point_box", 0)))
    areas = (corners[:, :, 2] - corners[:, :, 0]) * (corners[:, :, 3] - corners[:, :, 1])
    chosen: list[list[int]] = []
    for batch in range(scores.shape[0]):
        for kind in range(scores.shape[1]):
            values, order = hw.sort(scores[batch, kind], 0, True, stable=True)
            if least is not None:
                order = order[values > number(least)]
            kept: list[int] = []
            while order.numel() and len(kept) < limit:
                best = order[:1]
                kept.append(int(best.item()))
                rest = order[1:]
                shared = _shared(corners[batch].index_select(0, best), corners[batch].index_select(0, rest))
                union = areas[batch].index_select(0, best) + areas[batch].index_select(0, rest) - shared
                order = rest[shared <= bound * union]
            chosen += [[batch, kind, k] for k in kept]
    return np.array(chosen, np.int64).reshape(-1, 3)


def _corners(boxes: Any, centred: bool) -> Any:
    a, b, c, d = boxes.unbind(-1)
    if centred:
        a, b, c, d = b - d / 2, a - c / 2, b + d / 2, a + c / 2
    return hw.stack([hw.minimum(a, c), hw.minimum(b, d), hw.maximum(a, c), hw.maximum(b, d)], -1)


def _shared(one: Any, others: Any) -> Any:
    low, high = hw.maximum(one[:, :2], others[:, :2]), hw.minimum(one[:, 2:], others[:, 2:])
    return hw.clamp_min(high - low, 0).prod(1)


@op("ImageDecoder", raw=True)
def image_decoder(node: Node, data: Any) -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise OnnxError("images are decoded by the package pillow: pip install pillow") from error
    encoded = bytes(np.asarray(data if isinstance(data, np.ndarray) else data.numpy(), np.uint8))
    pixels = node.attr("pixel_format", "RGB")
    image = np.asarray(Image.open(io.BytesIO(encoded)).convert("L" if pixels == "Grayscale" else "RGB"))
    if pixels == "Grayscale":
        return image[:, :, None].copy()
    return image[:, :, ::-1].copy() if pixels == "BGR" else image.copy()
