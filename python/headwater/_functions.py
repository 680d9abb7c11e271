"""Functions of the package that are no operators: making tensors from data, questions about tensors, settings."""
from __future__ import annotations

import itertools
from typing import Any

from . import _C
from ._C import (
    Tensor,
    can_cast,
    frombuffer,
    get_default_dtype,
    get_num_threads,
    promote_types,
    result_type,
    set_default_dtype,
    set_num_threads,
)
from ._printing import set_printoptions
from ._types import device as _device

__all__ = ["tensor", "as_tensor", "asarray", "from_numpy", "from_dlpack", "frombuffer", "is_tensor", "is_floating_point", "is_complex",
           "numel", "get_default_dtype", "set_default_dtype", "get_num_threads", "set_num_threads", "promote_types", "result_type",
           "can_cast", "set_printoptions", "finfo", "iinfo", "typename", "detach", "detach_", "combinations",
           "is_signed", "is_nonzero", "is_same_size", "get_device"]


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A new tensor with a copy of `data`: a number, nested lists, a NumPy array or a tensor.

    Python floats become the default dtype (float32), Python ints int64, bools bool; arrays keep their dtype.
    Raises TypeError for data that is not numeric, ValueError for ragged lists.

    >>> hw.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if device is not None:
        _device(str(device))
    return _C.tensor_from_data(data, dtype, requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory where possible (tensors and NumPy arrays of the right dtype)."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if hasattr(data, "__array_interface__") and getattr(data, "flags", None) is not None:
        shared = _C.from_numpy(data) if all(s >= 0 for s in data.strides) else _C.tensor_from_data(data, None, False)
        return shared if dtype is None else shared.to(dtype)
    return tensor(data, dtype=dtype, device=device)


def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False) -> Tensor:
    """`obj` as a tensor; `copy=True` always copies, `copy=False` never."""
    t = tensor(obj, dtype=dtype) if copy else as_tensor(obj, dtype)
    if requires_grad:
        t = t.detach().requires_grad_()
    return t


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor that shares the memory of a NumPy array; writes through one show in the other."""
    return _C.from_numpy(ndarray)


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor that shares the memory of any object with `__dlpack__` (torch, jax, numpy, ...)."""
    return _C.from_dlpack(ext_tensor)


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype of `input` is a floating-point type."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the dtype of `input` is complex."""
    return input.is_complex()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype of `input` has negative numbers."""
    return input.is_signed()  # type: ignore[attr-defined]


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element of `input` is not zero. Raises RuntimeError unless there is exactly one."""
    return input.is_nonzero()  # type: ignore[attr-defined]


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal."""
    return input.is_same_size(other)  # type: ignore[attr-defined]


def get_device(input: Tensor) -> int:
    """-1, as of every tensor on the CPU."""
    return input.get_device()  # type: ignore[attr-defined]


def numel(input: Tensor) -> int:
    """The number of elements of `input`."""
    return input.numel()


def detach(input: Tensor) -> Tensor:
    """The same values without history; shares memory."""
    return input.detach()


def detach_(input: Tensor) -> Tensor:
    """Takes `input` out of its history, in place; returns it."""
    return input.detach_()


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """The combinations of r elements of a vector, [count, r], in the order of itertools; with_replacement repeats elements.

    Raises RuntimeError for a tensor that is not 1-d or a negative r.

    >>> hw.combinations(hw.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.ndim != 1 or r < 0:
        raise RuntimeError(f"combinations: expected a 1-d tensor and r of at least 0, got shape {list(input.shape)} and r={r}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.shape[0]), r))
    if not rows or r == 0:
        return input[:0]
    index = tensor([i for row in rows for i in row], dtype=_C.int64)
    return input.index_select(0, index).reshape((len(rows), r))  # type: ignore[attr-defined]


def typename(obj: Any) -> str:
    """The name of an object's type; of a tensor, its dtype."""
    return f"headwater.{obj.dtype.name}" if isinstance(obj, Tensor) else type(obj).__name__


class finfo:  # noqa: N801  torch's name
    """Limits of a floating-point dtype: bits, eps, max, min, tiny, smallest_normal, resolution."""

    _facts = {"float16": (16, 2.0**-10, 65504.0, 2.0**-14, 1e-3), "bfloat16": (16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 1e-2),
              "float32": (32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 1e-6),
              "float64": (64, 2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 1e-15)}

    def __init__(self, type: Any = None):
        d = type if type is not None else get_default_dtype()
        name = {"complex64": "float32", "complex128": "float64"}.get(d.name, d.name)
        if name not in self._facts:
            raise TypeError(f"finfo: {d} is not a floating-point dtype; use iinfo")
        self.bits, self.eps, self.max, self.tiny, self.resolution = self._facts[name]
        self.min, self.smallest_normal, self.dtype = -self.max, self.tiny, name

    def __repr__(self) -> str:
        return f"finfo(resolution={self.resolution}, min={self.min}, max={self.max}, eps={self.eps}, tiny={self.tiny}, dtype={self.dtype})"


class iinfo:  # noqa: N801  torch's name
    """Limits of an integer dtype: bits, min, max."""

    def __init__(self, type: Any):
        if type.is_floating_point or type.is_complex or type.name == "bool":
            raise TypeError(f"iinfo: {type} is not an integer dtype; use finfo")
        self.bits = type.itemsize * 8
        self.min = -(1 << (self.bits - 1)) if type.is_signed else 0
        self.max = (1 << (self.bits - 1)) - 1 if type.is_signed else (1 << self.bits) - 1
        self.dtype = type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
