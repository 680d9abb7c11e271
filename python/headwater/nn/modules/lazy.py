"""Layers that learn the number of their input's channels from the first input, and then become the plain layer."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import headwater as hw

from ..parameter import UninitializedParameter
from .batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    _NormBase,
)
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, _ConvNd
from .linear import Linear
from .module import Module


class LazyModule(Module):
    """What the lazy layers share. The parameters keep their identity, so an optimiser may be made before the first input.

    A state of the plain layer can be loaded before the first input too: its shapes decide.
    """

    becomes: ClassVar[type[Module]]
    channels: ClassVar[str]  # the attribute that the first input sets
    defaults: ClassVar[dict[str, Any]] = {}  # that differ from the plain layer's

    def _defer(self, device: Any, dtype: Any) -> None:
        """Parameters and buffers that depend on the input are without shape until it comes."""
        for name in self._parameter_names:
            if self.__dict__[name] is not None:
                self.register_parameter(name, UninitializedParameter(device=device, dtype=dtype))

    def _channels_of(self, input: hw.Tensor) -> int:
        raise NotImplementedError

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Of all parameters and buffers that depend on the channels."""
        raise NotImplementedError

    def has_uninitialized_params(self) -> bool:
        """Whether the first input has not come yet."""
        return any(isinstance(self.__dict__[name], UninitializedParameter) for name in self._parameter_names)

    def _initialize(self, channels: int) -> None:
        setattr(self, self.channels, channels)
        for name, shape in self._shapes().items():
            own = self.__dict__[name]
            if isinstance(own, UninitializedParameter):
                own.materialize(shape)
            elif own is not None:
                self.__dict__[name] = own.new_zeros(shape)
        self.__class__ = self.becomes  # type: ignore[assignment]
        self.reset_parameters()  # that of the plain layer

    def __call__(self, input: Any = None, /, *rest: Any, **kwargs: Any) -> Any:
        first = kwargs.get("input") if input is None else input
        if not isinstance(first, hw.Tensor):
            raise TypeError(f"{type(self).__name__}: the input must be a tensor, got {type(first).__name__}")
        self._initialize(self._channels_of(first))
        return self(*((input,) if input is not None else ()), *rest, **kwargs)

    def reset_parameters(self) -> None:
        """Nothing until the shapes are known."""

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any
    ) -> None:
        weight = state_dict.get(prefix + ("weight" if self.__dict__["weight"] is not None else "running_mean"))
        if isinstance(weight, hw.Tensor) and weight.numel() > 0:
            self._initialize(self._channels_of_weight(weight))
            return self._load_from_state_dict(state_dict, prefix, *rest)
        return super()._load_from_state_dict(state_dict, prefix, *rest)

    def _channels_of_weight(self, weight: hw.Tensor) -> int:
        return weight.shape[0]


class _LazyLinear(LazyModule, Linear):
    channels = "in_features"

    def _channels_of(self, input: hw.Tensor) -> int:
        return input.shape[-1]

    def _channels_of_weight(self, weight: hw.Tensor) -> int:
        return weight.shape[1]

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.out_features, self.in_features), "bias": (self.out_features,)}


class _LazyConvNd(LazyModule, _ConvNd):
    channels = "in_channels"

    def _channels_of(self, input: hw.Tensor) -> int:
        if input.ndim not in (self.spatial + 1, self.spatial + 2):
            raise RuntimeError(
                f"{type(self).__name__}: expected {self.spatial + 1}D (unbatched) or {self.spatial + 2}D (batched) input, "
                f"got {tuple(input.shape)}"
            )
        channels = input.shape[-self.spatial - 1]
        if channels % self.groups:
            raise ValueError(f"in_channels must be divisible by groups, got {channels} and {self.groups}")
        return channels

    def _channels_of_weight(self, weight: hw.Tensor) -> int:
        return weight.shape[0] if self.transposed else weight.shape[1] * self.groups

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        sizes = (self.in_channels, self.out_channels // self.groups)
        if not self.transposed:
            sizes = (self.out_channels, self.in_channels // self.groups)
        return {"weight": (*sizes, *self.kernel_size), "bias": (self.out_channels,)}


class _LazyNorm(LazyModule, _NormBase):
    channels = "num_features"
    defaults: ClassVar[dict[str, Any]] = {"affine": True, "track_running_stats": True}

    def _channels_of(self, input: hw.Tensor) -> int:
        self._check_input(input)
        most = self.ranks[-1]
        return input.shape[1 if input.ndim == most or issubclass(self.becomes, BatchNorm1d) else 0]

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (self.num_features,))


_FAMILIES: tuple[tuple[type[LazyModule], tuple[type[Module], ...]], ...] = (
    (_LazyLinear, (Linear,)),
    (_LazyConvNd, (Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)),
    (_LazyNorm, (BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)),
)


def _constructor(base: type[LazyModule], plain: type[Module]) -> Callable[..., None]:
    """The plain layer's __init__ without the number of channels, its first argument."""
    itself, _, *others = inspect.signature(plain.__init__).parameters.values()
    signature = inspect.Signature([itself, *(p.replace(default=base.defaults.get(p.name, p.default)) for p in others)])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  that of the class to be
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        plain.__init__(self, 0, *given.args[1:], **given.kwargs)
        self._defer(given.arguments["device"], given.arguments["dtype"])

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def _lazy(base: type[LazyModule], plain: type[Module]) -> type:
    doc = f"A {plain.__name__} that learns its {base.channels} from the first input."
    return type(f"Lazy{plain.__name__}", (base, plain),
                {"becomes": plain, "__doc__": doc, "__module__": __name__, "__init__": _constructor(base, plain)})


for _base, _plains in _FAMILIES:
    for _plain in _plains:
        globals()[f"Lazy{_plain.__name__}"] = _lazy(_base, _plain)

__all__ = [f"Lazy{plain.__name__}" for _, plains in _FAMILIES for plain in plains]
