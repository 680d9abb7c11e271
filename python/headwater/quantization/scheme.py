"""Which integers stand for a tensor's values, and the scale and zero point of a range."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import headwater as hw

_RANGES = {"uint8": (0, 255), "int8": (-128, 127), "int4": (-8, 7), "uint4": (0, 15)}
EPS = 2.0**-23  # the least scale, as torch has it


@dataclass(frozen=True)
class Scheme:
    """bits: "int8", "uint8", "int4" or "uint4" (4-bit integers are stored in bytes). symmetric: 0 is the middle of the range, so
    that a signed zero point is 0. ch_axis: the axis with one scale per index; None: one scale for all."""

    bits: str = "uint8"
    symmetric: bool = False
    ch_axis: int | None = None

    def __post_init__(self) -> None:
        if self.bits not in _RANGES:
            raise ValueError(f"bits must be one of {', '.join(_RANGES)}, got {self.bits!r}")

    @property
    def quant_min(self) -> int:
        return _RANGES[self.bits][0]

    @property
    def quant_max(self) -> int:
        return _RANGES[self.bits][1]

    @property
    def dtype(self) -> Any:
        return hw.uint8 if self.bits.startswith("u") else hw.int8

    def qparams(self, low: hw.Tensor, high: hw.Tensor) -> tuple[hw.Tensor, hw.Tensor]:
        """Scale (float32) and zero point (of `dtype`) with which [low, high], extended to hold 0, fits the integers."""
        low, high = hw.clamp_max(low, 0.0), hw.clamp_min(high, 0.0)
        span = float(self.quant_max - self.quant_min)
        if self.symmetric:
            scale = hw.clamp_min(hw.maximum(-low, high) / (span / 2), EPS)
            zero = hw.full_like(scale, (self.quant_min + self.quant_max + 1) // 2)
        else:
            scale = hw.clamp_min((high - low) / span, EPS)
            zero = hw.clamp(self.quant_min - hw.round(low / scale), self.quant_min, self.quant_max)
        return scale.to(hw.float32), zero.to(self.dtype)
