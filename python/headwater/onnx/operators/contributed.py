"""com.microsoft: operators of image models and of exporters, and earlier forms of what ONNX has taken up since."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import headwater as hw

from ..node import Node
from ..registry import MICROSOFT, op
from ..requirement import OnnxError
from ..values import check_size, host, ints, number, tensor
from .index import gather_nd
from .linalg import fused_matmul
from .recurrent import activation
from .sampling import grid_sample
from .shape import pad, range_, trilu
from .signal import transform

for _name, _function in (("Range", range_), ("GatherND", gather_nd), ("GridSample", grid_sample)):
    op(_name, domain=MICROSOFT, prefers=(0, 1, 2) if _name == "Range" else ())(_function)
op("Trilu", domain=MICROSOFT, host=(1,))(trilu)
op("Pad", domain=MICROSOFT, host=(1, 2))(pad)


@op("ExpandDims", domain=MICROSOFT, host=(1,))
def expand_dims(node: Node, x: Any, axis: Any) -> Any:
    return x.unsqueeze(number(axis))


@op("Unique", domain=MICROSOFT)
def unique(node: Node, x: Any) -> Any:
    """In the order in which values come first."""
    numbers, first, where, counts = np.unique(np.asarray(host(x)), return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return tuple(tensor(v) for v in (numbers[order], rank[where].astype(np.int64), counts[order].astype(np.int64)))


@op("Inverse", domain=MICROSOFT)
def inverse(node: Node, x: Any) -> Any:
    return hw.linalg.inv(x)


@op("IsAllFinite", domain=MICROSOFT)
def is_all_finite(node: Node, *parts: Any) -> Any:
    if node.attr("isinf_only", 0) or node.attr("isnan_only", 0):
        test = hw.isinf if node.attr("isinf_only", 0) else hw.isnan
        return ~hw.stack([test(p).any() for p in parts]).any()
    return hw.stack([hw.isfinite(p).all() for p in parts]).all()


@op("CDist", domain=MICROSOFT)
def cdist(node: Node, a: Any, b: Any) -> Any:
    metric = node.attr("metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        raise OnnxError(f"the metric '{metric}' is not supported")
    squared = hw.square(a.unsqueeze(1) - b.unsqueeze(0)).sum(-1)
    return hw.sqrt(squared) if metric == "euclidean" else squared


@op("ComplexMul", "ComplexMulConj", domain=MICROSOFT)
def complex_mul(node: Node, a: Any, b: Any) -> Any:
    """The last axis holds real and imaginary part."""
    (p, q), (r, s) = a.unbind(-1), b.unbind(-1)
    s = -s if node.op == "ComplexMulConj" else s
    return hw.stack([p * r - q * s, p * s + q * r], -1)


@op("Rfft", "Irfft", domain=MICROSOFT)
def rfft(node: Node, x: Any) -> Any:
    if node.attr("signal_ndim", 1) != 1 or node.attr("normalized", 0) or not node.attr("onesided", 1):
        raise OnnxError("only one-sided transforms over one axis are supported")
    if node.op == "Rfft":
        return transform(x.unsqueeze(-1), x.shape[-1], x.shape[-1] // 2 + 1)
    n = 2 * (x.shape[-2] - 1)
    rest = hw.flip(x.narrow(-2, 1, x.shape[-2] - 2), [-2]) * hw.tensor([1.0, -1.0], dtype=x.dtype)
    return transform(hw.cat([x, rest], -2), n, n, inverse=True).select(-1, 0)


@op("UnfoldTensor", domain=MICROSOFT)
def unfold_tensor(node: Node, x: Any) -> Any:
    return x.unfold(node.attr("dim", -1), node.attr("size"), node.attr("step", 1))


@op("TorchEmbedding", domain=MICROSOFT)
def torch_embedding(node: Node, weight: Any, index: Any, *rest: Any) -> Any:
    return hw.embedding(index, weight)


# ---------------------------------------------------------------- activations and products
@op("GemmFastGelu", domain=MICROSOFT)
def gemm_fast_gelu(node: Node, x: Any, weight: Any, bias: Any = None) -> Any:
    made = hw.matmul(x, weight)
    return hw.gelu(made if bias is None else made + bias, approximate="tanh")


@op("FusedMatMulActivation", domain=MICROSOFT)
def fused_matmul_activation(node: Node, a: Any, b: Any) -> Any:
    function = activation(node.attr("activation"), node.attr("activation_alpha", None), node.attr("activation_beta", None))
    return function(fused_matmul(node, a, b))


@op("BiasSoftmax", domain=MICROSOFT)
def bias_softmax(node: Node, x: Any, bias: Any) -> Any:
    """Over all axes from `axis` on; the bias is spread over axes in front of it, or over those between."""
    axis = node.attr("axis", 1) % x.dim()
    if node.attr("is_inner_broadcast") and bias.dim() < x.dim():
        rows = x.dim() - axis
        bias = bias.reshape([*bias.shape[: bias.dim() - rows], *([1] * (x.dim() - bias.dim())), *bias.shape[bias.dim() - rows :]])
    flat = (x + bias).reshape([*x.shape[:axis], -1])
    return hw.softmax(flat, -1).reshape(x.shape)


@op("BiasDropout", domain=MICROSOFT, host=(3, 4))
def bias_dropout(node: Node, x: Any, bias: Any, residual: Any = None, ratio: Any = None, training: Any = None) -> Any:
    if training is not None and number(training):
        raise OnnxError("BiasDropout in training is not supported")
    made = x + bias
    return made if residual is None else made + residual, hw.ones_like(made, dtype=hw.bool)


@op("BiasSplitGelu", domain=MICROSOFT)
def bias_split_gelu(node: Node, x: Any, bias: Any) -> Any:
    left, right = (x + bias).chunk(2, -1)
    return left * hw.gelu(right)


@op("SwiGLU", domain=MICROSOFT)
def swiglu(node: Node, gate: Any, up: Any = None) -> Any:
    gate, up = gate.chunk(2, -1) if up is None else (gate, up)
    if (limit := node.attr("limit", 0.0)) > 0:
        gate, up = hw.clamp_max(gate, limit), hw.clamp(up, -limit, limit)
    return gate * hw.sigmoid(gate * node.attr("activation_alpha", 1.0)) * (up + node.attr("activation_beta", 0.0))


# ---------------------------------------------------------------- normalisation
@op("GroupNorm", domain=MICROSOFT)
def group_norm(node: Node, x: Any, gamma: Any, beta: Any) -> Any:
    last = node.attr("channels_last", 1)
    made = hw.movedim(x, -1, 1) if last else x
    made = hw.group_norm(made, node.attr("groups"), gamma.to(x.dtype), beta.to(x.dtype), node.attr("epsilon", 1e-5))
    made = made * hw.sigmoid(made) if node.attr("activation", 0) else made
    return hw.movedim(made, 1, -1) if last else made


@op("SkipGroupNorm", domain=MICROSOFT)
def skip_group_norm(node: Node, x: Any, gamma: Any, beta: Any, skip: Any, bias: Any = None) -> Any:
    shape = [1, 1, 1, -1] if node.attr("channels_last", 1) else [1, -1, 1, 1]
    if skip.dim() == 2:
        skip = skip.reshape([x.shape[0], *shape[1:]])
    total = x + skip if bias is None else x + skip + bias.reshape(shape)
    return group_norm(node, total, gamma, beta), total


# ---------------------------------------------------------------- places and texts
@op("RelativePositionBias", domain=MICROSOFT, host=(1, 2))
def relative_position_bias(node: Node, table: Any, queries: Any, keys: Any) -> Any:
    """Raffel et al. 2020 (T5): near distances have a bucket each, far ones share buckets that grow by a factor."""
    rows, columns = number(queries), number(keys)
    check_size([rows, columns])
    buckets, both, far = table.shape[0], node.attr("is_bidirectional", 0), node.attr("max_distance")
    distance = np.arange(columns) - np.arange(rows)[:, None]
    start = np.zeros_like(distance)
    if both:
        buckets //= 2
        start, distance = (distance > 0) * buckets, np.abs(distance)
    else:
        distance = -np.minimum(distance, 0)
    near = buckets // 2
    ratio = np.log(np.maximum(distance, 1).astype(np.float32) / np.float32(near)) / np.float32(math.log(far / near))
    shared = np.minimum(near + (ratio * np.float32(buckets - near)).astype(np.int64), buckets - 1)
    index = tensor((start + np.where(distance < near, distance, shared)).astype(np.int64))
    return hw.embedding(index, table).permute(2, 0, 1).unsqueeze(0)


@op("GatedRelativePositionBias", domain=MICROSOFT)
def gated_relative_bias(
    node: Node, q: Any, q_bias: Any, places: Any, weight: Any, bias: Any, constant: Any, offsets: Any = None
) -> Any:
    if offsets is not None:
        raise OnnxError("rows without padding (token_offset) are not supported")
    heads = node.attr("num_heads")
    rows = (q + q_bias).reshape([q.shape[0], q.shape[1], heads, -1]).transpose(1, 2)
    gates = (hw.matmul(rows, weight) + bias).reshape([*rows.shape[:3], 2, -1]).sum(-1)
    u, r = hw.sigmoid(gates).chunk(2, -1)
    return (u * (r * constant - 1.0) + 2.0) * places


@op("NGramRepeatBlock", domain=MICROSOFT)
def ngram_repeat_block(node: Node, ids: Any, scores: Any) -> Any:
    """No token may end a run of `ngram_size` tokens that has been there."""
    n, length = node.attr("ngram_size"), ids.shape[1]
    if length < n:
        return scores.clone()
    ids = ids.to(hw.int64)
    runs = ids.unfold(1, n, 1)  # [batch, runs, n]
    same = (runs.narrow(2, 0, n - 1) == ids.narrow(1, length - n + 1, n - 1).unsqueeze(1)).all(2)
    kept, blocked = hw.zeros_like(scores), hw.full_like(scores, float("-inf"))
    token = runs.select(2, n - 1)
    hits = hw.zeros_like(scores).scatter_add(1, token, same.to(scores.dtype))
    return scores + hw.where(hits > 0, blocked, kept)


@op("CropAndResize", domain=MICROSOFT, host=(3,))
def crop_and_resize(node: Node, x: Any, boxes: Any, batches: Any, size: Any) -> Any:
    """Boxes [y1, x1, y2, x2] from 0 to 1, whose corners are the first and last of the elements taken."""
    height, width = ints(size)
    check_size([boxes.shape[0], x.shape[1], height, width])
    if (mode := node.attr("mode", "bilinear")) not in ("bilinear", "nearest"):
        raise OnnxError(f"there is no mode '{mode}'")

    def places(low: Any, high: Any, count: int, full: int) -> Any:
        steps = hw.arange(count).to(x.dtype).reshape([1, -1])
        if count == 1:
            return ((low + high) * 0.5 * (full - 1)).unsqueeze(1)
        return low.unsqueeze(1) * (full - 1) + steps * ((high - low) * ((full - 1) / (count - 1))).unsqueeze(1)

    top, left, bottom, right = boxes.unbind(1)
    ys, xs = places(top, bottom, height, x.shape[2]), places(left, right, width, x.shape[3])
    inside = ((ys >= 0) & (ys <= x.shape[2] - 1)).unsqueeze(2) & ((xs >= 0) & (xs <= x.shape[3] - 1)).unsqueeze(1)
    images, which = x.permute(0, 2, 3, 1), batches.to(hw.int64).reshape([-1, 1, 1])

    def at(row: Any, column: Any) -> Any:
        row, column = hw.clamp(row.to(hw.int64), 0, x.shape[2] - 1), hw.clamp(column.to(hw.int64), 0, x.shape[3] - 1)
        return images[which, row.unsqueeze(2), column.unsqueeze(1)]  # [boxes, height, width, channels]

    if mode == "nearest":
        made = at(hw.floor(ys + 0.5), hw.floor(xs + 0.5))
    else:
        y0, x0 = hw.floor(ys), hw.floor(xs)
        dy, dx = (ys - y0).reshape([-1, height, 1, 1]), (xs - x0).reshape([-1, 1, width, 1])
        upper = at(y0, x0) * (1 - dx) + at(y0, x0 + 1) * dx
        lower = at(y0 + 1, x0) * (1 - dx) + at(y0 + 1, x0 + 1) * dx
        made = upper * (1 - dy) + lower * dy
    made = hw.where(inside.unsqueeze(3), made, hw.full_like(made, node.attr("extrapolation_value", 0.0)))
    return made.permute(0, 3, 1, 2)
