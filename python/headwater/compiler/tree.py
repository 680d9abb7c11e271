"""Arguments and results as trees: tuples, lists, dicts and named tuples with tensors, arrays and other values at the leaves."""
from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from .._C import Tensor

CONSTANTS = (int, float, bool, str, bytes, complex, type(None))


def is_array(value: Any) -> bool:
    """A NumPy array (not a NumPy number), told without importing NumPy."""
    return hasattr(value, "__array_interface__") and getattr(value, "ndim", 0) > 0


def flatten(value: Any, tensors: list[Any], others: list[Any]) -> Hashable:
    """The shape of a tree as a key. Tensors and arrays are appended to `tensors`, objects known by identity to `others`."""
    if isinstance(value, Tensor):
        for i, known in enumerate(tensors):
            if known is value:
                return ("again", i)
        tensors.append(value)
        return "tensor"
    kind = type(value)
    if kind is float or kind is complex:
        return (kind, repr(value))  # -0.0 is not 0.0, and nan is nan
    if kind in CONSTANTS:
        return (kind, value)
    if kind is tuple or kind is list:
        return (kind, *[flatten(v, tensors, others) for v in value])
    if kind is dict:
        return (kind, *[(k, flatten(v, tensors, others)) for k, v in value.items()])
    if isinstance(value, tuple):  # a named tuple
        return (kind, *[flatten(v, tensors, others) for v in value])
    if is_array(value):
        tensors.append(value)
        return "array"
    if getattr(value, "ndim", None) == 0 and hasattr(value, "__array_interface__"):  # a NumPy number: a constant of the program
        return (kind, str(value.dtype), repr(value.item()))  # type: ignore[attr-defined]
    others.append(value)
    return ("object", id(value))


def rebuild(value: Any, replace: Callable[[Any], Any]) -> Any:
    """The same tree with every leaf replaced."""
    kind = type(value)
    if isinstance(value, Tensor) or kind in CONSTANTS:
        return replace(value)
    if kind is tuple or kind is list:
        return kind(rebuild(v, replace) for v in value)
    if kind is dict:
        return {k: rebuild(v, replace) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*[rebuild(v, replace) for v in value])
    return replace(value)
