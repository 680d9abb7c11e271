"""Recurrent layers in Headwater and in torch: inference and a training step, f32. Same options as operators.py.

    python benchmarks/recurrent.py [--threads 1 2] --dtypes float32 [--only REGEX] [--rounds 9] [--markdown FILE]
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import operators
import torch
from operators import Case

import headwater as hw

CASES: dict[str, Callable[[str], Case]] = {}
SIZES = ((35, 20, 200, 200, 2), (64, 32, 128, 256, 1), (100, 1, 64, 128, 1), (20, 8, 32, 64, 1))  # L, N, in, hidden, layers


def work(lib: Any, cell: str, size: tuple[int, ...], train: bool) -> Callable[[], object]:
    length, batch, features, hidden, layers = size
    lib.manual_seed(0)
    net, x = getattr(lib.nn, cell)(features, hidden, layers), lib.randn(length, batch, features)

    def infer() -> None:
        with lib.no_grad():
            net(x)

    def step() -> None:
        for p in net.parameters():
            p.grad = None
        net(x)[0].sum().backward()

    return step if train else infer


def case(cell: str, size: tuple[int, ...], train: bool) -> Callable[[str], Case]:
    return lambda _: (work(hw, cell, size, train), work(torch, cell, size, train))


for _cell in ("LSTM", "GRU", "RNN"):
    for _size in SIZES:
        for _train in (False, True):
            _name = f"{_cell} {'x'.join(map(str, _size[:4]))}, {_size[4]} layer{'s' * (_size[4] > 1)}"
            CASES[f"{_name}{', training step' * _train}"] = case(_cell, _size, _train)

if __name__ == "__main__":
    operators.main(CASES, __doc__)
