"""The networks of the training benchmark, written once for both frameworks: `m` is headwater or torch."""
from __future__ import annotations

from typing import Any


def resnet18(m: Any) -> Any:
    """ResNet-18 (He et al., 2015) for 224x224 pictures."""
    nn = m.nn

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, inputs: int, outputs: int, stride: int):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU(inplace=True)
            self.down = None
            if stride != 1 or inputs != outputs:
                self.down = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(y + (x if self.down is None else self.down(x)))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    width = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(width, outputs, stride), Block(outputs, outputs, 1)]
        width = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def bert(m: Any, layers: int = 12, width: int = 768, heads: int = 12, vocabulary: int = 30522, length: int = 128) -> Any:
    """BERT-base (Devlin et al., 2018) with a two-class head on the first token; no dropout."""
    nn, functional = m.nn, m.nn.functional

    class Layer(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
            self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)

        def split(self, x: Any) -> Any:
            return x.reshape(x.shape[0], x.shape[1], heads, width // heads).transpose(1, 2)

        def forward(self, x: Any) -> Any:
            a = functional.scaled_dot_product_attention(self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x)))
            x = self.norm1(x + self.output(a.transpose(1, 2).reshape(x.shape)))
            return self.norm2(x + self.outer(functional.gelu(self.inner(x))))

    class Bert(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.positions, self.types = nn.Embedding(vocabulary, width), nn.Embedding(length, width), nn.Embedding(2, width)
            self.norm = nn.LayerNorm(width, eps=1e-12)
            self.layers = nn.ModuleList([Layer() for _ in range(layers)])
            self.head = nn.Linear(width, 2)

        def forward(self, tokens: Any) -> Any:
            place = m.arange(tokens.shape[1])
            x = self.norm(self.words(tokens) + self.positions(place) + self.types(m.zeros_like(tokens)))
            for layer in self.layers:
                x = layer(x)
            return self.head(x[:, 0])

    return Bert()
