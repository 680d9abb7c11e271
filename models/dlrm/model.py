"""DLRM (Naumov et al. 2019): embedding bags for categories, a perceptron for numbers, their products, a perceptron on top."""

from __future__ import annotations

import headwater as hw
from headwater import nn

from .config import Config


def _perceptron(sizes: tuple[int, ...], last: nn.Module) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        nn.init.normal_(layers[-2].weight, 0.0, (2 / (inputs + outputs)) ** 0.5)
        nn.init.normal_(layers[-2].bias, 0.0, (1 / outputs) ** 0.5)
    layers[-1] = last
    return nn.Sequential(*layers)


class DLRM(nn.Module):
    """Numbers (N, dense) and categories (tables, N, bag) to probabilities (N, 1)."""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__()
        config = config or Config()
        size = config.embedding
        self.emb_l = nn.ModuleList([nn.EmbeddingBag(rows, size, mode="sum", sparse=config.sparse) for rows in config.tables])
        for table in self.emb_l:
            bound = table.num_embeddings**-0.5
            nn.init.uniform_(table.weight, -bound, bound)
        self.bot_l = _perceptron((config.dense, *config.bottom, size), nn.ReLU())
        vectors = len(config.tables) + 1
        pairs = vectors * (vectors - 1) // 2
        self.top_l = _perceptron((size + pairs, *config.top, 1), nn.Sigmoid())
        rows = [i for i in range(vectors) for _ in range(i)]
        columns = [j for i in range(vectors) for j in range(i)]
        places = hw.tensor([i * vectors + j for i, j in zip(rows, columns)], dtype=hw.int64)
        self.register_buffer("_below_diagonal", places, persistent=False)

    def forward(self, dense: hw.Tensor, categories: hw.Tensor) -> hw.Tensor:
        x = self.bot_l(dense)
        vectors = hw.stack([x, *[table(ids) for table, ids in zip(self.emb_l, categories)]], 1)
        products = hw.bmm(vectors, vectors.transpose(1, 2))
        pairs = products.flatten(1).index_select(1, self._below_diagonal)
        return self.top_l(hw.cat([x, pairs], 1))
