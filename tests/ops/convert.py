"""Between NumPy arrays of samples, Headwater tensors and torch tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import headwater as hw


class Fixed:
    """An array that keeps its dtype."""

    def __init__(self, array: Any):
        self.array = np.asarray(array)
        self.dtype, self.shape = self.array.dtype, self.array.shape


def is_array(v: Any) -> bool:
    return isinstance(v, (np.ndarray, Fixed))


def _has_floats(values: list) -> bool:
    for v in values:
        if isinstance(v, np.ndarray) and v.dtype.kind in "fc":
            return True
        if isinstance(v, (list, tuple)) and _has_floats(list(v)):
            return True
    return False


def as_dtype(x: np.ndarray, dtype: str) -> np.ndarray:
    """x in the dtype under test, as float64, int64, complex128 or bool; 16- and 32-bit floats already rounded to theirs."""
    if dtype == "bool":
        return x > 0
    if dtype.startswith("complex"):
        imag = np.roll(x.ravel(), 1).reshape(x.shape) * 0.5 if x.size > 1 else x * 0.5
        return (x + 1j * imag).astype(dtype)
    if dtype.startswith("uint"):
        return np.abs(np.rint(x * 3)).astype(dtype)
    if dtype.startswith("int"):
        return (np.rint(x * 3) if x.dtype.kind == "f" else x).astype(dtype)
    if dtype == "bfloat16":
        return torch.from_numpy(np.array(x, dtype=np.float32)).bfloat16().float().numpy().astype(np.float64)
    return x.astype(dtype)


def map_arrays(args: tuple, kwargs: dict, dtype: str, make: Callable[[np.ndarray, str], Any]) -> tuple[tuple, dict]:
    """The arguments with every array replaced by make(array, its dtype name)."""
    floats = _has_floats(list(args) + list(kwargs.values()))

    def one(v: Any) -> Any:
        if isinstance(v, Fixed):
            return make(v.array, v.array.dtype.name)
        if isinstance(v, np.ndarray):
            if v.dtype.kind == "b" or (v.dtype.kind in "iu" and floats):
                return make(v, v.dtype.name)
            return make(as_dtype(v, dtype), dtype)
        if isinstance(v, (list, tuple)) and any(is_array(x) for x in v):
            return type(v)(one(x) for x in v)
        return v

    return tuple(one(a) for a in args), {k: one(v) for k, v in kwargs.items()}


def to_hw(x: np.ndarray, dtype: str) -> Any:
    plain = np.array(x, dtype="float32" if dtype == "bfloat16" else dtype)
    t = hw.from_numpy(plain)
    return hw.cast(t, hw.bfloat16) if dtype == "bfloat16" else t


def to_torch(x: np.ndarray, dtype: str) -> torch.Tensor:
    plain = np.array(x, dtype="float32" if dtype == "bfloat16" else dtype)
    t = torch.from_numpy(plain)
    return t.bfloat16() if dtype == "bfloat16" else t


def dtype_name(t: Any) -> str:
    """The dtype's name of a Headwater or torch tensor: 'float32'."""
    return str(t.dtype).rsplit(".", 1)[-1]


def to_numpy(v: Any) -> Any:
    """Any result as NumPy: tensors, numbers, and tuples of them."""
    if isinstance(v, torch.Tensor):
        v = v.detach().resolve_conj().resolve_neg()
        return (v.float() if v.dtype == torch.bfloat16 else v).numpy()
    if isinstance(v, hw.Tensor):
        v = v.detach()
        return hw._C.to_numpy(hw.cast(v, hw.float32) if v.dtype == hw.bfloat16 else v)
    if isinstance(v, (list, tuple)):
        return [to_numpy(x) for x in v]
    return np.asarray(v)


def flatten(result: Any) -> list:
    """The outputs of a call as a flat list."""
    if isinstance(result, (list, tuple)):
        return [y for r in result for y in flatten(r)]
    return [result]


def bind(info: dict, args: tuple, kwargs: dict) -> tuple[list, dict]:
    """Arguments of a call as flattened inputs (None for those not given) and attributes by name."""
    values = dict(zip(info["order"], args))
    values.update(kwargs)
    inputs: list = []
    for i in info["inputs"]:
        v = values.pop(i["name"], None)
        inputs += list(v) if i["variadic"] else [v]
    return inputs, values
