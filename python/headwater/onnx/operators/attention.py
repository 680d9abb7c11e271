"""Attention: the standard operator, and com.microsoft's forms of it."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import headwater as hw

from ..element_types import core_type, from_onnx
from ..node import Node
from ..registry import MICROSOFT, op
from ..requirement import OnnxError
from ..values import tensor


def _heads(x: Any, count: int) -> Any:
    """[batch, sequence, hidden] -> [batch, heads, sequence, size]"""
    return x.reshape([x.shape[0], x.shape[1], count, -1]).transpose(1, 2) if x.dim() == 3 else x


def _together(x: Any) -> Any:
    return x.transpose(1, 2).reshape([x.shape[0], x.shape[2], -1])


class _Mask:
    """Which keys a query may see, as a boolean [.., queries, keys], and what is added to the scores."""

    def __init__(self) -> None:
        self.allowed: Any = None
        self.added: Any = None

    def allow(self, where: Any) -> None:
        self.allowed = where if self.allowed is None else self.allowed & where

    def apply(self, scores: Any) -> Any:
        if self.added is not None:
            scores = scores + self.added
        if self.allowed is not None:
            scores = hw.where(self.allowed, scores, hw.full_like(scores, float("-inf")))
        return scores


def _mask_of(node: Node, mask: Any, lengths: Any, past: int, queries: int, keys: int) -> _Mask:
    made = _Mask()
    if mask is not None:
        short = keys - mask.shape[-1]
        if mask.dtype == hw.bool:
            made.allow(hw.pad(mask.to(hw.uint8), [0, short]).to(hw.bool) if short > 0 else mask)
        else:
            made.added = hw.pad(mask, [0, short], value=float("-inf")) if short > 0 else mask
    places = hw.arange(keys)
    if lengths is not None:
        lengths = lengths.to(hw.int64).reshape([-1, 1, 1, 1])
        made.allow(places < lengths)
    left, right = node.attr("left_window_size", -1), node.attr("right_window_size", -1)
    if node.attr("is_causal", 0) or left >= 0 or right >= 0:
        offset: Any = past if lengths is None else lengths - queries
        own = hw.arange(queries).reshape([-1, 1]) + offset
        if node.attr("is_causal", 0):
            made.allow(places <= own)
        if left >= 0:
            made.allow(places >= own - left)
        if right >= 0:
            made.allow(places <= own + right)
    return made


@op("Attention")
def attention(
    node: Node, q: Any, k: Any, v: Any, mask: Any = None, past_key: Any = None, past_value: Any = None, lengths: Any = None
) -> Any:
    flat = q.dim() == 3
    q = _heads(q, node.attr("q_num_heads", 0))
    k, v = _heads(k, node.attr("kv_num_heads", 0)), _heads(v, node.attr("kv_num_heads", 0))
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        k, v = hw.cat([past_key, k], 2), hw.cat([past_value, v], 2)
    present = (k, v)
    scale = node.attr("scale", 0.0) or 1 / math.sqrt(q.shape[-1])
    if q.shape[1] != k.shape[1]:
        k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    rules = _mask_of(node, mask, lengths, past, q.shape[2], k.shape[2])
    softcap, precision = node.attr("softcap", 0.0), node.attr("softmax_precision", 0)
    if not softcap and not precision and not node.wants(3) and rules.allowed is None and q.dtype == hw.float32:
        made = hw.scaled_dot_product_attention(q, k, v, rules.added, scale=scale)
        return (_together(made) if flat else made, *present)
    root = math.sqrt(scale)
    raw = hw.matmul(q * root, (k * root).transpose(-1, -2))
    capped = softcap * hw.tanh(raw / softcap) if softcap else raw
    biased = rules.apply(capped)
    wide = biased.to(core_type(from_onnx(precision))) if precision else biased
    weights = hw.softmax(wide, -1).to(q.dtype)
    if rules.allowed is not None or rules.added is not None:  # a query that may see nothing gets zeros
        weights = hw.where((biased == float("-inf")).all(-1, True), hw.zeros_like(weights), weights)
    made = hw.matmul(weights, v)
    shown = (raw, capped, biased, weights)[node.attr("qk_matmul_output_mode", 0)]
    return (_together(made) if flat else made, *present, shown)


# ---------------------------------------------------------------- com.microsoft
def refuse(node: Node, *names: str) -> None:
    """An error for attributes that ask for what is not done."""
    for name in names:
        if (value := node.attr(name, 0)) not in (0, "", "NONE"):
            raise OnnxError(f"{name}={value} is not supported")


def _padding_mask(mask: Any, batch: int, keys: int) -> Any:
    """[batch, 1, 1 or queries, keys] of the forms that a mask_index may have."""
    if mask is None:
        return None
    if mask.dim() == 1:  # the lengths, and perhaps where each row starts
        ends, starts = (mask.to(hw.int64).narrow(0, i, batch).reshape([-1, 1]) for i in (0, batch if mask.numel() == 2 * batch else 0))
        places = hw.arange(keys)
        seen = places < ends if mask.numel() != 2 * batch else (places < ends) & (places >= starts)
        return seen.reshape([batch, 1, 1, keys])
    shape = {2: [batch, 1, 1, keys], 3: [batch, 1, mask.shape[-2], keys]}.get(mask.dim(), list(mask.shape))
    return (mask != 0).reshape(shape)


def _attend(node: Node, q: Any, k: Any, v: Any, allowed: Any, bias: Any, past: int) -> Any:
    rules = _Mask()
    rules.added = bias
    if allowed is not None:
        low = node.attr("mask_filter_value", -10000.0)
        filled = hw.where(allowed, hw.zeros(1, dtype=q.dtype), hw.full((1,), low, dtype=q.dtype))
        rules.added = filled if bias is None else bias + filled
    if node.attr("unidirectional", 0):
        rules.allow(hw.arange(k.shape[2]) <= hw.arange(q.shape[2]).reshape([-1, 1]) + past)
    scale = node.attr("scale", 0.0) or 1 / math.sqrt(q.shape[-1])
    return hw.matmul(hw.softmax(rules.apply(hw.matmul(q, k.transpose(-1, -2)) * scale), -1), v)


@op("Attention", domain=MICROSOFT)
def packed_attention(
    node: Node, x: Any, weight: Any, bias: Any = None, mask: Any = None, past: Any = None, scores: Any = None
) -> Any:
    joint = hw.matmul(x, weight)
    return attend_packed(node, joint if bias is None else joint + bias, mask, past, scores)


def attend_packed(node: Node, joint: Any, mask: Any, past: Any, scores: Any) -> tuple[Any, ...]:
    """Attention over queries, keys and values that lie side by side: [batch, sequence, three times hidden]."""
    refuse(node, "do_rotary", "past_present_share_buffer")
    heads = node.attr("num_heads")
    sizes = node.attr("qkv_hidden_sizes", [joint.shape[2] // 3] * 3)
    q, k, v = (_heads(part, heads) for part in hw.split_with_sizes(joint, sizes, 2))
    before = 0
    if past is not None:
        before = past.shape[3]
        k, v = hw.cat([past[0], k], 2), hw.cat([past[1], v], 2)
    made = _attend(node, q, k, v, _padding_mask(mask, q.shape[0], k.shape[2]), scores, before)
    return (_together(made), hw.stack([k, v])) if node.wants(1) else (_together(made),)


@op("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(
    node: Node, q: Any, k: Any = None, v: Any = None, bias: Any = None, mask: Any = None, scores: Any = None, past_key: Any = None,
    past_value: Any = None,
) -> Any:  # fmt: skip
    heads = node.attr("num_heads")
    if k is None:  # [batch, sequence, heads, 3, size]
        q, k, v = (part.transpose(1, 2) for part in q.unbind(3))
    elif v is None:  # keys and values are [batch, sequence, heads, 2, size]
        q = _heads(q, heads)
        k, v = (part.transpose(1, 2) for part in k.unbind(3))
    else:
        if bias is not None:
            parts = hw.split_with_sizes(bias, [q.shape[2]] * 2 + [bias.shape[0] - 2 * q.shape[2]], 0)
            q, k, v = (t + b if t.dim() == 3 else t for t, b in zip((q, k, v), parts))
        q, k, v = (_heads(t, heads) for t in (q, k, v))
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        k, v = hw.cat([past_key, k], 2), hw.cat([past_value, v], 2)
    made = _attend(node, q, k, v, _padding_mask(mask, q.shape[0], k.shape[2]), scores, past)
    return _together(made), k, v


def constant(value: float, like: Any) -> Any:
    return tensor(np.array(value)).to(like.dtype)
