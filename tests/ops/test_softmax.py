"""Softmax, log_softmax and softmin against torch."""

from __future__ import annotations

import math

import numpy as np
import torch

from harness import FLOATS, Sample, op_test, randn

MASKED = np.array([[0.0, -math.inf, 1.0], [-math.inf, -math.inf, 2.0]])
LINES = np.stack([np.linspace(-90, 90, 21), np.where(np.arange(21) % 3 == 0, -math.inf, 1.0), np.linspace(2, 0, 21)])  # side by side


def samples() -> list[Sample]:
    return [Sample(randn(3, 5), 1), Sample(randn(3, 5), dim=0), Sample(randn(2, 3, 4), dim=-2), Sample(randn(), 0), Sample(randn(0), 0),
            Sample(randn(3, 0), 0), Sample(randn(4, 100) * 20, -1, sample_grad=False), Sample(randn(70, 33), 0, sample_grad=False),
            Sample(MASKED, 1, sample_grad=False), Sample(LINES, 0, sample_grad=False), Sample(randn(2, 9, 8), 1), Sample(randn(2, 5, 35), 1, sample_grad=False),
            Sample(randn(5, 2100) * 5, 0, sample_grad=False), Sample(randn(700, 40), 0, sample_grad=False), Sample(randn(2, 17), 1, dtype=None)]


for _name, _oracle in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax), ("softmin", torch.nn.functional.softmin)):
    op_test(_name, torch=_oracle, samples=samples, dtypes=FLOATS, grad=True, grad2=True,
            errors=[(lambda hw, n=_name: getattr(hw, n)(hw.ones(2), 1), IndexError, "axis 1"),
                    (lambda hw, n=_name: getattr(hw, n)(hw.ones(2, dtype=hw.int64), 0), RuntimeError, "floating")])


def test_dtype_converts_first() -> None:
    import headwater as hw
    y = hw.softmax(hw.tensor([1, 2, 3]), 0, dtype=hw.float64)
    np.testing.assert_allclose(y.numpy(), torch.softmax(torch.tensor([1, 2, 3]), 0, dtype=torch.float64).numpy(), rtol=1e-12)
    assert hw.softmax(hw.tensor([1.0, 2.0]).to(hw.bfloat16), 0, hw.float32).dtype == hw.float32
