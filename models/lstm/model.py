"""Language model of embedding, LSTM and linear decoder (Zaremba et al. 2014)."""

from __future__ import annotations

import headwater as hw
from headwater import nn

from .config import MEDIUM, Config

State = tuple[hw.Tensor, hw.Tensor]


class LSTMModel(nn.Module):
    """Token ids (L, N) to scores of the next token (L, N, vocab_size); the state carries on from piece to piece."""

    def __init__(self, config: Config = MEDIUM) -> None:
        super().__init__()
        self.drop = nn.Dropout(config.dropout)
        self.encoder = nn.Embedding(config.vocab_size, config.embedding)
        self.rnn = nn.LSTM(config.embedding, config.hidden, config.layers, dropout=config.dropout)
        self.decoder = nn.Linear(config.hidden, config.vocab_size)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, ids: hw.Tensor) -> hw.Tensor:
        return self.step(ids, None)[0]

    def step(self, ids: hw.Tensor, state: State | None) -> tuple[hw.Tensor, State]:
        """Scores, and the state after the last token: a pair of (layers, N, hidden)."""
        output, state = self.rnn(self.drop(self.encoder(ids)), state)
        return self.decoder(self.drop(output)), state
