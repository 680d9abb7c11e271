"""Multi-layer perceptron: linear layers with ReLU between them."""

from __future__ import annotations

import headwater as hw
from headwater import nn

from .config import Config


class MLP(nn.Module):
    """(N, ...) with `inputs` values a sample to (N, classes)."""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__()
        config = config or Config()
        sizes = (config.inputs, *config.hidden)
        layers: list[nn.Module] = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.layers = nn.Sequential(nn.Flatten(), *layers, nn.Linear(sizes[-1], config.classes))

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        return self.layers(x)

    def pipeline_layers(self) -> list[nn.Module]:
        """What hw.parallelize cuts into stages."""
        return list(self.layers)
