"""GPT-2 (Radford et al. 2019) with the parameter names of transformers."""

from __future__ import annotations

import math
from typing import Any

import headwater as hw
import headwater.nn.functional as F
from headwater import nn

from .config import SMALL, Config


class Conv1D(nn.Module):
    """A linear layer whose weight is stored as (inputs, outputs), as GPT-2's checkpoints have it."""

    def __init__(self, outputs: int, inputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(hw.empty(inputs, outputs))
        self.bias = nn.Parameter(hw.zeros(outputs))

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        return F.linear(x, self.weight.transpose(0, 1), self.bias)


class Attention(nn.Module):
    """Causal attention: each position sees itself and those before. (N, L, n_embd) to the same shape."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.n_head
        self.dropout = config.dropout
        self.c_attn = Conv1D(3 * config.n_embd, config.n_embd)
        self.c_proj = Conv1D(config.n_embd, config.n_embd)
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        batch, length, size = x.shape

        def split(t: hw.Tensor) -> hw.Tensor:
            return t.reshape(batch, length, self.heads, size // self.heads).transpose(1, 2)

        q, k, v = (split(part) for part in self.c_attn(x).split(size, 2))
        p = self.dropout if self.training else 0.0
        out = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return self.resid_dropout(self.c_proj(out.transpose(1, 2).reshape(batch, length, size)))


class MLP(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.c_fc = Conv1D(4 * config.n_embd, config.n_embd)
        self.c_proj = Conv1D(config.n_embd, 4 * config.n_embd)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        return self.dropout(self.c_proj(F.gelu(self.c_fc(x), approximate="tanh")))


class Block(nn.Module):
    """Normalisation before attention and before the two-layer network, each with a residual connection."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.attn = Attention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.mlp = MLP(config)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2Model(nn.Module):
    """Token ids (N, L) to hidden states (N, L, n_embd)."""

    def __init__(self, config: Config = SMALL) -> None:
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.n_positions, config.n_embd)
        self.drop = nn.Dropout(config.dropout)
        self.h = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:  # projections back into the residual stream are scaled by the depth
                scale = math.sqrt(2 * config.n_layer) if name.endswith("c_proj.weight") else 1.0
                nn.init.normal_(parameter, 0.0, config.initializer_range / scale)

    def embed(self, input_ids: hw.Tensor) -> hw.Tensor:
        return self.drop(self.wte(input_ids) + self.wpe(hw.arange(input_ids.shape[1])))

    def forward(self, input_ids: hw.Tensor) -> hw.Tensor:
        x = self.embed(input_ids)
        for block in self.h:
            x = block(x)
        return self.ln_f(x)


class GPT2LMHeadModel(nn.Module):
    """Token ids (N, L) to scores of the next token (N, L, vocab_size)."""

    # hw.parallelize(model, mesh, "tensor") splits these axes: each pair of layers by columns, then by rows; the vocabulary by rows.
    tensor_plan = {
        "*.c_attn.*": -1, "*.attn.c_proj.weight": 0,
        "*.c_fc.*": -1, "*.mlp.c_proj.weight": 0, "*.wte.weight": 0,
    }  # fmt: skip
    # "sequence" brings the length together before these modules, and splits it after those.
    sequence_plan = {"*.c_attn": "gather", "*.c_fc": "gather", "lm_head": "gather", "*.c_proj": "scatter", "*.wte": "scatter"}

    def __init__(self, config: Config = SMALL) -> None:
        super().__init__()
        self.transformer = GPT2Model(config)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def forward(self, input_ids: hw.Tensor) -> hw.Tensor:
        return self.lm_head(self.transformer(input_ids))

    def pipeline_layers(self) -> list[Any]:
        """What hw.parallelize cuts into stages."""
        t = self.transformer
        return [(t.embed, [t.wte, t.wpe, t.drop]), *t.h, (lambda x: self.lm_head(t.ln_f(x)), [t.ln_f, self.lm_head])]


def gpt2() -> GPT2LMHeadModel:
    """GPT-2 small: 124.4 million parameters."""
    return GPT2LMHeadModel(SMALL)
