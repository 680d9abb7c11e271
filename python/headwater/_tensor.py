"""Methods of Tensor that are no operators: conversion, autograd, protocols."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import _C
from ._C import Tensor
from ._types import device as _device

if TYPE_CHECKING:
    import numpy as np


def _method(f: Callable[..., Any]) -> Callable[..., Any]:
    """Adds a function to Tensor under its own name."""
    f.__qualname__ = f"Tensor.{f.__name__}"
    setattr(Tensor, f.__name__, f)
    return f


# ------------------------------------------------------------------ autograd
@_method
def backward(self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
             inputs: Sequence[Tensor] | Tensor | None = None) -> None:
    """Adds the gradient of this tensor to `.grad` of the leaves it was computed from.

    Args:
        gradient: of the same shape; needed unless this tensor has one element.
        retain_graph: keep the graph for another backward pass. Default: `create_graph`.
        create_graph: record the backward pass, so that its results can be differentiated.
        inputs: only these leaves get gradients.
    """
    wanted = () if inputs is None else (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if inputs is not None and not wanted:
        raise RuntimeError("backward: inputs is empty")
    _C.backward((self,), (gradient,), create_graph if retain_graph is None else retain_graph, create_graph, wanted)


@_method
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> Any:
    """Calls `hook(grad)` when the gradient of this tensor is computed; its result, if any, replaces the gradient."""
    return _C.register_hook(self, hook)


@_method
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> Any:
    """Calls `hook(tensor)` after a gradient was added to this leaf's `.grad`."""
    return _C.register_post_accumulate_grad_hook(self, hook)


# ------------------------------------------------------------------ conversion
@_method
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """A NumPy array that shares this tensor's memory. `force=True` detaches, and converts where NumPy lacks the dtype.

    A global tensor has no memory of its own: take it whole first, with full().
    """
    if force:
        self = self.detach()
        if self.dtype is _C.bfloat16:
            self = self.to(_C.float32)
    return _C.to_numpy(self)


@_method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    a = _C.to_numpy(self)
    if dtype is not None and a.dtype != dtype:
        return a.astype(dtype)
    return a.copy() if copy else a


@_method
def __dlpack__(self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
    return _C.to_dlpack(self.clone() if copy else self)


@_method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    return (1, 0)


@_method
def tolist(self: Tensor) -> Any:
    """The values as nested lists of Python numbers; a number for a 0-d tensor."""
    if self.ndim == 0:
        return self.item()
    values = self.detach()
    if values.dtype is _C.bfloat16 or values.dtype is _C.float16:
        values = values.to(_C.float32)
    return _C.to_numpy(_C.full(values)).tolist()


@_method
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """to(dtype), to(device), to(other), to(device, dtype): converts; the tensor itself when nothing changes."""
    dtype, copy = kwargs.pop("dtype", None), kwargs.pop("copy", False)
    place = kwargs.pop("device", None)
    kwargs.pop("non_blocking", None), kwargs.pop("memory_format", None)
    other = kwargs.pop("other", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    for a in args:
        if isinstance(a, Tensor):
            other = a
        elif isinstance(a, _C.dtype) or a in (bool, int, float, complex):
            dtype = a
        elif isinstance(a, str):
            place = a
        elif isinstance(a, bool):
            pass
        elif a is not None:
            raise TypeError(f"to(): expected a dtype, a device or a Tensor, got {a.__class__.__name__}")
    if other is not None:
        dtype = other.dtype
    if place is not None:
        _device(str(place))
    if dtype is None or _as_dtype(dtype) is self.dtype:
        return self.clone() if copy else self
    return self.cast(dtype)


def _as_dtype(d: Any) -> Any:
    return d if isinstance(d, _C.dtype) else {bool: _C.bool, int: _C.int64, float: _C.float64, complex: _C.complex128}[d]


def _conversion(name: str, dtype: Any) -> None:
    def convert(self: Tensor) -> Tensor:
        return self if self.dtype is dtype else self.cast(dtype)

    convert.__name__ = name
    convert.__doc__ = f"The values as {dtype.name}; the tensor itself if it is that already."
    _method(convert)


for _name, _dtype in {"float": _C.float32, "double": _C.float64, "half": _C.float16, "bfloat16": _C.bfloat16, "int": _C.int32,
                      "long": _C.int64, "short": _C.int16, "char": _C.int8, "byte": _C.uint8, "bool": _C.bool,
                      "cfloat": _C.complex64, "cdouble": _C.complex128}.items():
    _conversion(_name, _dtype)


@_method
def type(self: Tensor, dtype: Any = None) -> Any:
    """Without argument the dtype's name; with one, the tensor converted to it."""
    return f"headwater.{self.dtype.name}" if dtype is None else self.to(dtype)


@_method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The values in the dtype of `other`."""
    return self.to(other.dtype)


@_method
def cpu(self: Tensor) -> Tensor:
    """The tensor itself: it lives on the CPU."""
    return self


@_method
def is_pinned(self: Tensor) -> bool:
    """False: there is no pinned memory on a CPU."""
    return False


@_method
def pin_memory(self: Tensor) -> Tensor:
    """The tensor itself: there is no pinned memory on a CPU."""
    return self


# ------------------------------------------------------------------ in place, by way of the result
def _written_back(name: str) -> None:
    """The in-place method of an operator whose kernels read the input while they write."""
    plain = _C.op_function_of(name, False)

    def write(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        result = plain(self, *args, **kwargs)
        if result.shape != self.shape:
            raise RuntimeError(f"{name}_: the result has shape {list(result.shape)}, the tensor {list(self.shape)}; use {name}")
        return self.copy_(result)

    write.__name__ = name + "_"
    write.__doc__ = f"Writes the result of {name} into the tensor; returns it."
    _method(write)


for _name in ("addmm", "baddbmm"):
    _written_back(_name)


@_method
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Writes a number to the diagonal x[i, i, ..., i]; with wrap, a tall matrix starts a new one after each gap row.

    Raises RuntimeError for fewer than two axes, and for more than two of different sizes.
    """
    if self.ndim < 2 or (self.ndim > 2 and len(set(self.shape)) != 1):
        raise RuntimeError(f"fill_diagonal_: expected a matrix, or more axes of one size, got shape {list(self.shape)}")
    line = self.diagonal(0, 0, 1)
    while line.ndim > 1:
        line = line.diagonal(0, 0, -1)
    line.fill_(fill_value)
    if wrap and self.ndim == 2:
        rows, columns = self.shape
        for start in range(columns + 1, rows, columns + 1):
            self[start:].fill_diagonal_(fill_value)
    return self


@_method
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sums over the axes that broadcasting from `size` would stretch, of shape `size`.

    Raises RuntimeError where `size` does not broadcast to the shape.
    """
    want = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)
    extra = self.ndim - len(want)
    if extra < 0 or any(w not in (1, s) for w, s in zip(want, self.shape[extra:])):
        raise RuntimeError(f"sum_to_size: size {list(want)} does not broadcast to the tensor's shape {list(self.shape)}")
    axes = [*range(extra), *(extra + i for i, w in enumerate(want) if w == 1 and self.shape[extra + i] != 1)]
    return self.sum(axes, keepdim=True).reshape(want) if axes else self


# ------------------------------------------------------------------ questions
@_method
def is_signed(self: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return self.dtype.is_signed


@_method
def is_nonzero(self: Tensor) -> bool:
    """Whether the only element is not zero. Raises RuntimeError unless there is exactly one."""
    if self.numel() != 1:
        raise RuntimeError(f"is_nonzero: expected one element, got shape {list(self.shape)}")
    return bool(self.item())


@_method
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal."""
    return self.shape == other.shape


@_method
def get_device(self: Tensor) -> int:
    """-1, as of every tensor on the CPU."""
    return -1


@_method
def ndimension(self: Tensor) -> int:
    """The number of axes."""
    return self.ndim


# ------------------------------------------------------------------ protocols
@_method
def __iter__(self: Tensor) -> Iterator[Tensor]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return (self[i] for i in range(len(self)))


@_method
def __contains__(self: Tensor, item: Any) -> bool:
    compared = self == item
    if not isinstance(compared, Tensor):
        raise RuntimeError(f"a tensor contains numbers and is asked for a number or a tensor, got {item.__class__.__name__}")
    return compared.any().item()


@_method
def __reversed__(self: Tensor) -> Tensor:
    return self.flip(0) if self.ndim else self


@_method
def __complex__(self: Tensor) -> complex:
    return complex(self.item())


@_method
def __format__(self: Tensor, spec: str) -> str:
    return format(self.item(), spec) if self.ndim == 0 else object.__format__(self, spec)


@_method
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError("only leaf tensors can be deep-copied; use detach() or clone()")
    copied = self.detach().clone()
    if self.__class__ is not Tensor:
        copied = Tensor._make_subclass(self.__class__, copied, self.requires_grad)
    else:
        copied.requires_grad = self.requires_grad
    if self.grad is not None:
        copied.grad = self.grad.detach().clone()
    memo[id(self)] = copied
    return copied


def _rebuild(cls: Any, data: Any, name: str, shape: tuple[int, ...], requires_grad: bool, state: dict[str, Any] | None) -> Tensor:
    dtype = getattr(_C, name)
    n = 1
    for s in shape:
        n *= s
    t = _C.frombuffer(data, dtype=dtype, count=n).view(shape) if n else _C.op_function_of("empty", False)(shape, dtype=dtype)
    if isinstance(data, bytes) or not n:
        t = t.clone()
    if cls is not Tensor:
        t = Tensor._make_subclass(cls, t, requires_grad)
    elif requires_grad:
        t.requires_grad = True
    if state:
        t.__dict__.update(state)
    return t


@_method
def __reduce_ex__(self: Tensor, protocol: int) -> Any:
    import pickle

    if not self.is_leaf:
        raise RuntimeError("a tensor with a history cannot be pickled; use detach()")
    flat = self.detach().contiguous().view(-1)
    raw = _C.to_numpy(_C.bytes_of(flat)) if self.numel() else None
    data: Any = b"" if raw is None else pickle.PickleBuffer(raw) if protocol >= 5 else raw.tobytes()
    state = dict(getattr(self, "__dict__", None) or {}) or None
    return _rebuild, (self.__class__, data, self.dtype.name, tuple(self.shape), self.requires_grad, state)


@_method
def share_memory_(self: Tensor) -> Tensor:
    """Accepted for torch's sake: data loader workers have a shared transport of their own."""
    return self


# ------------------------------------------------------------------ shapes as attributes
def _transposed(self: Tensor) -> Tensor:
    """The tensor with its axes reversed."""
    return self.permute(tuple(range(self.ndim - 1, -1, -1)))


def _last_two(self: Tensor) -> Tensor:
    """The tensor with its last two axes swapped."""
    if self.ndim < 2:
        raise RuntimeError(f"mT needs at least two axes, got shape {list(self.shape)}")
    return self.transpose(-2, -1)


def _part(name: str, place: int) -> property:
    """x.real, x.imag: views of the parts of a complex tensor, which can be written."""

    def read(self: Tensor) -> Tensor:
        if self.is_complex():
            return _C.op_function_of("view_as_real")(self).select(-1, place)
        if place:
            raise RuntimeError(f"a tensor of {self.dtype} has no imaginary part; only complex tensors do")
        return self

    def write(self: Tensor, value: Any) -> None:
        part = read(self)
        part.copy_(value) if isinstance(value, Tensor) else part.fill_(value)

    return property(read, write, doc=f"The {name} part of the elements, as a view.")


Tensor.real, Tensor.imag = _part("real", 0), _part("imag", 1)
Tensor.T = property(_transposed)
Tensor.mT = property(_last_two)
Tensor.H = property(lambda self: _transposed(self).conj() if self.is_complex() else _transposed(self))
Tensor.mH = property(lambda self: _last_two(self).conj() if self.is_complex() else _last_two(self))
Tensor.__array_priority__ = 1000
Tensor.__array_ufunc__ = None
Tensor.is_cpu = property(lambda self: True)
Tensor.is_meta = property(lambda self: False)
Tensor.is_cuda = property(lambda self: False)
Tensor.is_sparse = property(lambda self: False)
Tensor.is_quantized = property(lambda self: False)
Tensor.layout = property(lambda self: "strided")

