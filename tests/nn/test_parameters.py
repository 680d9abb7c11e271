"""Functions on parameters (nn.utils): clipping, vectors of parameters, padding, parametrizations."""

import copy
import math

import numpy as np
import pytest
import torch
from torch_pairs import close, same_forward_and_backward, to_hw

import headwater as hw
from headwater import nn
from headwater.nn import utils
from headwater.nn.utils import parametrizations, parametrize, rnn


def pair_with_grads():
    torch.manual_seed(0)
    theirs = [
        torch.nn.Parameter(torch.randn(3, 4)),
        torch.nn.Parameter(torch.randn(5)),
        torch.nn.Parameter(torch.randn(2)),
    ]
    for p in theirs[:2]:
        p.grad = torch.randn_like(p)
    ours = [nn.Parameter(to_hw(p.detach())) for p in theirs]
    for own, p in zip(ours[:2], theirs):
        own.grad = to_hw(p.grad)
    return theirs, ours


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("max_norm", [0.5, 100.0])
def test_clip_grad_norm(norm_type, max_norm):
    theirs, ours = pair_with_grads()
    expected = torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type)
    close(utils.clip_grad_norm_(ours, max_norm, norm_type), expected)
    for a, b in zip(ours[:2], theirs):
        close(a.grad, b.grad)
    assert ours[2].grad is None


def test_clip_grad_value_and_edge_cases():
    theirs, ours = pair_with_grads()
    torch.nn.utils.clip_grad_value_(theirs, 0.3)
    utils.clip_grad_value_(ours, 0.3)
    for a, b in zip(ours[:2], theirs):
        close(a.grad, b.grad)
    assert float(utils.clip_grad_norm_([], 1.0)) == 0
    ours[0].grad = hw.full((3, 4), math.nan)
    with pytest.raises(RuntimeError, match="cannot be clipped"):
        utils.clip_grad_norm_(ours, 1.0, error_if_nonfinite=True)


def test_vectors():
    net = nn.Linear(3, 2)
    vector = utils.parameters_to_vector(net.parameters())
    assert vector.shape == (8,)
    utils.vector_to_parameters(hw.arange(8).to(hw.float32), net.parameters())
    np.testing.assert_array_equal(net.weight.detach().numpy(), np.arange(6.0).reshape(2, 3))
    assert net.weight.requires_grad
    with pytest.raises(TypeError):
        utils.vector_to_parameters([1.0], net.parameters())


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("side", ["left", "right"])
def test_pad_sequence(batch_first, side):
    sequences = [torch.randn(n, 3) for n in (2, 4, 1)]
    expected = torch.nn.utils.rnn.pad_sequence(sequences, batch_first, 7.0, side)
    got = rnn.pad_sequence(to_hw(sequences), batch_first, 7.0, side)
    close(got, expected)
    if side == "right":
        for a, b in zip(rnn.unpad_sequence(got, hw.tensor([2, 4, 1]), batch_first), sequences):
            close(a, b)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim):
    theirs, ours = torch.nn.Linear(4, 3), nn.Linear(4, 3)
    ours.load_state_dict(to_hw(dict(theirs.state_dict())))
    torch.nn.utils.parametrizations.weight_norm(theirs, dim=dim)
    parametrizations.weight_norm(ours, dim=dim)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    same_forward_and_backward(theirs, ours, (torch.randn(2, 4, requires_grad=True),))
    assert type(ours).__name__ == type(theirs).__name__
    twin = copy.deepcopy(ours)
    twin.parametrizations.weight.original0.data.fill_(0.0)
    assert float(twin.weight.abs().sum()) == 0 and float(ours.weight.abs().sum()) > 0


def test_spectral_norm_divides_by_the_largest_singular_value():
    hw.manual_seed(0)
    layer = parametrizations.spectral_norm(nn.Linear(6, 4), n_power_iterations=20)
    weight = layer.weight.detach().numpy()
    assert abs(np.linalg.svd(weight)[1][0] - 1) < 1e-3
    layer(hw.ones(2, 6)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    layer.eval()
    np.testing.assert_array_equal(layer.weight.detach().numpy(), layer.weight.detach().numpy())


def test_parametrizations_can_be_set_and_removed():
    class Square(nn.Module):
        def forward(self, x):
            return x * x

        def right_inverse(self, x):
            return x.sqrt()

    layer = nn.Linear(2, 2)
    layer.weight.data.fill_(4.0)
    parametrize.register_parametrization(layer, "weight", Square())
    assert parametrize.is_parametrized(layer, "weight") and not parametrize.is_parametrized(layer, "bias")
    assert float(layer.weight.sum()) == 16
    layer.weight = hw.full((2, 2), 9.0)
    assert float(layer.parametrizations.weight.original[0, 0]) == 3
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter) and float(layer.weight.sum()) == 36
    with pytest.raises(ValueError, match="does not have"):
        parametrize.register_parametrization(layer, "absent", Square())
