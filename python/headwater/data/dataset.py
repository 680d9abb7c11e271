"""Data sets: by index, as a stream, and made of one another."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import headwater as hw

T = TypeVar("T")


class Dataset(Generic[T]):
    """Samples by index: define `__getitem__`, and `__len__` for the default samplers.

    A loader calls `__getitems__(indices)` instead, where a data set has it: a list of samples, fetched at once.
    """

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def __add__(self, other: Dataset[T]) -> ConcatDataset[T]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """A stream of samples: define `__iter__`. In a loader with workers, each worker runs the whole stream unless
    `__iter__` takes its own part, by `get_worker_info()`."""

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")

    def __add__(self, other: Dataset[T]) -> ChainDataset[T]:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Sample i is (tensor[i] for each tensor); the tensors have the same size in dimension 0."""

    def __init__(self, *tensors: Any) -> None:
        sizes = [len(t) for t in tensors]
        if len(set(sizes)) > 1:
            raise ValueError(f"the tensors of a TensorDataset must be equally long, got {sizes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class StackDataset(Dataset[Any]):
    """Sample i is made of sample i of each data set: a tuple, or a dict when they are given by keyword."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("give data sets either by position or by keyword")
        self.datasets: Any = args or kwargs
        sizes = [len(d) for d in (args or kwargs.values())]
        if len(set(sizes)) > 1:
            raise ValueError(f"the data sets of a StackDataset must be equally long, got {sizes}")
        self._length = sizes[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {key: d[index] for key, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T]):
    """One data set after the other."""

    def __init__(self, datasets: Iterable[Dataset[T]]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset needs at least one data set")
        for d in self.datasets:
            if isinstance(d, IterableDataset):
                raise TypeError("ConcatDataset takes data sets with an index; use ChainDataset for streams")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: Any) -> T:
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} samples")
        number = bisect.bisect_right(self.cumulative_sizes, at)
        return self.datasets[number][at - (self.cumulative_sizes[number - 1] if number else 0)]


class ChainDataset(IterableDataset[T]):
    """One stream after the other."""

    def __init__(self, datasets: Iterable[Dataset[T]]) -> None:
        self.datasets: Iterable[Any] = datasets

    def __iter__(self) -> Iterator[T]:
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise TypeError(f"ChainDataset takes IterableDatasets, got {type(d).__name__}")
            yield from d

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)


class Subset(Dataset[T]):
    """The samples at `indices` of a data set."""

    def __init__(self, dataset: Dataset[T], indices: Sequence[int]) -> None:
        self.dataset: Any = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> T:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Dataset[T], lengths: Sequence[int | float], generator: Any = None) -> list[Subset[T]]:
    """Parts without overlap, of the given lengths, or fractions that add up to 1 (what is left over goes to the first
    parts, one each)."""
    total = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1 + 1e-9:
        for number, part in enumerate(lengths):
            if not 0 <= part <= 1:
                raise ValueError(f"fraction {number} must be in [0, 1], got {part}")
        sizes = [math.floor(total * part) for part in lengths]
        for i in range(total - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
    if sum(lengths) != total:
        raise ValueError(f"the lengths add up to {sum(lengths)}, but the data set has {total} samples")
    order = hw.randperm(total, generator=generator).tolist()
    ends = list(itertools.accumulate(int(n) for n in lengths))
    return [Subset(dataset, order[end - int(n) : end]) for end, n in zip(ends, lengths)]
