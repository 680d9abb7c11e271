"""Parameter and Buffer: tensors which a Module registers when they are assigned to one of its attributes."""

from __future__ import annotations

from typing import Any

import headwater as hw


def _rebuild_parameter(cls: type, data: hw.Tensor, requires_grad: bool) -> hw.Tensor:
    return cls(data, requires_grad)


class Parameter(hw.Tensor):
    """A tensor that belongs to a model and is trained.

    Assigned as an attribute of a Module it appears in ``parameters()`` and in ``state_dict()``.

    Args:
        data: any tensor; the parameter shares its storage. Without data: an empty tensor of shape (0,).
        requires_grad: whether gradients are collected for it.
    """

    def __new__(cls, data: hw.Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = hw.empty(0)
        if not isinstance(data, hw.Tensor):
            raise TypeError(
                f"{cls.__name__}: data must be a headwater.Tensor, got {type(data).__name__}. Use hw.tensor()."
            )
        return hw.Tensor._make_subclass(cls, data.detach(), requires_grad)

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __repr__(self) -> str:
        return "Parameter containing:\n" + hw.Tensor.__repr__(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild_parameter, (type(self), self.detach(), self.requires_grad)


class UninitializedParameter(Parameter):
    """A parameter whose shape is not known yet; the lazy layers make it a Parameter in place."""

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        return hw.Tensor._make_subclass(cls, hw.empty(0, device=device, dtype=dtype), requires_grad)

    def materialize(self, shape: tuple[int, ...], device: Any = None, dtype: Any = None) -> None:
        """Takes the shape, with undefined values, and becomes a Parameter."""
        self.data = hw.empty(shape, device=device, dtype=self.dtype if dtype is None else dtype)
        self.__class__ = Parameter

    def __repr__(self) -> str:
        return "<UninitializedParameter>"

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, dtype=self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, None, self.dtype)


class Buffer(hw.Tensor):
    """A tensor that is part of a model's state but is not trained; assigned to a Module it becomes a buffer.

    Args:
        data: any tensor; the buffer shares its storage.
        persistent: whether ``state_dict()`` holds it.
    """

    persistent: bool

    def __new__(cls, data: hw.Tensor | None = None, *, persistent: bool = True) -> Buffer:
        buffer = hw.Tensor._make_subclass(cls, hw.empty(0) if data is None else data.detach(), False)
        buffer.persistent = persistent
        return buffer

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), persistent=self.persistent)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild_buffer, (type(self), self.detach(), self.persistent)


def _rebuild_buffer(cls: type, data: hw.Tensor, persistent: bool) -> hw.Tensor:
    return cls(data, persistent=persistent)
