"""What flows along the edges of a loaded model, and how one kind becomes another.

A value is a tensor, a NumPy array, a list (an ONNX sequence) or None (an absent optional). NumPy arrays are *host values*: they are
known while a function is captured. Shapes, and what is calculated from them, stay host values, so that a Reshape finds numbers; an
operator on host values alone runs at once, outside of a capture. Guards on the inputs' shapes make that right.
"""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from .. import recording
from ..compiler.symbols import SymInt
from .element_types import core_type, in_core, is_text, wide_type
from .requirement import OnnxError

_LARGEST_CONSTANT = 256  # elements that are written into a program's graph; more become its state


def tensor(value: Any) -> Any:
    """The tensor for a host value; a tensor is returned as it is."""
    if isinstance(value, hw.Tensor) or value is None:
        return value
    if not isinstance(value, np.ndarray):
        raise OnnxError(f"a tensor is expected, got a {'sequence' if isinstance(value, list) else type(value).__name__}")
    if is_symbolic(value):
        return _of_sizes(value)
    if not in_core(value.dtype):
        value = widened(value)
    if recording.current is None:
        return _eager(value)
    if value.size <= _LARGEST_CONSTANT and value.dtype.kind in "biuf":
        if value.size == 0:
            return hw.zeros(value.shape, dtype=core_type(value.dtype))
        return hw.tensor(value.tolist(), dtype=core_type(value.dtype))
    with recording.eagerly():
        return _eager(value)


def _eager(value: np.ndarray[Any, Any]) -> Any:
    if not value.flags.writeable or not value.flags.c_contiguous or not value.flags.aligned:
        value = np.array(value, order="C")
    return hw.from_numpy(value)


def widened(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The values in a type that the core has."""
    wide = wide_type(value.dtype)
    if value.dtype == np.uint64 and value.size and int(value.max()) > 2**63 - 1:
        raise OnnxError("uint64 values of 2^63 and more are not supported here")
    return value.astype(wide)


def host(value: Any, what: str = "this input") -> Any:
    """The host value for a tensor whose elements are known; `what` names it in the error if they are not."""
    if not isinstance(value, hw.Tensor):
        return value
    try:
        return _to_numpy(value.detach())
    except RuntimeError as error:
        if recording.current is None:
            raise
        raise hw.CompileError(
            f"{what} depends on the values of the inputs, so it is not known while the model is compiled. Run the model eagerly, or "
            f"compile a part of it that does without ({error})"
        ) from None


def _to_numpy(value: Any) -> np.ndarray[Any, Any]:
    if value.dtype == hw.bfloat16:
        import ml_dtypes

        return np.asarray(value.view(hw.int16).numpy()).view(ml_dtypes.bfloat16)
    return np.asarray(value.numpy())


# ---------------------------------------------------------------- sizes
def is_symbolic(value: Any) -> bool:
    """Whether a host value holds sizes that may differ in later calls: an array of Python integers."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.size > 0 and isinstance(value.flat[0], int)


def sizes_array(sizes: Any) -> np.ndarray[Any, Any]:
    """A host value of sizes, int64 if all are plain numbers."""
    sizes = list(sizes)
    if any(type(s) is SymInt for s in sizes):
        made = np.empty(len(sizes), object)
        made[:] = sizes
        return made
    return np.array([int(s) for s in sizes], np.int64)


def _of_sizes(value: np.ndarray[Any, Any]) -> Any:
    plain(value)
    return tensor(np.asarray(value, np.int64))


def plain(value: Any) -> Any:
    """The host value without symbols: a function that needs the numbers is captured for each size."""
    if is_symbolic(value):
        for size in value.flat:
            if type(size) is SymInt:
                hash(size)  # raises SizeIsNeeded
        return value.astype(np.int64)
    return value


def ints(value: Any, what: str = "this input") -> list[int]:
    """The integers of a one-dimensional host value, sizes as they are."""
    return list(np.asarray(host(value, what)).reshape(-1).tolist())


def number(value: Any, what: str = "this input") -> Any:
    """The one number of a host value."""
    array = np.asarray(host(value, what))
    if array.size != 1:
        raise OnnxError(f"{what} must hold one number, it has shape {list(array.shape)}")
    return array.reshape(-1)[0].item() if array.dtype.kind != "O" else array.reshape(-1)[0]


def flag(value: Any, what: str = "the condition") -> bool:
    return bool(number(value, what))


def texts(value: Any) -> np.ndarray[Any, Any]:
    """The host value as an array of Python texts."""
    array = np.asarray(value, dtype=object)
    if not is_text(array.dtype):
        raise OnnxError("texts are expected")
    return np.vectorize(lambda s: s.decode("utf-8") if isinstance(s, bytes) else s, otypes=[object])(array) if array.size else array


def shape_of(value: Any) -> tuple[Any, ...]:
    return tuple(value.shape)


# ---------------------------------------------------------------- limits
MOST_ELEMENTS = 2**28  # in a tensor whose size is a number of the file, not that of an input: a damaged one may ask for any


def check_size(sizes: Any) -> None:
    """Refuses what no model means: a file of a few bytes must not take all of the memory."""
    total = 1.0
    for size in sizes:
        if type(size) is int or isinstance(size, np.integer):
            if size < 0:
                raise OnnxError(f"a tensor of shape {list(sizes)} cannot be made")
            total *= int(size)
    if total > MOST_ELEMENTS:
        raise OnnxError(
            f"a tensor of shape {list(sizes)} cannot be made: it has more than {MOST_ELEMENTS} elements "
            "(headwater.onnx.values.MOST_ELEMENTS)"
        )
