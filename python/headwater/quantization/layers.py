"""A layer while it is watched or trained, and after it was converted to integers."""
from __future__ import annotations

from typing import Any

import headwater as hw
from headwater import nn

from .batch_norm import folded, norm_factor
from .fake_quantize import is_quantizer
from .scheme import Scheme

QUANTIZABLE = (nn.Linear, nn.Conv1d, nn.Conv2d)


def apply(layer: Any, x: hw.Tensor, weight: hw.Tensor, bias: hw.Tensor | None) -> hw.Tensor:
    """What `layer` computes, with another weight and bias."""
    if isinstance(layer, nn.Linear | QuantizedLinear):
        return hw.linear(x, weight, bias)
    padding: Any = layer.padding
    if layer.padding_mode != "zeros":
        x, padding = nn.functional.pad(x, layer._reversed_padding_repeated_twice, mode=layer.padding_mode), 0
    run = hw.conv1d if weight.dim() == 3 else hw.conv2d
    return run(x, weight, bias, layer.stride, padding, layer.dilation, layer.groups)


class Prepared(nn.Module):
    """A layer with what watches its input, weight and output, and the batch normalisation that follows it, if any.

    While training, the weight is quantised as it will be after folding, by the running variance, and the batch normalises as before
    (Krishnamoorthi 2018, section 3.2.2): y = norm(conv(x, q(w f)) / f), with f = gamma / sqrt(running_var + eps).
    """

    def __init__(self, layer: Any, norm: Any, input: Any, weight: Any, output: Any = None) -> None:
        super().__init__()
        self.layer, self.norm = layer, norm
        self.input_quantizer, self.weight_quantizer, self.output_quantizer = input, weight, output
        self.input_number: int | None = None  # the same one for layers that were seen to take the same tensor
        self.train(layer.training)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        if self.input_quantizer is not None:
            x = self.input_quantizer(x)
        if self.norm is None:
            y = apply(self.layer, x, self._weight(self.layer.weight), self.layer.bias)
        elif self.norm.training:
            factor = norm_factor(self.norm)
            weight = self._weight(self.layer.weight * factor.reshape([-1] + [1] * (self.layer.weight.dim() - 1)))
            y = apply(self.layer, x, weight, None)
            shape = [-1] + [1] * (weight.dim() - 2)
            y = y / factor.reshape(shape)
            y = self.norm(y if self.layer.bias is None else y + self.layer.bias.reshape(shape))
        else:
            weight, bias = folded(self.layer, self.norm)
            y = apply(self.layer, x, self._weight(weight), bias)
        return y if self.output_quantizer is None else self.output_quantizer(y)

    def _weight(self, weight: hw.Tensor) -> hw.Tensor:
        return self.weight_quantizer(weight) if is_quantizer(self.weight_quantizer) else weight

    def float_weights(self) -> tuple[hw.Tensor, hw.Tensor | None]:
        """Weight and bias with the normalisation folded in."""
        with hw.no_grad():
            return (self.layer.weight, self.layer.bias) if self.norm is None else folded(self.layer, self.norm)


class _Quantized(nn.Module):
    """Weight in integers with its scale, and the scales of input and output: what ONNX calls the Q/DQ form."""

    weight: hw.Tensor
    weight_scale: hw.Tensor
    weight_zero_point: hw.Tensor | None
    bias: hw.Tensor | None
    input_scale: hw.Tensor
    input_zero_point: hw.Tensor

    def __init__(self, prepared: Prepared) -> None:
        super().__init__()
        for name in ("in_features", "out_features", "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups",
                     "padding_mode", "_reversed_padding_repeated_twice"):
            if hasattr(prepared.layer, name):
                setattr(self, name, getattr(prepared.layer, name))
        weight, bias = prepared.float_weights()
        quantizer = prepared.weight_quantizer
        if not is_quantizer(quantizer):
            quantizer.reset_min_max_vals()
            quantizer(weight)
        scale, zero = quantizer.calculate_qparams()
        s = self.weight_scheme = quantizer.scheme
        steps = hw.quantize_linear(weight.detach(), scale, zero, axis=s.ch_axis, dtype=s.dtype, quant_min=s.quant_min,
                                   quant_max=s.quant_max)
        self.register_buffer("weight", steps)
        self.register_buffer("weight_scale", scale.detach().clone())
        # Integer kernels serve weights whose 0 is 0.
        self.register_buffer("weight_zero_point", zero.detach().clone() if zero.to(hw.bool).any() else None)
        self.register_buffer("bias", None if bias is None else bias.detach().clone())
        self.input_scheme = self._keep("input", prepared.input_quantizer)
        self.output_scheme = self._keep("output", prepared.output_quantizer)
        self.train(prepared.training)

    def _keep(self, name: str, quantizer: Any) -> Scheme | None:
        scale, zero = (None, None) if quantizer is None else (t.detach().clone() for t in quantizer.calculate_qparams())
        self.register_buffer(f"{name}_scale", scale)
        self.register_buffer(f"{name}_zero_point", zero)
        return None if quantizer is None else quantizer.scheme

    def share_input(self, other: _Quantized) -> None:
        """Takes the other layer's scale and zero point of the input, if they are equal and round alike."""
        if self.input_scheme is None or self.input_scheme != other.input_scheme:
            return
        if self.input_scale.equal(other.input_scale) and self.input_zero_point.equal(other.input_zero_point):
            self.input_scale, self.input_zero_point = other.input_scale, other.input_zero_point

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        y = apply(self, self._rounded(x, "input", self.input_scheme), self.dequantized_weight(), self.bias)
        return self._rounded(y, "output", self.output_scheme)

    def dequantized_weight(self) -> hw.Tensor:
        return hw.dequantize_linear(self.weight, self.weight_scale, self.weight_zero_point, axis=self.weight_scheme.ch_axis)

    def _rounded(self, x: hw.Tensor, name: str, s: Scheme | None) -> hw.Tensor:
        if s is None:
            return x
        scale, zero = getattr(self, f"{name}_scale"), getattr(self, f"{name}_zero_point")
        steps = hw.quantize_linear(x, scale, zero, dtype=s.dtype, quant_min=s.quant_min, quant_max=s.quant_max)
        return hw.dequantize_linear(steps, scale, zero)

    def extra_repr(self) -> str:
        given = self.input_scheme.bits if self.input_scheme else "float"
        return f"{list(self.weight.shape)}, weight={self.weight_scheme.bits}, input={given}"


class QuantizedLinear(_Quantized):
    """nn.Linear with an integer weight."""


class QuantizedConv1d(_Quantized):
    """nn.Conv1d with an integer weight."""


class QuantizedConv2d(_Quantized):
    """nn.Conv2d with an integer weight."""


def quantized(prepared: Prepared) -> _Quantized:
    kinds = {nn.Linear: QuantizedLinear, nn.Conv1d: QuantizedConv1d, nn.Conv2d: QuantizedConv2d}
    return kinds[type(prepared.layer)](prepared)


def in_float(prepared: Prepared) -> Any:
    """The layer as it was, the normalisation folded in."""
    import copy

    layer = copy.deepcopy(prepared.layer)
    if prepared.norm is not None:
        weight, bias = prepared.float_weights()
        layer.weight = nn.Parameter(weight.detach().clone())
        layer.bias = nn.Parameter(bias.detach().clone()) if bias is not None else None
    return layer
