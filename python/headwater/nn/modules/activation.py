"""Activations as layers. Output: the shape of the input, unless said otherwise."""

from __future__ import annotations

from typing import Any

import headwater as hw

from .. import functional as F
from ..parameter import Parameter
from .module import Module


class _InPlace(Module):
    """An activation whose only argument is `inplace`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """max(x, 0)."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return input.relu_() if self.inplace else hw.relu(input)


class SiLU(_InPlace):
    """x * sigmoid(x)."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """x * tanh(softplus(x))."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.mish(input, self.inplace)


class SELU(_InPlace):
    """Scaled ELU of self-normalising networks."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.selu(input, self.inplace)


class Hardsigmoid(_InPlace):
    """relu6(x + 3) / 6."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardswish(_InPlace):
    """x * relu6(x + 3) / 6."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardtanh(Module):
    """x limited to [min_val, max_val]."""

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        min_val = min_val if min_value is None else min_value  # torch's older names
        max_val = max_val if max_value is None else max_value
        if max_val <= min_val:
            raise AssertionError(f"max_val must be larger than min_val, got {max_val} and {min_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """min(max(x, 0), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ELU(Module):
    """x where positive, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(ELU):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(Module):
    """x where positive, else negative_slope * x."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """Leaky ReLU with slopes drawn from [lower, upper] while training."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """Leaky ReLU with a learned slope: one, or one for each channel (axis 1). weight: (num_parameters,)."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(hw.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """All slopes `init`."""
        with hw.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Threshold(Module):
    """x where it is above the threshold, else `value`."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class GELU(Module):
    """x times the normal distribution function of x; approximate="tanh" uses the formula of Hendrycks and Gimpel."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return hw.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta; x itself above the threshold."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return hw.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.softsign(input)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return hw.sigmoid(input)


class LogSigmoid(Module):
    """log(sigmoid(x)), without overflow."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.logsigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return hw.tanh(input)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.tanhshrink(input)


class Hardshrink(Module):
    """Zero where |x| <= lambd."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Hardshrink):
    """x moved towards zero by lambd."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.softshrink(input, self.lambd)


class _AlongAxis(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongAxis):
    """exp(x) scaled to sum to one along `dim`."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.softmax(input, self.dim)


class LogSoftmax(_AlongAxis):
    """log(softmax(x)) along `dim`."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.log_softmax(input, self.dim)


class Softmin(_AlongAxis):
    """softmax(-x) along `dim`."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {tuple(input.shape)}")
        return hw.softmax(input, -3)


class GLU(Module):
    """First half along `dim` times the sigmoid of the second half; that axis becomes half as long."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
