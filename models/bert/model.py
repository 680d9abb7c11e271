"""BERT (Devlin et al. 2019): encoder and masked language model, with the parameter names of transformers."""

from __future__ import annotations

import headwater as hw
import headwater.nn.functional as F
from headwater import nn

from .config import BASE, Config


class Embeddings(nn.Module):
    """Sum of word, position and type vectors: (N, L) to (N, L, hidden)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        size = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, size, padding_idx=0)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, size)
        self.LayerNorm = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, ids: hw.Tensor, types: hw.Tensor | None) -> hw.Tensor:
        positions = hw.arange(ids.shape[1])
        x = self.word_embeddings(ids) + self.position_embeddings(positions)
        types = hw.zeros_like(ids) if types is None else types
        return self.dropout(self.LayerNorm(x + self.token_type_embeddings(types)))


class SelfAttention(nn.Module):
    """Attention of every position to every unmasked one; without the output projection."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        size = config.hidden_size
        self.heads = config.num_attention_heads
        self.dropout = config.attention_probs_dropout_prob
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size)
        self.value = nn.Linear(size, size)

    def forward(self, x: hw.Tensor, mask: hw.Tensor | None) -> hw.Tensor:
        batch, length, size = x.shape

        def split(t: hw.Tensor) -> hw.Tensor:
            return t.view(batch, length, self.heads, size // self.heads).transpose(1, 2)

        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        p = self.dropout if self.training else 0.0
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p)
        return out.transpose(1, 2).reshape(batch, length, size)


class Output(nn.Module):
    """Projection, dropout, residual connection, normalisation."""

    def __init__(self, inputs: int, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x: hw.Tensor, shortcut: hw.Tensor) -> hw.Tensor:
        return self.LayerNorm(self.dropout(self.dense(x)) + shortcut)


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self = SelfAttention(config)
        self.output = Output(config.hidden_size, config)

    def forward(self, x: hw.Tensor, mask: hw.Tensor | None) -> hw.Tensor:
        return self.output(self.self(x, mask), x)


class Intermediate(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        return F.gelu(self.dense(x))


class Layer(nn.Module):
    """Attention and a two-layer network: (N, L, hidden) to the same shape."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = Intermediate(config)
        self.output = Output(config.intermediate_size, config)

    def forward(self, x: hw.Tensor, mask: hw.Tensor | None) -> hw.Tensor:
        x = self.attention(x, mask)
        return self.output(self.intermediate(x), x)


class Encoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layer = nn.ModuleList([Layer(config) for _ in range(config.num_hidden_layers)])

    def forward(self, x: hw.Tensor, mask: hw.Tensor | None) -> hw.Tensor:
        for layer in self.layer:
            x = layer(x, mask)
        return x


class Pooler(nn.Module):
    """The first position through a linear layer and tanh: (N, L, hidden) to (N, hidden)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        return hw.tanh(self.dense(x[:, 0]))


class BertModel(nn.Module):
    """Token ids (N, L) to hidden states (N, L, hidden) and pooled output (N, hidden), None without pooler.

    attention_mask (N, L): 1 where a token counts, 0 for padding.
    """

    # hw.parallelize(model, mesh, "tensor") splits these axes: each pair of layers by columns, then by rows.
    tensor_plan = {
        "*.self.*": 0, "*.attention.output.dense.weight": 1,
        "*.intermediate.dense.*": 0, "*.output.dense.weight": 1,
    }  # fmt: skip

    def __init__(self, config: Config = BASE, add_pooling_layer: bool = True) -> None:
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.pooler = Pooler(config) if add_pooling_layer else None
        self.apply(lambda module: _initialise(module, config.initializer_range))

    def forward(
        self, input_ids: hw.Tensor, attention_mask: hw.Tensor | None = None, token_type_ids: hw.Tensor | None = None
    ) -> tuple[hw.Tensor, hw.Tensor | None]:
        mask = None if attention_mask is None else (attention_mask != 0)[:, None, None, :]
        states = self.encoder(self.embeddings(input_ids, token_type_ids), mask)
        return states, None if self.pooler is None else self.pooler(states)


class Transform(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        return self.LayerNorm(F.gelu(self.dense(x)))


class Predictions(nn.Module):
    """Scores of all words at each position; the weight is that of the word embeddings."""

    def __init__(self, config: Config, words: nn.Parameter) -> None:
        super().__init__()
        self.bias = nn.Parameter(hw.zeros(config.vocab_size))
        self.transform = Transform(config)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.decoder.weight = words
        self.decoder.bias = self.bias

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        return self.decoder(self.transform(x))


class BertForMaskedLM(nn.Module):
    """Token ids (N, L) to scores (N, L, vocab_size)."""

    def __init__(self, config: Config = BASE) -> None:
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False)
        self.cls = nn.Module()
        self.cls.predictions = Predictions(config, self.bert.embeddings.word_embeddings.weight)
        self.cls.predictions.transform.apply(lambda module: _initialise(module, config.initializer_range))

    def forward(
        self, input_ids: hw.Tensor, attention_mask: hw.Tensor | None = None, token_type_ids: hw.Tensor | None = None
    ) -> hw.Tensor:
        return self.cls.predictions(self.bert(input_ids, attention_mask, token_type_ids)[0])


def _initialise(module: nn.Module, std: float) -> None:
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0.0, std)
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, 0.0, std)
        if module.padding_idx is not None:
            with hw.no_grad():
                module.weight[module.padding_idx].fill_(0)


def bert_base() -> BertModel:
    """BERT base, uncased vocabulary: 109.5 million parameters."""
    return BertModel(BASE)
