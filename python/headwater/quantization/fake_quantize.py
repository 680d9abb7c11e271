"""Modules that quantise and dequantise in one step while a model trains: observed scales, and learned ones."""
from __future__ import annotations

from typing import Any

import headwater as hw
from headwater import nn

from .observers import MovingAverageMinMaxObserver, Observer
from .scheme import EPS, Scheme


class _Quantizer(nn.Module):
    """What all have: an observer, a zero point, switches. `initialize` takes scale and zero point from what the observer saw."""

    zero_point: hw.Tensor

    def __init__(self, observer: Observer | None = None, channels: int | None = None) -> None:
        super().__init__()
        self.observer = observer if observer is not None else MovingAverageMinMaxObserver()
        self.scheme: Scheme = self.observer.scheme
        self.channels = channels
        self.observer_enabled = True
        self.fake_quant_enabled = True
        shape = () if self.scheme.ch_axis is None else (channels,)
        middle = (self.scheme.quant_min + self.scheme.quant_max + 1) // 2
        self.register_buffer("zero_point", hw.full(shape, middle if self.scheme.symmetric else 0, dtype=self.scheme.dtype))
        self._shape = shape

    def enable_observer(self, enabled: bool = True) -> None:
        self.observer_enabled = enabled

    def disable_observer(self) -> None:
        self.enable_observer(False)

    def enable_fake_quant(self, enabled: bool = True) -> None:
        self.fake_quant_enabled = enabled

    def disable_fake_quant(self) -> None:
        self.enable_fake_quant(False)

    def initialize(self) -> None:
        raise NotImplementedError

    def current_scale(self) -> hw.Tensor:
        raise NotImplementedError

    def calculate_qparams(self) -> tuple[hw.Tensor, hw.Tensor]:
        return self.current_scale().detach(), self.zero_point

    def _quantize(self, x: hw.Tensor, scale: hw.Tensor) -> hw.Tensor:
        s = self.scheme
        return hw.fake_quantize(x, scale, self.zero_point, axis=s.ch_axis, quant_min=s.quant_min, quant_max=s.quant_max)

    def extra_repr(self) -> str:
        return f"{self.scheme}"


class FakeQuantize(_Quantizer):
    """Scale and zero point follow the observer while training (and the observer is enabled), and stay in evaluation."""

    scale: hw.Tensor

    def __init__(self, observer: Observer | None = None, channels: int | None = None) -> None:
        super().__init__(observer, channels)
        self.register_buffer("scale", hw.ones(self._shape))

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        if self.observer_enabled and (self.training or not self.fake_quant_enabled):
            self.observer(x)
            if self.fake_quant_enabled:
                with hw.no_grad():
                    scale, zero = self.scheme.qparams(*self.observer.range())
                    self.scale.copy_(scale)
                    self.zero_point.copy_(zero)
        return self._quantize(x, self.scale) if self.fake_quant_enabled else x

    def initialize(self) -> None:
        scale, zero = self.observer.calculate_qparams()
        self.scale.copy_(scale)
        self.zero_point.copy_(zero)

    def current_scale(self) -> hw.Tensor:
        return self.scale


class _Learned(_Quantizer):
    """The observer serves for initialisation alone; the zero point stays where that put it."""

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        if not self.fake_quant_enabled:
            if self.observer_enabled:
                self.observer(x)
            return x
        return self._quantize(x, self._scale_for(x))

    def _scale_for(self, x: hw.Tensor) -> hw.Tensor:
        return self.current_scale()


class LSQ(_Learned):
    """Learned step size (Esser et al. 2020). The gradient of the scale is multiplied by 1 / sqrt(n * quant_max); n is the number of
    elements that share the scale, in one sample if `batched` (activations, axis 0 being the batch)."""

    def __init__(self, observer: Observer | None = None, channels: int | None = None, batched: bool = True) -> None:
        super().__init__(observer, channels)
        self.batched = batched
        self.scale = nn.Parameter(hw.ones(self._shape))

    def current_scale(self) -> hw.Tensor:
        return hw.clamp_min(self.scale.abs(), EPS)

    def _scale_for(self, x: hw.Tensor) -> hw.Tensor:
        shared = x.numel() // max(self.scale.numel(), 1)
        if self.batched and x.dim() > 1 and x.shape[0]:
            shared //= x.shape[0]
        factor = 1.0 / (max(shared, 1) * self.scheme.quant_max) ** 0.5
        scale = self.current_scale()
        return scale * factor + (scale - scale * factor).detach()

    def initialize(self) -> None:
        scale, zero = self.observer.calculate_qparams()
        with hw.no_grad():
            self.scale.copy_(scale)
            self.zero_point.copy_(zero)


class TQT(_Learned):
    """Trained threshold (Jain et al. 2020): scale = 2^ceil(log2_t) / (quant_max + 1), log2_t being trained. The gradient passes straight
    through ceil, so that d scale / d log2_t = scale ln 2. Scales are powers of two; the scheme must be symmetric."""

    def __init__(self, observer: Observer | None = None, channels: int | None = None) -> None:
        super().__init__(observer if observer is not None else MovingAverageMinMaxObserver(Scheme("int8", True)), channels)
        if not self.scheme.symmetric:
            raise ValueError("TQT needs a symmetric scheme: its scales are powers of two of a threshold around 0")
        self.log2_t = nn.Parameter(hw.zeros(self._shape))

    def current_scale(self) -> hw.Tensor:
        up = self.log2_t + (hw.ceil(self.log2_t) - self.log2_t).detach()
        return hw.exp2(up) * (1.0 / self._levels())

    def _levels(self) -> int:
        return (self.scheme.quant_max - self.scheme.quant_min + 1) // 2

    def initialize(self) -> None:
        scale, zero = self.observer.calculate_qparams()
        with hw.no_grad():
            # A threshold of exactly a power of two must not round up to the next by an error of the last bit.
            self.log2_t.copy_(hw.log2(scale * ((self.scheme.quant_max - self.scheme.quant_min) / 2)) - 1e-4)
            self.zero_point.copy_(zero)


def is_quantizer(module: Any) -> bool:
    return isinstance(module, _Quantizer)
