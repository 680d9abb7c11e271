"""Graphs of real functions for the tests: captured as headwater.compile does, without compiling them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import headwater as hw
from headwater import _C, nn


def graph_of(function: Callable[..., Any], *tensors: hw.Tensor) -> Any:
    """The graph of function(*tensors), not optimised."""
    capture = _C.Capture(function.__name__)
    stand_ins = [capture.add_input(t, f"x{i}", None) for i, t in enumerate(tensors)]
    capture.enter()
    try:
        result = function(*stand_ins)
        for t in result if isinstance(result, tuple) else (result,):
            capture.output(t)
        del result
    finally:
        capture.leave()
    capture.finish()
    return capture.graph()


class Block(nn.Module):
    """Self-attention and a feed-forward layer, without dropout."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        batch, time, width = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(batch, time, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-1, -2)) / 4.0
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, time, width)
        x = x + self.out(mixed)
        return x + self.down(nn.functional.gelu(self.up(x)))


class Convolutions(nn.Module):
    """Two convolutions with batch norm, pooled."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Conv2d(3, 8, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(8)
        self.two = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(8)
        self.classes = nn.Linear(8, 5)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        x = nn.functional.relu(self.norm1(self.one(x)))
        x = nn.functional.relu(self.norm2(self.two(x)) + x)
        return self.classes(x.mean((2, 3)))
