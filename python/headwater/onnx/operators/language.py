"""com.microsoft: operators of language models, with caches of keys and values, and weights of few bits."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import headwater as hw

from ..node import Node
from ..registry import MICROSOFT, op
from ..requirement import OnnxError
from ..values import host, number, tensor
from .attention import _attend, _heads, _padding_mask, _together, refuse


# ---------------------------------------------------------------- places
def _turned(node: Node, heads: Any, cosines: Any, sines: Any, places: Any, turning: int, interleaved: bool) -> Any:
    """`heads` [batch, sequence, heads, size], of which the first `turning` elements turn by the angles of their place."""
    size, length = heads.shape[-1], heads.shape[1]
    c, s = (hw.embedding(places, t).reshape([-1, length, 1, t.shape[1]]).narrow(3, 0, turning // 2) for t in (cosines, sines))
    part = heads.narrow(3, 0, turning)
    if interleaved:
        first, second = part.reshape([*part.shape[:3], -1, 2]).unbind(4)
        made = hw.stack([first * c - second * s, second * c + first * s], 4).reshape(part.shape)
    else:
        first, second = part.chunk(2, 3)
        made = hw.cat([first * c - second * s, second * c + first * s], 3)
    return made if turning == size else hw.cat([made, heads.narrow(3, turning, size - turning)], 3)


@op("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding(node: Node, x: Any, positions: Any, cosines: Any, sines: Any) -> Any:
    """x [batch, sequence, hidden] or [batch, heads, sequence, size]; half of each head turns with the other half."""
    flat = x.dim() == 3
    size = x.shape[-1] // (node.attr("num_heads", 0) or 1) if flat else x.shape[-1]
    if flat and not node.attr("num_heads", 0):
        size = 2 * cosines.shape[1]
    heads = x.reshape([x.shape[0], x.shape[1], -1, size]) if flat else x.transpose(1, 2)  # [batch, sequence, heads, size]
    places = positions.to(hw.int64)
    places = places + hw.arange(heads.shape[1]) if places.numel() == 1 else places
    made = _turned(
        node, heads, cosines, sines, places, node.attr("rotary_embedding_dim", 0) or size, bool(node.attr("interleaved", 0))
    )
    return made.reshape(x.shape) if flat else made.transpose(1, 2)


@op("GemmaRotaryEmbedding", domain=MICROSOFT)
def gemma_rotary_embedding(node: Node, angles: Any, q: Any, q_rot: Any, k: Any, k_rot: Any) -> Any:
    c, s = (t.unsqueeze(1).to(q.dtype) for t in (hw.cos(angles), hw.sin(angles)))
    return q * c + q_rot * s, k * c + k_rot * s


# ---------------------------------------------------------------- attention
def _cached(past: Any, new: Any, before: Any, present: int) -> Any:
    """[batch, heads, present, size]: the first `before` rows of the past, then the new ones. `before` [batch] may differ."""
    if past is None or past.shape[2] == 0:
        short = present - new.shape[2]
        return hw.pad(new, [0, 0, 0, short]) if short else new
    kept, added = past.shape[2], new.shape[2]
    if new.shape[0] == 1 and kept + added == present:
        return hw.cat([past, new], 2)
    places = hw.arange(present).reshape([1, -1])
    start = before.reshape([-1, 1])
    index = hw.where((places >= start) & (places < start + added), places - start + kept, hw.clamp_max(places, kept - 1))
    index = index.reshape([-1, 1, present, 1]).expand([new.shape[0], new.shape[1], present, new.shape[3]])
    return hw.take_along_dim(hw.cat([past, new], 2), index, 2)


def _rms(x: Any, weight: Any, epsilon: float) -> Any:
    return x * (hw.square(x).mean(-1, True) + epsilon).rsqrt() * weight


@op("GroupQueryAttention", domain=MICROSOFT, host=(6,))
def group_query_attention(
    node: Node, q: Any, k: Any, v: Any, past_key: Any, past_value: Any, lengths: Any, total: Any, cosines: Any = None,
    sines: Any = None, positions: Any = None, bias: Any = None, sink: Any = None, *more: Any,
) -> Any:  # fmt: skip
    """Several heads of queries share one of keys; `lengths` + 1 rows of the cache are in use after the new ones are appended."""
    heads, groups = node.attr("num_heads"), node.attr("kv_num_heads")
    refuse(node, "sliding_window_cache", "qk_output", "k_quant_type", "v_quant_type")
    if len(more) > 4 and more[4] is not None or any(m is not None for m in more[:2]):
        raise OnnxError("quantised caches and query_seqlens are not supported")
    if k is None:
        size = q.shape[-1] // (heads + 2 * groups)
        q, k, v = hw.split_with_sizes(q, [heads * size, groups * size, groups * size], 2)
    batch, count = q.shape[0], q.shape[1]
    q, k, v = (x.reshape([batch, count, n, -1]) for x, n in ((q, heads), (k, groups), (v, groups)))
    if len(more) > 3 and more[2] is not None:
        epsilon = node.attr("qk_norm_epsilon", 1e-6)
        q = _rms(q, more[2], node.attr("q_norm_epsilon", epsilon))
        k = _rms(k, more[3], node.attr("k_norm_epsilon", epsilon))
    last = number(total, "total_sequence_length")
    used = lengths.to(hw.int64).reshape([-1]) + 1
    first = last == count  # the prompt: rows behind a shorter one are padding
    before = hw.zeros(batch, dtype=hw.int64) if first else used - count
    own = before.reshape([-1, 1]) + hw.arange(count)
    if node.attr("do_rotary", 0):
        places = own if positions is None or first else positions.to(hw.int64)
        turning, interleaved = 2 * cosines.shape[1], bool(node.attr("rotary_interleaved", 0))
        q, k = (_turned(node, x, cosines, sines, places, turning, interleaved) for x in (q, k))
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    kept = 0 if past_key is None else past_key.shape[2]
    present = max(last, kept)
    keys, values = _cached(past_key, k, before, present), _cached(past_value, v, before, present)
    seen_keys, seen_values = (x.narrow(2, 0, last).repeat_interleave(heads // groups, 1) for x in (keys, values))
    made = _grouped(node, q, seen_keys, seen_values, own.reshape([-1, 1, count, 1]), used.reshape([-1, 1, 1, 1]), bias, sink)
    return _together(made), keys, values


def _grouped(node: Node, q: Any, k: Any, v: Any, own: Any, used: Any, bias: Any, sink: Any) -> Any:
    """Attention of queries at the places `own` over keys, of which `used` are there."""
    places = hw.arange(k.shape[2])
    allowed = places <= own if node.attr("causal", 1) else places < used
    if (window := node.attr("local_window_size", -1)) > 0:
        allowed = allowed & (places > own - window)
    scale = node.attr("scale", 0.0) or 1 / math.sqrt(q.shape[-1])
    softcap, smooth = node.attr("softcap", 0.0), node.attr("smooth_softmax", 0) > 0
    if not softcap and not smooth and sink is None and bias is None:
        return hw.scaled_dot_product_attention(q, k, v, allowed, scale=scale)
    scores = hw.matmul(q, k.transpose(-1, -2)) * scale
    scores = softcap * hw.tanh(scores / softcap) if softcap else scores
    scores = scores if bias is None else scores + bias.narrow(3, 0, k.shape[2])
    scores = hw.where(allowed, scores, hw.full_like(scores, float("-inf")))
    if not smooth and sink is None:
        return hw.matmul(hw.softmax(scores, -1), v)
    extra = hw.zeros([1, q.shape[1], 1, 1], dtype=scores.dtype) if sink is None else sink.reshape([1, -1, 1, 1]).to(scores.dtype)
    joined = hw.cat([scores, extra.expand([*scores.shape[:3], 1])], 3)  # one more column, which takes its part and gives nothing
    return hw.matmul(hw.softmax(joined, -1).narrow(3, 0, k.shape[2]), v)


@op("DecoderMaskedMultiHeadAttention", domain=MICROSOFT)
def decoder_attention(
    node: Node, q: Any, k: Any = None, v: Any = None, mask: Any = None, scores: Any = None, past_key: Any = None, past_value: Any = None,
    before: Any = None, beams: Any = None, indirection: Any = None, bias: Any = None,
) -> Any:  # fmt: skip
    """One new row: self attention over a cache, or cross attention over keys and values of four axes."""
    refuse(node, "past_present_share_buffer", "output_qk")
    if indirection is not None:
        raise OnnxError("beams in a shared cache (cache_indirection) are not supported")
    heads = node.attr("num_heads")
    if k is None:
        q, k, v = q.chunk(3, 2)
    cross = k.dim() == 4
    if bias is not None:
        q_bias, k_bias, v_bias = hw.split_with_sizes(bias, [q.shape[2]] * 2 + [bias.shape[0] - 2 * q.shape[2]], 0)
        q, k, v = q + q_bias, (k if cross else k + k_bias), (v if cross else v + v_bias)
    q, k, v = (_heads(x, heads) for x in (q, k, v))
    if past_key is not None:
        k, v = hw.cat([past_key, k], 2), hw.cat([past_value, v], 2)
    return _together(_attend(node, q, k, v, _padding_mask(mask, q.shape[0], k.shape[2]), scores, 0)), k, v


# ---------------------------------------------------------------- weights of few bits
def _unpacked(packed: Any, bits: int) -> Any:
    """Numbers of `bits` bits out of bytes along the last axis, the lowest first."""
    if bits == 8:
        return packed
    parts = hw.stack([(packed >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)], -1)
    return parts.reshape([*packed.shape[:-1], -1])


@op("MatMulNBits", domain=MICROSOFT)
def matmul_n_bits(node: Node, a: Any, packed: Any, scales: Any, zeros: Any = None, groups: Any = None, bias: Any = None) -> Any:
    """Weights of two, four or eight bits: [columns, blocks, bytes]."""
    rows, columns, bits, block = node.attr("K"), node.attr("N"), node.attr("bits", 4), node.attr("block_size")
    refuse(node, "weight_prepacked")
    if bits not in (2, 4, 8):
        raise OnnxError(f"weights of {bits} bits are not supported")
    blocks = -(-rows // block)
    steps = _unpacked(packed.reshape([columns, blocks, -1]), bits).to(a.dtype)
    middle: Any = float(1 << (bits - 1))
    if zeros is not None and zeros.is_floating_point():
        middle = zeros.reshape([columns, blocks, 1])
    elif zeros is not None:
        middle = _unpacked(zeros.reshape([columns, -1]), bits).narrow(1, 0, blocks).reshape([columns, blocks, 1]).to(a.dtype)
    scales = scales.reshape([columns, blocks, 1])
    if groups is not None and groups.numel():  # each row says which block's numbers it has
        whose = groups.to(hw.int64).narrow(0, 0, rows)
        steps = steps.reshape([columns, -1]).narrow(1, 0, rows)
        middle = middle if zeros is None else middle.reshape([columns, -1]).index_select(1, whose)
        weight = (steps - middle) * scales.reshape([columns, -1]).index_select(1, whose)
    else:
        weight = ((steps - middle) * scales).reshape([columns, -1]).narrow(1, 0, rows)
    made = hw.matmul(a, weight.t())
    return made if bias is None else made + bias


# The values that four bits of bitsandbytes stand for (Dettmers et al. 2023, QLoRA): FP4, and NF4, quantiles of the normal distribution.
_FP4 = [0.0, 5.208333333e-03, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25]
_NF4 = [
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434,
    0.5626170039176941, 0.7229568362236023, 1.0,
]  # fmt: skip


@op("MatMulBnb4", domain=MICROSOFT)
def matmul_bnb4(node: Node, a: Any, packed: Any, largest: Any) -> Any:
    """Weights [N, K] as four-bit codes, the upper half of a byte first, with the largest value of each block."""
    rows, columns, block = node.attr("K"), node.attr("N"), node.attr("block_size")
    values = _NF4 if node.attr("quant_type") else [*_FP4, *(-v for v in _FP4)]
    codes = hw.stack([packed >> 4, packed & 15], -1).reshape([-1]).narrow(0, 0, rows * columns)
    numbers = hw.tensor(values, dtype=a.dtype).index_select(0, codes.to(hw.int64))
    short = -(rows * columns) % block
    padded = hw.pad(numbers, [0, short]) if short else numbers
    weight = (padded.reshape([-1, block]) * largest.reshape([-1, 1])).reshape([-1]).narrow(0, 0, rows * columns)
    weight = weight.reshape([columns, rows])
    return hw.matmul(a, weight.t() if node.attr("transB", 1) else weight)


@op("GatherBlockQuantized", domain=MICROSOFT, raw=True)
def gather_block_quantized(node: Node, data: Any, index: Any, scales: Any, zeros: Any = None) -> Any:
    """Rows of a table of few bits with a scale for each block: only what is taken is widened."""
    whole, four = data, not isinstance(data, hw.Tensor) and data.dtype.name in ("uint4", "int4")
    bits, block = node.attr("bits", 4), node.attr("block_size", 128)
    if not four and not isinstance(data, hw.Tensor) and data.dtype.name not in ("uint8", "int8"):
        raise OnnxError(f"tables of {data.dtype.name} are not supported")
    data = tensor(np.asarray(host(whole)).astype(np.int8)) if four else tensor(data)
    rank = data.dim()
    along, over = node.attr("gather_axis", 0) % rank, node.attr("quantize_axis", 1) % rank
    if along == over:
        raise OnnxError("gather_axis and quantize_axis must differ")
    index, scales = tensor(index).to(hw.int64), tensor(scales)
    flat, size = index.reshape([-1]), data.shape[along]
    flat = hw.where(flat < 0, flat + size, flat)

    def taken(x: Any, width: int) -> Any:
        return _unpacked(x.index_select(along, flat), width)

    steps = taken(data, 8 if four else bits).to(scales.dtype)
    per_block = taken(scales, 8)
    middle: Any = 0.0 if four else float(1 << (bits - 1))
    if zeros is not None:
        zeros = tensor(np.asarray(host(zeros)).astype(np.int8)) if four else tensor(zeros)
        middle = taken(zeros, 8 if four else bits).narrow(over, 0, scales.shape[over]).to(scales.dtype)
        middle = middle.repeat_interleave(block, over).narrow(over, 0, steps.shape[over])
    made = (steps - middle) * per_block.repeat_interleave(block, over).narrow(over, 0, steps.shape[over])
    return made.reshape([*made.shape[:along], *index.shape, *made.shape[along + 1 :]])
