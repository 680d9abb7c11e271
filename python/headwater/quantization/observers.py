"""Observers: modules that pass a tensor on and remember the range that its integers should cover."""
from __future__ import annotations

from typing import Any

import headwater as hw
from headwater import nn

from .scheme import Scheme


class Observer(nn.Module):
    """Base class. forward(x) watches x and returns it; calculate_qparams() gives scale and zero point."""

    def __init__(self, scheme: Scheme | None = None) -> None:
        super().__init__()
        self.scheme = scheme or Scheme()

    def calculate_qparams(self) -> tuple[hw.Tensor, hw.Tensor]:
        return self.scheme.qparams(*self.range())

    def range(self) -> tuple[hw.Tensor, hw.Tensor]:
        """The least and the greatest value that the integers should reach."""
        raise NotImplementedError

    def reset_min_max_vals(self) -> None:
        """Forgets what was seen."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        return f"{self.scheme}"

    def _unseen(self) -> RuntimeError:
        return RuntimeError(f"{type(self).__name__} has seen no data, so it knows no range. Run calibrate(model, data) first.")


class MinMaxObserver(Observer):
    """The least and the greatest value of all that was seen; of each channel if the scheme has a `ch_axis`."""

    min_val: hw.Tensor
    max_val: hw.Tensor

    def __init__(self, scheme: Scheme | None = None, channels: int | None = None) -> None:
        super().__init__(scheme)
        if (channels is None) != (self.scheme.ch_axis is None):
            raise ValueError(f"channels={channels} and ch_axis={self.scheme.ch_axis} belong together: give both or neither")
        shape = () if channels is None else (channels,)
        self.register_buffer("min_val", hw.full(shape, float("inf")))
        self.register_buffer("max_val", hw.full(shape, -float("inf")))

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        if x.numel():
            low, high = self._extremes(x.detach().to(hw.float32))
            self.min_val.copy_(self._merge(self.min_val, low, hw.minimum))
            self.max_val.copy_(self._merge(self.max_val, high, hw.maximum))
        return x

    def _extremes(self, x: hw.Tensor) -> tuple[hw.Tensor, hw.Tensor]:
        axis = self.scheme.ch_axis
        rest = [a for a in range(x.dim()) if axis is None or a != axis % x.dim()]
        return (hw.amin(x, rest), hw.amax(x, rest)) if rest else (x, x)

    def _merge(self, old: hw.Tensor, new: hw.Tensor, best: Any) -> hw.Tensor:
        return best(old, new)

    def range(self) -> tuple[hw.Tensor, hw.Tensor]:
        return self.min_val, self.max_val

    def calculate_qparams(self) -> tuple[hw.Tensor, hw.Tensor]:
        if bool(hw.isinf(self.min_val).any()):
            raise self._unseen()
        return super().calculate_qparams()

    def reset_min_max_vals(self) -> None:
        self.min_val.fill_(float("inf"))
        self.max_val.fill_(-float("inf"))


class PerChannelMinMaxObserver(MinMaxObserver):
    """MinMaxObserver with one range for each index of an axis."""

    def __init__(self, scheme: Scheme | None = None, channels: int | None = None) -> None:
        super().__init__(scheme or Scheme("int8", True, 0), channels)


class MovingAverageMinMaxObserver(MinMaxObserver):
    """min_val += averaging_constant * (min(x) - min_val), max_val alike; the first batch sets them."""

    def __init__(self, scheme: Scheme | None = None, channels: int | None = None, averaging_constant: float = 0.01) -> None:
        super().__init__(scheme, channels)
        if not 0 < averaging_constant <= 1:
            raise ValueError(f"averaging_constant must be in (0, 1], got {averaging_constant}")
        self.averaging_constant = averaging_constant

    def _merge(self, old: hw.Tensor, new: hw.Tensor, best: Any) -> hw.Tensor:
        first = hw.isinf(old)
        known = hw.where(first, new, old)
        return known + self.averaging_constant * (new - known)
