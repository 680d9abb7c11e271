"""The perceptron against torch, and a training run."""

import numpy as np
import pytest

import headwater as hw
from models.mlp.config import Config
from models.mlp.model import MLP


def test_agrees_with_torch(twins):
    net = twins("mlp", "MLP")
    net.check(np.random.default_rng(0).standard_normal((8, 1, 28, 28)).astype(np.float32))


def test_number_of_parameters(count):
    assert count(MLP()) == 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10
    assert count(MLP(Config(4, (3,), 2))) == 23


def test_learns_the_digits():
    pytest.importorskip("sklearn")
    from models.mlp.train import train

    hw.manual_seed(0)
    assert train(epochs=15) > 0.94
