"""How a batch is fetched from a data set: the same in this process and in a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import headwater as hw

from .collate import default_collate
from .dataset import IterableDataset, TensorDataset

Collate = Callable[[Any], Any]


class Exhausted(Exception):
    """A stream has no more batches."""


class Interrupted(Exception):
    """The loader does not want this batch any more."""


class MapFetcher:
    """By index. `wanted` is asked before each sample whether to go on."""

    def __init__(self, dataset: Any, batched: bool, collate: Collate, wanted: Callable[[], bool] = lambda: True):
        self.dataset, self.batched, self.collate, self.wanted = dataset, batched, collate, wanted
        self.at_once = batched and type(dataset) is TensorDataset and collate is default_collate

    def fetch(self, index: Any) -> Any:
        if not self.batched:
            return self.collate(self.dataset[index])
        if self.at_once:  # the same as stacking the samples, without cutting them out one by one
            rows = hw.tensor(index, dtype=hw.int64)
            return [t.index_select(0, rows) for t in self.dataset.tensors]
        if hasattr(self.dataset, "__getitems__"):
            return self.collate(self.dataset.__getitems__(index))
        samples = []
        for i in index:
            if not self.wanted():
                raise Interrupted
            samples.append(self.dataset[i])
        return self.collate(samples)


class StreamFetcher:
    """From an iterator; an index only says how many samples the batch has."""

    def __init__(
        self, dataset: Any, batched: bool, collate: Collate, drop_last: bool, wanted: Callable[[], bool] = lambda: True
    ):
        self.stream: Iterator[Any] = iter(dataset)
        self.batched, self.collate, self.drop_last, self.wanted = batched, collate, drop_last, wanted
        self.ended = False

    def fetch(self, index: Any) -> Any:
        if self.ended:
            raise Exhausted
        samples = []
        for _ in index if self.batched else range(1):
            if not self.wanted():
                raise Interrupted
            try:
                samples.append(next(self.stream))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.batched and self.drop_last and len(samples) < len(index)):
            raise Exhausted
        return self.collate(samples if self.batched else samples[0])


def make_fetcher(
    dataset: Any, batched: bool, collate: Collate, drop_last: bool, wanted: Callable[[], bool] = lambda: True
) -> MapFetcher | StreamFetcher:
    if isinstance(dataset, IterableDataset):
        return StreamFetcher(dataset, batched, collate, drop_last, wanted)
    return MapFetcher(dataset, batched, collate, wanted)
