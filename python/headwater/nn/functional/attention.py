"""Multi-head attention with packed or separate projections."""

from __future__ import annotations

import math

import headwater as hw
from headwater import Tensor

from .activation import dropout


def _project(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor | tuple[Tensor, Tensor, Tensor],
    bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The three projections; one matrix product where the inputs are the same tensor and the weight is packed."""
    biases = (None, None, None) if bias is None else bias.chunk(3)
    if isinstance(weight, tuple):
        return tuple(hw.linear(x, w, b) for x, w, b in zip((query, key, value), weight, biases))
    if query is key and key is value:
        return hw.linear(query, weight, bias).chunk(3, -1)
    return tuple(hw.linear(x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3), biases))


def _additive(mask: Tensor | None, dtype: hw.dtype) -> Tensor | None:
    """A boolean mask (True: not allowed) as a tensor to add to the scores."""
    if mask is None or mask.dtype != hw.bool:
        return mask
    return hw.zeros(mask.shape, dtype=dtype).masked_fill(mask, -math.inf)


def _merge_masks(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, batch: int, heads: int, dtype: hw.dtype
) -> Tensor | None:
    """One additive mask that broadcasts to (batch, heads, targets, sources)."""
    mask = _additive(attn_mask, dtype)
    if mask is not None and mask.ndim == 3:
        mask = mask.reshape((batch, heads, *mask.shape[1:]))
    padding = _additive(key_padding_mask, dtype)
    if padding is None:
        return mask
    padding = padding.reshape((batch, 1, 1, padding.shape[-1]))
    return padding if mask is None else mask + padding


def _check(query: Tensor, key: Tensor, value: Tensor, embed_dim: int, heads: int) -> None:
    shapes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
    if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
        raise RuntimeError(
            f"multi_head_attention: expected inputs with 2 or 3 axes, all the same number; got {shapes}."
        )
    if query.shape[-1] != embed_dim:
        raise RuntimeError(f"multi_head_attention: was expecting embedding dimension of {embed_dim}, but got {shapes}.")
    if embed_dim % heads:
        raise RuntimeError(f"multi_head_attention: embed_dim {embed_dim} is not divisible by num_heads {heads}.")
    if key.shape[:-1] != value.shape[:-1]:
        raise RuntimeError(f"multi_head_attention: key and value must agree but for the last axis; got {shapes}.")


def _split(x: Tensor, heads: int) -> Tensor:
    """(L, N, E) to (N, heads, L, E / heads)."""
    return x.reshape((x.shape[0], x.shape[1], heads, x.shape[2] // heads)).permute((1, 2, 0, 3))


def _extend(
    k: Tensor, v: Tensor, mask: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, zero: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Keys and values (S, N, E) with a learned entry and one of zeros behind the others, both open to every query."""
    shape = (1, *k.shape[1:])
    extra = []
    if bias_k is not None and bias_v is not None:
        extra.append((bias_k.expand(shape), bias_v.expand(shape)))
    if zero:
        extra.append((hw.zeros(shape, dtype=k.dtype), hw.zeros(shape, dtype=v.dtype)))
    if not extra:
        return k, v, mask
    k, v = hw.cat([k, *[pair[0] for pair in extra]]), hw.cat([v, *[pair[1] for pair in extra]])
    return k, v, None if mask is None else hw.pad(mask, (0, len(extra)))


def _with_batch(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Adds the batch axis; inputs that were the same tensor stay the same, so that they share a projection."""
    first = query.unsqueeze(1)
    second = first if key is query else key.unsqueeze(1)
    third = second if value is key else value.unsqueeze(1)
    return first, second, third, None if key_padding_mask is None else key_padding_mask.unsqueeze(0)


def _attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, need_weights: bool, is_causal: bool
) -> tuple[Tensor, Tensor | None]:
    if not need_weights:
        causal = is_causal and mask is None
        return hw.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout_p, is_causal=causal), None
    scores = (q * (1.0 / math.sqrt(q.shape[-1]))) @ k.transpose(-2, -1)
    weights = hw.softmax(scores if mask is None else scores + mask, -1)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p)
    return weights @ v, weights


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention over several heads; sequences first: query (L, N, E) or (L, E), key and value (S, N, E') or (S, E').

    Args:
        key_padding_mask: (N, S) or (S,), True (or -inf) where a key is padding.
        attn_mask: (L, S) or (N * heads, L, S), True (or -inf) where attention is not allowed.
        need_weights: also return the attention weights, (N, L, S) or, not averaged, (N, heads, L, S).
    """
    if static_k is not None or static_v is not None:
        raise NotImplementedError(
            "multi_head_attention: static_k and static_v are not supported; project them outside."
        )
    _check(query, key, value, embed_dim_to_check, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError("multi_head_attention: is_causal is a hint; give attn_mask as well.")
    single = query.ndim == 2
    if single:
        query, key, value, key_padding_mask = _with_batch(query, key, value, key_padding_mask)
    weight = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    q, k, v = _project(query, key, value, weight, in_proj_bias)
    mask = _merge_masks(attn_mask, key_padding_mask, q.shape[1], num_heads, q.dtype)
    if is_causal and key_padding_mask is None and bias_k is None and not add_zero_attn and not need_weights:
        mask = None  # the kernel knows the causal mask
    else:
        is_causal = False
    k, v, mask = _extend(k, v, mask, bias_k, bias_v, add_zero_attn)
    heads = (_split(q, num_heads), _split(k, num_heads), _split(v, num_heads))
    out, weights = _attend(*heads, mask, dropout_p if training else 0.0, need_weights, is_causal)
    out = hw.linear(out.permute((2, 0, 1, 3)).reshape(q.shape), out_proj_weight, out_proj_bias)
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if single:
        out, weights = out.squeeze(1), None if weights is None else weights.squeeze(0)
    return out, weights
