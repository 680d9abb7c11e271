"""Initialisers: bounds, moments, structure, errors."""

import math

import numpy as np
import pytest
import torch

import headwater as hw
from headwater import nn
from headwater.nn import init


@pytest.fixture(autouse=True)
def seed():
    hw.manual_seed(3)


@pytest.mark.parametrize("name", ["linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"])
def test_gain(name):
    assert init.calculate_gain(name) == torch.nn.init.calculate_gain(name)


def test_gain_errors():
    assert init.calculate_gain("leaky_relu", 0.2) == torch.nn.init.calculate_gain("leaky_relu", 0.2)
    with pytest.raises(ValueError, match="Unsupported"):
        init.calculate_gain("nothing")


@pytest.mark.parametrize(
    "fill, bound, std",
    [
        (lambda t: init.uniform_(t, -2, 3), 3, 5 / math.sqrt(12)),
        (lambda t: init.normal_(t, 0, 0.5), None, 0.5),
        (lambda t: init.xavier_uniform_(t, 2.0), 2 * math.sqrt(6 / 500), 2 * math.sqrt(2 / 500)),
        (lambda t: init.xavier_normal_(t), None, math.sqrt(2 / 500)),
        (lambda t: init.kaiming_uniform_(t, a=math.sqrt(5)), 1 / math.sqrt(200), 1 / math.sqrt(600)),
        (lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"), None, math.sqrt(2 / 300)),
        (lambda t: init.trunc_normal_(t, std=0.02, a=-0.04, b=0.04), 0.04, None),
    ],
)
def test_moments(fill, bound, std):
    t = nn.Parameter(hw.empty(300, 200))
    assert fill(t) is t and t.requires_grad and t.is_leaf
    values = t.detach().numpy()
    assert np.isfinite(values).all()
    if bound is not None:
        assert abs(values).max() <= bound * 1.0001
    if std is not None:
        assert abs(values.std() - std) < 0.02 * std


def test_constants():
    assert float(init.constant_(hw.empty(3), 2.5).sum()) == 7.5
    assert float(init.ones_(hw.empty(3)).sum()) == 3 and float(init.zeros_(hw.empty(3)).sum()) == 0
    np.testing.assert_array_equal(init.eye_(hw.empty(3, 4)).numpy(), np.eye(3, 4))
    for shape, groups in (((4, 3, 3), 1), ((4, 2, 3, 5), 2), ((2, 3, 3, 3, 3), 1)):
        expected = torch.nn.init.dirac_(torch.empty(shape), groups).numpy()
        np.testing.assert_array_equal(init.dirac_(hw.empty(*shape), groups).numpy(), expected)


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (4, 2, 3)])
def test_orthogonal(shape):
    flat = init.orthogonal_(hw.empty(*shape), gain=2.0).numpy().reshape(shape[0], -1)
    product = flat @ flat.T if flat.shape[0] <= flat.shape[1] else flat.T @ flat
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


def test_sparse():
    values = init.sparse_(hw.empty(10, 6), 0.35).numpy()
    assert ((values == 0).sum(0) == 4).all()


def test_errors():
    with pytest.raises(ValueError, match="fewer than 2"):
        init.xavier_uniform_(hw.empty(3))
    with pytest.raises(ValueError, match="2 dimensions"):
        init.eye_(hw.empty(3))
    with pytest.raises(ValueError, match="Mode"):
        init.kaiming_uniform_(hw.empty(2, 2), mode="fan")
    with pytest.warns(UserWarning, match="zero-element"):
        init.kaiming_uniform_(hw.empty(0, 2))


def test_a_seed_gives_the_same_layer():
    first = nn.Linear(4, 4).weight.detach().numpy().copy()
    hw.manual_seed(3)
    np.testing.assert_array_equal(nn.Linear(4, 4).weight.detach().numpy(), first)
