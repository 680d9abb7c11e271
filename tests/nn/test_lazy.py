"""Layers that learn their number of input channels from the first input."""

import copy
import pickle

import numpy as np
import pytest

import headwater as hw
from headwater import nn

LAYERS = {
    "LazyLinear": ((3,), (2, 5)),
    "LazyConv1d": ((4, 3), (2, 6, 7)),
    "LazyConv2d": ((4, 3), (2, 6, 7, 7)),
    "LazyConv3d": ((4, 3), (2, 6, 5, 5, 5)),
    "LazyConvTranspose1d": ((4, 3), (2, 6, 7)),
    "LazyConvTranspose2d": ((4, 3), (2, 6, 7, 7)),
    "LazyConvTranspose3d": ((4, 3), (2, 6, 4, 4, 4)),
    "LazyBatchNorm1d": ((), (4, 6)),
    "LazyBatchNorm2d": ((), (2, 6, 3, 3)),
    "LazyBatchNorm3d": ((), (2, 6, 3, 3, 3)),
    "LazyInstanceNorm1d": ((), (2, 6, 5)),
    "LazyInstanceNorm2d": ((), (6, 5, 5)),
    "LazyInstanceNorm3d": ((), (2, 6, 3, 3, 3)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_becomes_the_plain_layer_at_the_first_input(name):
    args, shape = LAYERS[name]
    hw.manual_seed(0)
    lazy, x = getattr(nn, name)(*args), hw.randn(*shape)
    before = list(lazy.parameters())
    assert all(isinstance(p, nn.UninitializedParameter) for p in before) and lazy.has_uninitialized_params()
    hw.manual_seed(1)
    y = lazy(x)
    plain = getattr(nn, name[4:])
    assert type(lazy) is plain
    after = list(lazy.parameters())
    assert len(before) == len(after) and all(a is b for a, b in zip(before, after, strict=True))  # an optimiser made before knows them
    assert all(type(p) is nn.Parameter for p in after)
    channels = 5 if name == "LazyLinear" else 6
    hw.manual_seed(1)
    norm = {"affine": True, "track_running_stats": True} if "Norm" in name else {}
    twin = plain(channels, *args, **norm)
    np.testing.assert_array_equal(y.detach().numpy(), twin(x).detach().numpy())
    y.sum().backward()
    assert all(p.grad is not None and p.grad.shape == p.shape for p in after)


@pytest.mark.parametrize("name", ["LazyLinear", "LazyConv2d", "LazyConvTranspose1d", "LazyBatchNorm2d"])
def test_a_state_decides_the_shapes(name):
    args, shape = LAYERS[name]
    channels = 5 if name == "LazyLinear" else 6
    plain, lazy = getattr(nn, name[4:])(channels, *args), getattr(nn, name)(*args)
    nn.Sequential(lazy).load_state_dict(nn.Sequential(plain).state_dict())
    x = hw.randn(*shape)
    np.testing.assert_array_equal(lazy.eval()(x).detach().numpy(), plain.eval()(x).detach().numpy())


def test_dtype_hooks_training_mode_and_copies_survive():
    seen = []
    net = nn.Sequential(nn.LazyLinear(4, dtype=hw.float64), nn.LazyBatchNorm1d()).eval()
    net[0].register_forward_hook(lambda module, args, output: seen.append(type(module)))
    other = pickle.loads(pickle.dumps(copy.deepcopy(nn.LazyLinear(4))))
    assert other(hw.randn(2, 3)).shape == (2, 4) and other.in_features == 3
    net[1].double()
    assert net(hw.randn(5, 3, dtype=hw.float64)).dtype is hw.float64
    assert seen == [nn.Linear] and not net[0].training and repr(net[0]).startswith("Linear(in_features=3")


def test_errors():
    with pytest.raises(TypeError, match="must be a tensor"):
        nn.LazyLinear(3)("x")
    with pytest.raises(RuntimeError, match="LazyConv2d: expected 3D"):
        nn.LazyConv2d(4, 3)(hw.randn(2, 3))
    with pytest.raises(ValueError, match="divisible by groups"):
        nn.LazyConv1d(4, 3, groups=2)(hw.randn(2, 3, 5))
