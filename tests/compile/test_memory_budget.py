"""memory_budget: the same numbers in less memory, or an error that names a budget which is enough."""
import re

import numpy as np
import pytest

import headwater as hw
from headwater import nn


def _run(budget=0):
    """Weights after two steps of a deep network with dropout, the loss, and the working memory."""
    hw.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(96, 96), nn.GELU(), nn.Dropout(0.1), nn.LayerNorm(96)) for _ in range(10)]
    model = nn.Sequential(*layers, nn.Linear(96, 5))
    opt = hw.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    run = hw.compile(step, memory_budget=budget) if budget else hw.compile(step)
    losses = [float(run(hw.ones(512, 96), hw.arange(512) % 5)) for _ in range(2)]
    return losses, [p.detach().numpy() for p in model.parameters()], run.inspect().programs[0].working_bytes


def test_half_of_the_memory_and_the_same_bits():
    losses, weights, bytes_ = _run()
    found, tight, fewer = _run(bytes_ // 2)
    assert fewer <= bytes_ * 0.55  # gaps and scratch are not foreseen
    assert found == losses
    assert all(np.array_equal(a, b) for a, b in zip(tight, weights, strict=True))


def test_the_error_names_a_budget_that_is_feasible():
    with pytest.raises(hw.compiler.CompileError, match="memory_budget: .* needs [0-9]+ bytes") as error:
        _run(1000)
    least = int(re.search(r"needs (\d+) bytes", str(error.value)).group(1))
    _run(least)
    with pytest.raises(hw.compiler.CompileError, match=f"needs {least} bytes"):
        _run(least - 64)
