"""Reductions of which torch has several forms under one name: max, min, median, norm, var and std."""
from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from . import _C


class Extreme(namedtuple("Extreme", ["values", "indices"])):
    """What max, min, median and nanmedian along an axis return."""

    __module__ = "headwater.return_types"


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _C.Tensor)


def _along_axis(name: str, whole: str, pairwise: str | None, doc: str) -> Callable:
    """max and its like: of everything, along an axis, or of two tensors."""
    reduce_all, reduce_dim = _C.op_function_of(whole), _C.op_function_of(f"_{name}_dim")
    of_two = _C.op_function_of(pairwise) if pairwise else None

    def function(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None, axis: Any = None,
                 out: Any = None) -> Any:
        if axis is not None:
            dim = axis
        if other is None and _is_tensor(dim) and of_two:
            other, dim = dim, None
        extra = {} if out is None else {"out": out}
        if other is not None:
            if not of_two:
                raise TypeError(f"{name}() got an unexpected keyword argument 'other'")
            return of_two(input, other, **extra)
        if dim is None:
            return reduce_all(input, **extra)
        return Extreme(*reduce_dim(input, dim, keepdim, **extra))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _moment(name: str) -> Callable:
    """var and its like: torch also takes `unbiased`, alone or after dim."""
    op = _C.op_function_of(name)

    def function(input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
                 correction: float | None = None, axis: Any = None, out: Any = None) -> Any:
        if axis is not None:
            dim = axis
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if unbiased is not None:
            if not isinstance(unbiased, int):
                raise TypeError(f"{name}(): unbiased must be a bool, got {type(unbiased).__name__}")
            if correction is not None:
                raise TypeError(f"{name}() takes either unbiased or correction, not both")
            correction = 1 if unbiased else 0
        extra = {} if out is None else {"out": out}
        return op(input, dim, correction=1 if correction is None else correction, keepdim=keepdim, **extra)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = op.__doc__
    return function


def _norm() -> Callable:
    op = _C.op_function_of("norm")

    def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
        if p == "nuc":
            raise NotImplementedError("norm(): the nuclear norm is not offered; use a vector norm, or 'fro'")
        if p is None or p == "fro":
            p = 2.0
        elif isinstance(p, str):
            try:
                p = float(p)
            except ValueError:
                p = math.nan
            if not math.isinf(p):
                raise ValueError("norm(): p must be a number, inf, -inf or 'fro'")
        extra = {} if out is None else {"out": out}
        return op(input, p, dim, keepdim, dtype, **extra)

    norm.__doc__ = op.__doc__
    return norm


def install(namespace: dict[str, Any], tensor: type) -> None:
    """Replaces the plain op by the overloaded function, in the package and on Tensor."""
    functions: dict[str, Callable] = {
        "max": _along_axis("max", "amax", "maximum", "max(input), max(input, dim, keepdim=False), max(input, other)\n\n"
                           "The largest element of all, the largest along an axis with its index, or the larger of two."),
        "min": _along_axis("min", "amin", "minimum", "min(input), min(input, dim, keepdim=False), min(input, other)\n\n"
                           "The smallest element of all, the smallest along an axis with its index, or the smaller of two."),
        "median": _along_axis("median", "median", None, "median(input), median(input, dim, keepdim=False)\n\n"
                              "The lower median of all elements, or along an axis with its index."),
        "nanmedian": _along_axis("nanmedian", "nanmedian", None, "nanmedian(input), nanmedian(input, dim, keepdim=False)\n\n"
                                 "The lower median of all elements that are not NaN, or along an axis with its index."),
        "norm": _norm(),
    }
    for name in ("var", "std", "var_mean", "std_mean"):
        functions[name] = _moment(name)
    for name, function in functions.items():
        namespace[name] = function
        if not name.endswith("_mean"):
            setattr(tensor, name, function)
