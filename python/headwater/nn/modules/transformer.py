"""The Transformer of Vaswani et al. (2017): encoder and decoder layers, stacks of them, and the whole."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import headwater as hw

from .. import functional as F
from .. import init
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

Activation = str | Callable[[hw.Tensor], hw.Tensor]


def _activation(activation: Activation) -> Callable[[hw.Tensor], hw.Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


def _clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _is_causal(mask: hw.Tensor | None, is_causal: bool | None, size: int) -> bool:
    """Whether `mask` is the causal one; worked out where the caller does not say."""
    if is_causal is not None:
        return is_causal
    if mask is None or mask.ndim != 2 or tuple(mask.shape) != (size, size):
        return False
    causal = hw.ones(size, size, dtype=hw.bool).triu(1)
    blocked = mask if mask.dtype == hw.bool else mask == -math.inf
    if mask.dtype != hw.bool and not bool(((mask == 0) | blocked).all()):
        return False
    return bool((blocked == causal).all())


class TransformerEncoderLayer(Module):
    """Self-attention and a two-layer network, each with a residual connection and layer normalisation.

    Shapes: src (L, N, d_model), batch_first: (N, L, d_model), or (L, d_model); the output has the same shape.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **where)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **where)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **where)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **where)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        src: hw.Tensor,
        src_mask: hw.Tensor | None = None,
        src_key_padding_mask: hw.Tensor | None = None,
        is_causal: bool = False,
    ) -> hw.Tensor:
        x = src
        if self.norm_first:
            x = x + self._attend(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            return x + self._feed_forward(self.norm2(x))
        x = self.norm1(x + self._attend(x, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._feed_forward(x))

    def _attend(self, x: hw.Tensor, mask: hw.Tensor | None, padding: hw.Tensor | None, is_causal: bool) -> hw.Tensor:
        out, _ = self.self_attn(
            x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False, is_causal=is_causal
        )
        return self.dropout1(out)

    def _feed_forward(self, x: hw.Tensor) -> hw.Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Self-attention, attention to the encoder's output, and a two-layer network.

    Shapes: tgt (T, N, d_model) and memory (S, N, d_model), batch_first: (N, T, d_model) and (N, S, d_model).
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **where)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **where)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **where)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **where)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **where)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, **where)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: hw.Tensor,
        memory: hw.Tensor,
        tgt_mask: hw.Tensor | None = None,
        memory_mask: hw.Tensor | None = None,
        tgt_key_padding_mask: hw.Tensor | None = None,
        memory_key_padding_mask: hw.Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> hw.Tensor:
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._attend_self(self.norm1(x), *own)
            x = x + self._attend_memory(self.norm2(x), memory, *other)
            return x + self._feed_forward(self.norm3(x))
        x = self.norm1(x + self._attend_self(x, *own))
        x = self.norm2(x + self._attend_memory(x, memory, *other))
        return self.norm3(x + self._feed_forward(x))

    def _attend_self(
        self, x: hw.Tensor, mask: hw.Tensor | None, padding: hw.Tensor | None, is_causal: bool
    ) -> hw.Tensor:
        out, _ = self.self_attn(
            x, x, x, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal, need_weights=False
        )
        return self.dropout1(out)

    def _attend_memory(
        self, x: hw.Tensor, memory: hw.Tensor, mask: hw.Tensor | None, padding: hw.Tensor | None, is_causal: bool
    ) -> hw.Tensor:
        out, _ = self.multihead_attn(
            x, memory, memory, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal, need_weights=False
        )
        return self.dropout2(out)

    def _feed_forward(self, x: hw.Tensor) -> hw.Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """`num_layers` copies of an encoder layer, and an optional final normalisation.

    enable_nested_tensor and mask_check are accepted and have no effect.
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: hw.Tensor,
        mask: hw.Tensor | None = None,
        src_key_padding_mask: hw.Tensor | None = None,
        is_causal: bool | None = None,
    ) -> hw.Tensor:
        length = src.shape[1 if src.ndim == 3 and self._batch_first() else 0]
        causal = _is_causal(mask, is_causal, length)
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=causal)
        return src if self.norm is None else self.norm(src)

    def _batch_first(self) -> bool:
        return len(self.layers) > 0 and self.layers[0].self_attn.batch_first


class TransformerDecoder(Module):
    """`num_layers` copies of a decoder layer, and an optional final normalisation."""

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: hw.Tensor,
        memory: hw.Tensor,
        tgt_mask: hw.Tensor | None = None,
        memory_mask: hw.Tensor | None = None,
        tgt_key_padding_mask: hw.Tensor | None = None,
        memory_key_padding_mask: hw.Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> hw.Tensor:
        batch_first = len(self.layers) > 0 and self.layers[0].self_attn.batch_first
        length = tgt.shape[1 if tgt.ndim == 3 and batch_first else 0]
        causal = _is_causal(tgt_mask, tgt_is_causal, length)
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """Encoder and decoder.

    Shapes: src (S, N, d_model), tgt (T, N, d_model), batch_first: (N, S, d_model), (N, T, d_model).
    Output: the shape of tgt.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        args: tuple[Any, ...] = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first)
        args += (norm_first, bias, device, dtype)
        norm: tuple[Any, ...] = (d_model, layer_norm_eps, True, bias, device, dtype)
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*args), num_encoder_layers, LayerNorm(*norm))
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*args), num_decoder_layers, LayerNorm(*norm))
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: hw.Tensor,
        tgt: hw.Tensor,
        src_mask: hw.Tensor | None = None,
        tgt_mask: hw.Tensor | None = None,
        memory_mask: hw.Tensor | None = None,
        src_key_padding_mask: hw.Tensor | None = None,
        tgt_key_padding_mask: hw.Tensor | None = None,
        memory_key_padding_mask: hw.Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> hw.Tensor:
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError(f"the batch number of src {tuple(src.shape)} and tgt {tuple(tgt.shape)} must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                f"the feature number of src {tuple(src.shape)} and tgt {tuple(tgt.shape)} must be equal to "
                f"d_model {self.d_model}"
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> hw.Tensor:
        """(sz, sz): -inf above the diagonal, 0 elsewhere; each position sees itself and those before."""
        return hw.full((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)
