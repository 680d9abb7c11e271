"""From a list of samples to a batch."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

import headwater as hw


def _is_namedtuple(x: Any) -> bool:
    return isinstance(x, tuple) and hasattr(x, "_fields")


def _array(array: Any) -> Any:
    """A NumPy array as a tensor that shares it; arrays of text and objects stay."""
    return array if array.dtype.kind in "USOMm" else hw.as_tensor(array)


def default_convert(data: Any) -> Any:
    """NumPy arrays become tensors, inside dicts, tuples and lists too; everything else stays."""
    if isinstance(data, (np.ndarray, np.generic)):
        return _array(np.asarray(data))
    if isinstance(data, Mapping):
        return _mapping(data, {key: default_convert(value) for key, value in data.items()})
    if _is_namedtuple(data):
        return type(data)(*map(default_convert, data))
    if isinstance(data, (list, tuple)):
        return [default_convert(value) for value in data]
    return data


def _mapping(like: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    if type(like) is dict or not isinstance(like, MutableMapping):
        return values
    try:
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def default_collate(batch: Sequence[Any]) -> Any:
    """Stacks samples along a new dimension 0.

    Tensors, NumPy arrays and numbers become one tensor; dicts, named tuples, tuples and lists are collated entry by
    entry (tuples give a list); strings and bytes stay a list.
    """
    first = batch[0]
    if isinstance(first, hw.Tensor):
        _same_shapes([tuple(t.shape) for t in batch])
        return hw.stack(list(batch), 0)
    if isinstance(first, np.ndarray):
        _same_shapes([a.shape for a in batch])
        if first.dtype.kind in "USOMm":
            raise TypeError(f"default_collate cannot make a tensor of NumPy arrays of dtype {first.dtype}")
        return hw.from_numpy(np.stack(batch))
    if isinstance(first, np.generic) and not isinstance(first, (np.str_, np.bytes_)):
        return hw.from_numpy(np.asarray(batch))
    if isinstance(first, float):
        return hw.tensor(batch, dtype=hw.float64)
    if isinstance(first, (bool, int)):
        return hw.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _mapping(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if _is_namedtuple(first):
        return type(first)(*(default_collate(column) for column in zip(*batch)))
    if isinstance(first, Sequence):
        sizes = {len(sample) for sample in batch}
        if len(sizes) > 1:
            raise RuntimeError(f"the samples of a batch must be equally long, got lengths {sorted(sizes)}")
        columns = [default_collate(column) for column in zip(*batch)]
        if isinstance(first, (tuple, list)) or not isinstance(first, MutableSequence):
            return columns
        return type(first)(columns)  # type: ignore[call-arg]
    raise TypeError(
        f"default_collate takes tensors, NumPy arrays, numbers, strings, dicts and lists, got {type(first).__name__}. "
        "Give the loader a collate_fn."
    )


def _same_shapes(shapes: list[tuple[int, ...]]) -> None:
    for number, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise RuntimeError(
                f"the samples of a batch must have the same shape: sample 0 has {list(shapes[0])}, sample {number} has "
                f"{list(shape)}. Resize or pad them, or give the loader a collate_fn."
            )
