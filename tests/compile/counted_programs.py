"""Run by test_allocations.py with count_allocations.so preloaded: what one call of compiled functions allocates, as JSON."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable

import headwater as hw
from headwater import nn

counter = ctypes.CDLL(sys.argv[1])
counter.counting_stop.restype = counter.counted_below.restype = ctypes.c_long


def counted(call: Callable[[], object]) -> dict[str, int]:
    """Calls of malloc outside and inside of oneDNN, and of the tensor allocator, of a call that is warm."""
    for _ in range(3):
        call()
    before = hw.memory.stats()["allocations"]
    counter.counting_start()
    result = call()
    calls, below = counter.counting_stop(), counter.counted_below(b"libdnnl")
    del result
    return {"ours": calls - below, "onednn": below, "tensors": hw.memory.stats()["allocations"] - before}


def perceptron(depth: int) -> tuple[nn.Module, hw.Tensor]:
    layers = [nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Dropout(0.1), nn.LayerNorm(64)) for _ in range(depth)]
    return nn.Sequential(*layers), hw.randn(16, 64)


def convolutions(depth: int) -> tuple[nn.Module, hw.Tensor]:
    layers = [nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()) for _ in range(depth)]
    return nn.Sequential(*layers, nn.MaxPool2d(2), nn.Flatten()), hw.randn(2, 16, 16, 16)


def recurrent(depth: int) -> tuple[nn.Module, hw.Tensor]:
    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.rnn = nn.Embedding(50, 32), nn.LSTM(32, 32, depth)

        def forward(self, ids: hw.Tensor) -> hw.Tensor:
            return self.rnn(self.embedding(ids))[0][-1]

    return Last(), hw.randint(0, 50, (7, 4))


def inference(model: nn.Module, x: hw.Tensor) -> Callable[[], object]:
    run = hw.compile(model.eval())

    def call() -> object:
        with hw.no_grad():
            return run(x)

    return call


def training(model: nn.Module, x: hw.Tensor) -> Callable[[], object]:
    optimizer = hw.optim.AdamW(model.parameters(), lr=1e-3)

    @hw.compile
    def step(x: hw.Tensor) -> hw.Tensor:
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return lambda: step(x)


found = {}
for kind in (inference, training):
    for make in (perceptron, convolutions, recurrent):
        found[f"{kind.__name__} {make.__name__}"] = [counted(kind(*make(depth))) for depth in (1, 6)]
print(json.dumps(found))
