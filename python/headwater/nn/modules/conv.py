"""Convolutions and transposed convolutions in one, two and three dimensions."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import headwater as hw

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module
from .tuples import Size1, Size2, Size3, spread

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share: arguments, parameters, initialisation, repr."""

    spatial: ClassVar[int]
    transposed: ClassVar[bool] = False
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        n = self.spatial
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError(f"in_channels must be divisible by groups, got {in_channels} and {groups}")
        if out_channels % groups:
            raise ValueError(f"out_channels must be divisible by groups, got {out_channels} and {groups}")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode={padding_mode!r}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = spread(kernel_size, n)
        self.stride = spread(stride, n)
        self.padding = padding if isinstance(padding, str) else spread(padding, n)
        self.dilation = spread(dilation, n)
        self.output_padding = spread(output_padding, n)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check_text_padding()
        self._reversed_padding_repeated_twice = self._padding_of_each_side()
        shape = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(hw.empty((*shape, *self.kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(hw.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _check_text_padding(self) -> None:
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of 'valid', 'same'")
            if self.padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")

    def _padding_of_each_side(self) -> list[int]:
        """Padding as F.pad wants it: last axis first, two values an axis."""
        sides: list[int] = []
        for i in reversed(range(self.spatial)):
            if isinstance(self.padding, str):
                total = self.dilation[i] * (self.kernel_size[i] - 1) if self.padding == "same" else 0
                sides += [total // 2, total - total // 2]
            else:
                sides += [self.padding[i], self.padding[i]]
        return sides

    def reset_parameters(self) -> None:
        """Uniform in +-1 / sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._fans(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        n = self.spatial
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * n:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def _padded(self, input: hw.Tensor) -> hw.Tensor:
        return F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)


class Conv1d(_ConvNd):
    """Convolution of (N, C, L) or (C, L); weight (out_channels, in_channels / groups, kernel)."""

    spatial = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size1,
        stride: Size1 = 1,
        padding: str | Size1 = 0,
        dilation: Size1 = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = self._padded(input), 0
        return hw.conv1d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_ConvNd):
    """Convolution of (N, C, H, W) or (C, H, W); weight (out_channels, in_channels / groups, kh, kw)."""

    spatial = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size2,
        stride: Size2 = 1,
        padding: str | Size2 = 0,
        dilation: Size2 = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = self._padded(input), 0
        return hw.conv2d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_ConvNd):
    """Convolution of (N, C, D, H, W) or (C, D, H, W); weight (out_channels, in_channels / groups, kd, kh, kw)."""

    spatial = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size3,
        stride: Size3 = 1,
        padding: str | Size3 = 0,
        dilation: Size3 = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = self._padded(input), 0
        return hw.conv3d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class _ConvTransposeNd(_ConvNd):
    transposed = True
    operator: ClassVar[str]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        if isinstance(padding, str):
            raise ValueError(f"{type(self).__name__}: padding must be given in numbers, got {padding!r}")
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: hw.Tensor, output_size: Any = None) -> hw.Tensor:
        output_padding = self.output_padding if output_size is None else self._output_padding(input, output_size)
        run = getattr(hw, self.operator)
        return run(input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation)

    def _output_padding(self, input: hw.Tensor, output_size: Any) -> tuple[int, ...]:
        """What has to be added on one side so that the output gets the wanted size."""
        n = self.spatial
        wanted = tuple(output_size)[-n:]
        if len(output_size) not in (n, input.ndim):
            raise ValueError(
                f"{type(self).__name__}: output_size must have {n} or {input.ndim} elements, got {output_size}"
            )
        smallest = [
            (input.shape[i - n] - 1) * self.stride[i]
            - 2 * self.padding[i]
            + self.dilation[i] * (self.kernel_size[i] - 1)
            + 1
            for i in range(n)
        ]
        largest = [low + self.stride[i] - 1 for i, low in enumerate(smallest)]
        if any(not low <= size <= high for low, size, high in zip(smallest, wanted, largest)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {smallest} to {largest} "
                f"(for an input of {tuple(input.shape[-n:])})"
            )
        return tuple(size - low for size, low in zip(wanted, smallest))


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of Conv1d as a layer; weight (in_channels, out_channels / groups, kernel)."""

    spatial = 1
    operator = "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of Conv2d as a layer; weight (in_channels, out_channels / groups, kh, kw)."""

    spatial = 2
    operator = "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of Conv3d as a layer; weight (in_channels, out_channels / groups, kd, kh, kw)."""

    spatial = 3
    operator = "conv_transpose3d"
