"""Tensors without elements in compiled functions: empty batches, forward and backward."""

from __future__ import annotations

import headwater as hw
from headwater import nn


def test_results_without_elements():
    double = hw.compile(lambda x: (x * 2, x.sum()))
    for rows in (0, 3, 0):
        y, total = double(hw.ones(rows, 2))
        assert tuple(y.shape) == (rows, 2) and total.item() == 2 * rows


def test_gradients_of_an_empty_batch():
    layer = nn.Linear(3, 2)

    @hw.compile
    def step(x):
        loss = layer(x).relu().sum()
        loss.backward()
        return loss

    assert step(hw.ones(0, 3)).item() == 0
    assert (layer.weight.grad == 0).all() and tuple(layer.weight.grad.shape) == (2, 3)
