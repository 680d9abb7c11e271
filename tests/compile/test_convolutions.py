"""Compiled inference of convolutions: blocked, packed, fused; equal to eager mode within rounding, and following its state."""

from __future__ import annotations

import numpy as np
import pytest

import headwater as hw
from headwater import nn


class Net(nn.Module):
    """A stem from three channels, a residual block, a depthwise one with a gate, and a layer whose channels fit no blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        wide = (nn.Conv2d(16, 32, 1), nn.BatchNorm2d(32), nn.ReLU6())
        self.block = nn.Sequential(*wide, nn.Conv2d(32, 16, 3, padding=1), nn.BatchNorm2d(16))
        self.depth = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.BatchNorm2d(16), nn.SiLU())
        self.gate = nn.Sequential(nn.Conv2d(16, 8, 1), nn.ReLU(), nn.Conv2d(8, 16, 1), nn.Sigmoid())
        self.odd = nn.Conv2d(32, 10, 3, padding=1, groups=2)
        self.last = nn.Linear(10, 5)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        x = self.stem(x)
        x = nn.functional.relu(self.block(x) + x)
        y = self.depth(x)
        y = y * self.gate(nn.functional.adaptive_avg_pool2d(y, 1))
        y = self.odd(hw.cat([x, y], 1))
        return self.last(y.softmax(1).mean((2, 3)))


def images(batch: int = 2, size: int = 33) -> hw.Tensor:
    return hw.tensor(np.random.default_rng(0).standard_normal((batch, 3, size, size), dtype=np.float32))


@pytest.fixture
def net() -> Net:
    hw.manual_seed(0)
    net = Net()
    for _ in range(2):
        net(images())  # batch statistics
    return net.eval()


def close(got: hw.Tensor, want: hw.Tensor) -> None:
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-5)


def ops(fast: object) -> list[str]:
    return [s.op for p in fast.inspect().programs for s in p.steps]


def test_equal_to_eager_mode_within_rounding(net: Net) -> None:
    fast = hw.compile(net)
    with hw.no_grad():
        for x in (images(), images(1), images(3, 40)):
            close(fast(x), net(x))


def test_weights_and_statistics_may_change(net: Net) -> None:
    fast, x = hw.compile(net), images()
    with hw.no_grad():
        first = fast(x)
        net.block[0].weight.mul_(1.5)
        net.stem[1].running_var.mul_(0.5)
        close(fast(x), net(x))
        assert np.abs(fast(x).numpy() - first.numpy()).max() > 1e-4


@pytest.mark.skipif(not hw._C.build["onednn"] or hw._C.isa() == "scalar", reason="needs oneDNN")
def test_convolutions_take_along_what_follows(net: Net) -> None:
    fast = hw.compile(net)
    with hw.no_grad():
        fast(images(1))
    names = ops(fast)
    assert names.count("_conv2d_packed") + names.count("_conv2d_winograd") == 6 and names.count("convolution") == 1
    assert "_max_pool2d_blocked" in names
    assert not {"relu", "relu6", "hardtanh", "silu", "sigmoid", "add", "addcmul"} & set(names)


def test_training_is_left_alone(net: Net) -> None:
    net.train()
    fast = hw.compile(net)
    fast(images()).sum().backward()
    assert "_conv2d_packed" not in ops(fast)
