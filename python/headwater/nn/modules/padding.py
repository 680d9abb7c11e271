"""Padding layers. `padding`: one number for all sides, or (before, after) of the last axis, then of the one before."""

from __future__ import annotations

from typing import Any, ClassVar

import headwater as hw

from .. import functional as F
from .module import Module
from .tuples import spread


class _PadNd(Module):
    spatial: ClassVar[int]
    mode: ClassVar[str] = "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = spread(padding, 2 * self.spatial)

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads the last axis with a value."""

    spatial = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two axes with a value."""

    spatial = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three axes with a value."""

    spatial = 3


class _ZeroPadNd(_PadNd):
    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.pad(input, self.padding, "constant", 0.0)


class ZeroPad1d(_ZeroPadNd):
    """Pads the last axis with zeros."""

    spatial = 1


class ZeroPad2d(_ZeroPadNd):
    """Pads the last two axes with zeros."""

    spatial = 2


class ZeroPad3d(_ZeroPadNd):
    """Pads the last three axes with zeros."""

    spatial = 3


class ReflectionPad1d(_PadNd):
    """Pads the last axis with its mirror image, the edge not repeated."""

    spatial, mode = 1, "reflect"


class ReflectionPad2d(_PadNd):
    """Pads the last two axes with their mirror image, the edge not repeated."""

    spatial, mode = 2, "reflect"


class ReflectionPad3d(_PadNd):
    """Pads the last three axes with their mirror image, the edge not repeated."""

    spatial, mode = 3, "reflect"


class ReplicationPad1d(_PadNd):
    """Pads the last axis with its edge."""

    spatial, mode = 1, "replicate"


class ReplicationPad2d(_PadNd):
    """Pads the last two axes with their edge."""

    spatial, mode = 2, "replicate"


class ReplicationPad3d(_PadNd):
    """Pads the last three axes with their edge."""

    spatial, mode = 3, "replicate"


class CircularPad1d(_PadNd):
    """Pads the last axis with its other end."""

    spatial, mode = 1, "circular"


class CircularPad2d(_PadNd):
    """Pads the last two axes with their other ends."""

    spatial, mode = 2, "circular"


class CircularPad3d(_PadNd):
    """Pads the last three axes with their other ends."""

    spatial, mode = 3, "circular"
