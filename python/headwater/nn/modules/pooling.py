"""Maximum and average pooling, with windows or to a given output size."""

from __future__ import annotations

from typing import Any, ClassVar

import headwater as hw

from .. import functional as F
from .module import Module
from .tuples import spread


class _MaxPoolNd(Module):
    operator: ClassVar[str]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: hw.Tensor) -> Any:
        return getattr(hw, self.operator)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Largest value of each window of (N, C, L) or (C, L)."""

    operator = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """Largest value of each window of (N, C, H, W) or (C, H, W)."""

    operator = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """Largest value of each window of (N, C, D, H, W) or (C, D, H, W)."""

    operator = "max_pool3d"


class AvgPool1d(Module):
    """Mean of each window of (N, C, L) or (C, L)."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = spread(kernel_size, 1)
        self.stride = spread(stride if stride is not None else kernel_size, 1)
        self.padding = spread(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return hw.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Module):
    operator: ClassVar[str]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return getattr(hw, self.operator)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """Mean of each window of (N, C, H, W) or (C, H, W)."""

    operator = "avg_pool2d"


class AvgPool3d(_AvgPoolNd):
    """Mean of each window of (N, C, D, H, W) or (C, D, H, W)."""

    operator = "avg_pool3d"


class _AdaptiveAvgPoolNd(Module):
    operator: ClassVar[str]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return getattr(hw, self.operator)(input, _with_input_sizes(self.output_size, input))

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


def _with_input_sizes(size: Any, input: hw.Tensor) -> Any:
    """None in an output size means: as the input."""
    if not isinstance(size, (tuple, list)):
        return size
    return tuple(input.shape[i - len(size)] if n is None else n for i, n in enumerate(size))


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means over windows chosen so that the output has `output_size` positions."""

    operator = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means over windows chosen so that the output has the given height and width."""

    operator = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means over windows chosen so that the output has the given depth, height and width."""

    operator = "adaptive_avg_pool3d"


class _AdaptiveMaxPoolNd(Module):
    operator: ClassVar[str]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: hw.Tensor) -> Any:
        return getattr(hw, self.operator)(input, _with_input_sizes(self.output_size, input), self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima over windows chosen so that the output has `output_size` positions."""

    operator = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima over windows chosen so that the output has the given height and width."""

    operator = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima over windows chosen so that the output has the given depth, height and width."""

    operator = "adaptive_max_pool3d"


class _LPPoolNd(Module):
    function: ClassVar[str]

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return getattr(F, self.function)(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """(sum of input ** norm_type over each window) ** (1 / norm_type) of (N, C, L) or (C, L)."""

    function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """(sum of input ** norm_type over each window) ** (1 / norm_type) of (N, C, H, W) or (C, H, W)."""

    function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """(sum of input ** norm_type over each window) ** (1 / norm_type) of (N, C, D, H, W) or (C, D, H, W)."""

    function = "lp_pool3d"


class _MaxUnpoolNd(Module):
    function: ClassVar[str]
    ndim: ClassVar[int]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = spread(kernel_size, self.ndim)
        self.stride = spread(stride if stride is not None else kernel_size, self.ndim)
        self.padding = spread(padding, self.ndim)

    def forward(self, input: hw.Tensor, indices: hw.Tensor, output_size: Any = None) -> hw.Tensor:
        return getattr(F, self.function)(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Zeros, with each maximum where MaxPool1d found it."""

    function, ndim = "max_unpool1d", 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Zeros, with each maximum where MaxPool2d found it."""

    function, ndim = "max_unpool2d", 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Zeros, with each maximum where MaxPool3d found it."""

    function, ndim = "max_unpool3d", 3
