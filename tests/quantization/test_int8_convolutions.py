"""Convolutions between dequantised operands, compiled: in integers, fused bit for bit, within a step of the floats; frozen."""
from __future__ import annotations

import numpy as np
import pytest

import headwater as hw
from headwater import nn
from headwater import quantization as q
from headwater.quantization.layers import apply


class Block(nn.Module):
    """Stem, residual block with a downsample, depthwise; 12 channels do not divide into blocks."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 7, stride=2, padding=3)
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.depthwise = nn.Conv2d(width, width, 3, stride=2, padding=1, groups=width)
        self.last = nn.Conv2d(width, 32, 1, bias=False)
        self.down = nn.Conv2d(width, 32, 1, stride=2)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        x = self.stem(x).relu()
        y = self.depthwise(self.first(x).relu()).relu()
        return (self.last(y) + self.down(x)).relu()


def quantised(width: int = 16) -> tuple[nn.Module, hw.Tensor]:
    hw.manual_seed(0)
    net, x = Block(width).eval(), hw.randn(2, 3, 20, 22)
    return q.convert(q.calibrate(q.prepare(net, q.presets.minmax, x), [x])), x


def compiled(net: nn.Module, x: hw.Tensor) -> tuple[hw.Tensor, list[str]]:
    with hw.no_grad():
        forward = hw.compile(net)
        y = forward(x)
        return y, [op for op, _, _ in forward.variants[0].program.steps()]


def test_as_the_floats_and_fused_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    net, x = quantised()
    with hw.no_grad():
        plain = net(x).numpy()
    y, ops = compiled(net, x)
    # Two layers read the stem's output by one scale.
    assert ops.count("_conv2d_int8") == 5 and ops.count("quantize_linear") == 1
    assert not {"convolution", "_conv2d_packed", "relu", "add", "dequantize_linear"} & set(ops)
    # A value between two steps may go to either: few elements, by little.
    off = np.abs(y.numpy() - plain)
    assert off.max() < 0.03 * np.abs(plain).max() and (off > 1e-4 * np.abs(plain).max()).mean() < 0.2
    monkeypatch.setenv("HEADWATER_PASSES_OFF", "fuse_int8_convolutions")
    apart, more = compiled(net, x)
    assert len(more) > len(ops) and more.count("_conv2d_int8") == 5
    np.testing.assert_array_equal(apart.numpy(), y.numpy())


def test_bytes_beside_floats_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum reads the stem's floats, the layer its bytes."""
    net, x = quantised()

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.first = net.stem, net.first

        def forward(self, x: hw.Tensor) -> hw.Tensor:
            y = self.stem(x).relu()
            return self.first(y) + y

    y, ops = compiled(Residual().eval(), x)
    assert ops.count("_conv2d_int8_both") == ops.count("_conv2d_int8") == ops.count("quantize_linear") == 1
    monkeypatch.setenv("HEADWATER_PASSES_OFF", "fuse_int8_convolutions")
    apart, more = compiled(Residual().eval(), x)
    assert "_conv2d_int8_both" not in more
    np.testing.assert_array_equal(apart.numpy(), y.numpy())


def test_layers_with_other_scales_of_one_image() -> None:
    """One is written beside the floats, which the other one's bytes are made of."""
    net, x = quantised()
    net.down.input_scale = net.down.input_scale * 1.5
    y, ops = compiled(net, x)
    assert ops.count("_conv2d_int8") == 4 and ops.count("_conv2d_int8_both") == 1 and ops.count("quantize_linear") == 2
    with hw.no_grad():
        np.testing.assert_allclose(y.numpy(), net(x).numpy(), rtol=0, atol=0.03 * y.abs().max().item())


def test_a_scale_is_shared_only_where_inputs_are_the_same() -> None:
    net, _ = quantised()
    assert net.first.input_scale is net.down.input_scale and net.first.input_zero_point is net.down.input_zero_point
    scales = [id(layer.input_scale) for layer in (net.stem, net.first, net.depthwise, net.last)]
    assert len(set(scales)) == 4


def test_floats_that_are_read_in_between_stay() -> None:
    """Bytes beside floats only where nobody reads the floats before their scale is there."""
    net, x = quantised()

    class Between(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.first = net.stem, net.first

        def forward(self, x: hw.Tensor) -> hw.Tensor:
            y = self.stem(x)
            return self.first(hw.softmax(y, 1) + y)

    y, ops = compiled(Between().eval(), x)
    assert ops.count("_conv2d_int8") == 2 and "_conv2d_int8_both" not in ops
    with hw.no_grad():
        np.testing.assert_allclose(y.numpy(), Between()(x).numpy(), rtol=0, atol=0.03 * y.abs().max().item())


def test_channels_that_do_not_divide_stay_in_floats() -> None:
    net, x = quantised(12)
    y, ops = compiled(net, x)
    assert ops.count("_conv2d_int8") == 0
    with hw.no_grad():
        np.testing.assert_allclose(y.numpy(), net(x).numpy(), rtol=0, atol=0.03 * y.abs().max().item())


def test_a_residual_of_bytes_is_read_as_bytes() -> None:
    net, x = quantised()

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.inner = net.stem, net.first
            self.scale, self.zero = net.first.input_scale, net.first.input_zero_point

        def forward(self, x: hw.Tensor) -> hw.Tensor:
            x = hw.quantize_linear(self.stem(x).relu(), self.scale, self.zero)
            x = hw.dequantize_linear(x, self.scale, self.zero)
            return x + apply(self.inner, x, self.inner.dequantized_weight(), self.inner.bias)

    y, ops = compiled(Twice().eval(), x)
    assert ops.count("_conv2d_int8") == 2 and not {"add", "dequantize_linear", "relu"} & set(ops)
    with hw.no_grad():
        np.testing.assert_allclose(y.numpy(), Twice()(x).numpy(), rtol=0, atol=0.02 * y.abs().max().item())


def test_frozen() -> None:
    net, x = quantised()
    model = hw.infer.load(hw.freeze(net, x))
    y, _ = compiled(net, x)
    np.testing.assert_array_equal(model(x).numpy(), y.numpy())
    assert model.check() == 0


@pytest.mark.parametrize("activation", [nn.ReLU6(), nn.Hardtanh(-0.5, 1.5)])
def test_a_clamp_is_fused_bit_for_bit(activation: nn.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    hw.manual_seed(0)
    net, x = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), activation, nn.Conv2d(16, 8, 1)).eval(), 4 * hw.randn(1, 16, 9, 9)
    ready = q.convert(q.calibrate(q.prepare(net, q.presets.minmax, x), [x]))
    y, ops = compiled(ready, x)
    assert ops.count("_conv2d_int8") == 2 and not {"relu6", "hardtanh", "clamp_tensor"} & set(ops)
    monkeypatch.setenv("HEADWATER_PASSES_OFF", "fuse_int8_convolutions")
    apart, more = compiled(ready, x)
    assert len(more) > len(ops)
    np.testing.assert_array_equal(apart.numpy(), y.numpy())
