"""The networks, batches and optimisers of the tests of whole steps."""

from __future__ import annotations

import numpy as np

import headwater as hw
from headwater import nn


def batches(n: int = 4, rows: int = 6, width: int = 5, seed: int = 0) -> list[tuple[hw.Tensor, hw.Tensor]]:
    rng = np.random.default_rng(seed)
    return [
        (hw.tensor(rng.standard_normal((rows, width)), dtype=hw.float32), hw.tensor(rng.integers(0, 3, rows)))
        for _ in range(n)
    ]  # fmt: skip


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))


OPTIMISERS = {
    "sgd": lambda p: hw.optim.SGD(p, lr=0.1),
    "momentum": lambda p: hw.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "nesterov": lambda p: hw.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "maximize": lambda p: hw.optim.SGD(p, lr=0.01, maximize=True),
    "adam": lambda p: hw.optim.Adam(p, lr=0.01),
    "adamw": lambda p: hw.optim.AdamW(p, lr=0.01, weight_decay=0.1),
    "amsgrad": lambda p: hw.optim.Adam(p, lr=0.01, amsgrad=True, weight_decay=0.01),
    "rmsprop": lambda p: hw.optim.RMSprop(p, lr=0.01),
    "rmsprop_centered": lambda p: hw.optim.RMSprop(p, lr=0.01, momentum=0.9, centered=True),
    "adagrad": lambda p: hw.optim.Adagrad(p, lr=0.1, lr_decay=0.01, initial_accumulator_value=0.1),
    "adadelta": lambda p: hw.optim.Adadelta(p, rho=0.8, weight_decay=0.01),
    "adamax": lambda p: hw.optim.Adamax(p, lr=0.01),
    "nadam": lambda p: hw.optim.NAdam(p, lr=0.01, weight_decay=0.01, decoupled_weight_decay=True),
    "radam": lambda p: hw.optim.RAdam(p, lr=0.01, betas=(0.8, 0.9)),
    "rprop": lambda p: hw.optim.Rprop(p, lr=0.01),
    "lamb": lambda p: hw.optim.LAMB(p, lr=0.01, weight_decay=0.01),
}
