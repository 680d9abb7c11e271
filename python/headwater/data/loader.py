"""The loader: batches of a data set, fetched in this process or by worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .fetch import Exhausted, make_fetcher
from .pool import WorkerPool
from .sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed
from .worker import DATA, END, WorkerPlan


class DataLoader:
    """Iterates over batches of a data set.

    With `num_workers` > 0 that many processes fetch batches ahead (`prefetch_factor` for each, 2 unless given), started
    as `multiprocessing_context` says: "fork", "spawn" or "forkserver". Each seeds Python's, NumPy's and Headwater's random
    numbers from a seed drawn from `generator` at the start of an epoch, plus its number. `batch_size=None` gives single
    samples. `timeout` is in seconds for one batch; 0 waits for ever. `pin_memory` has no effect on the CPU.

    Raises, in the iterating process, what a worker raised, with the worker's traceback, and RuntimeError when a worker
    was killed or a batch took longer than the timeout.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.worker_init_fn, self.generator, self.in_order = worker_init_fn, generator, in_order
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers > 0 else prefetch_factor
        self.persistent_workers = persistent_workers
        self.multiprocessing_context = _context(multiprocessing_context)
        self.is_stream = isinstance(dataset, IterableDataset)
        if self.is_stream and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("an IterableDataset decides its own order: shuffle, sampler and batch_sampler are not allowed")
        if sampler is not None and shuffle:
            raise ValueError("sampler and shuffle exclude each other")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler excludes batch_size, shuffle, sampler and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None gives single samples, of which drop_last has none to drop")
        if sampler is None:
            sampler = self._default_sampler(shuffle)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = batch_size, drop_last, sampler, batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self._kept: _WorkerIterator | None = None

    def _default_sampler(self, shuffle: bool | None) -> Iterable[Any]:
        if self.is_stream:
            return _Endless()
        return RandomSampler(self.dataset, generator=self.generator) if shuffle else SequentialSampler(self.dataset)

    @property
    def _indices(self) -> Iterable[Any]:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> Iterator[Any]:
        if self.num_workers == 0:
            return self._in_process()
        if not self.persistent_workers:
            return _WorkerIterator(self)
        if self._kept is None or self._kept.closed:
            self._kept = _WorkerIterator(self)
        else:
            self._kept.restart()
        return self._kept

    def _in_process(self) -> Iterator[Any]:
        fetcher = make_fetcher(self.dataset, self.batch_sampler is not None, self.collate_fn, self.drop_last)
        for index in self._indices:
            try:
                batch = fetcher.fetch(index)
            except Exhausted:
                return
            yield batch

    def __len__(self) -> int:
        """How many batches an epoch has."""
        if not self.is_stream:
            return len(self._indices)  # type: ignore[arg-type]
        n = len(self.dataset)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def plan(self) -> WorkerPlan:
        """What the workers of an epoch are started with."""
        return WorkerPlan(
            0, self.num_workers, draw_seed(self.generator), self.dataset, self.batch_sampler is not None,
            self.collate_fn, self.drop_last, self.worker_init_fn,
        )  # fmt: skip


class _Endless:
    """The sampler of a stream."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class _WorkerIterator:
    """One epoch by worker processes. Tasks are dealt in turns, so that which worker fetches what is always the same."""

    def __init__(self, loader: DataLoader):
        self.loader = loader
        self.epoch = 0
        self.closed = False
        self.pool = WorkerPool(loader.multiprocessing_context, loader.plan())
        self._begin()

    def restart(self) -> None:
        self.epoch += 1
        self.pool.begin(self.epoch)
        self._begin()

    def _begin(self) -> None:
        self.indices = iter(self.loader._indices)
        self.active = deque(range(self.loader.num_workers))  # workers whose stream has not ended, the next one first
        self.given = 0
        self.due = 0  # the task whose batch comes next
        self.open: dict[int, int] = {}  # task -> worker
        self.answers: dict[int, tuple[str, Any]] = {}
        self.done = False
        for _ in range((self.loader.prefetch_factor or 2) * self.loader.num_workers):
            self._give_next()

    def _give_next(self) -> None:
        """One more task, to the worker whose turn it is."""
        if not self.active:
            return
        try:
            index = next(self.indices)
        except StopIteration:
            return
        worker = self.active[0]
        self.active.rotate(-1)
        self.pool.give(worker, self.epoch, self.given, index)
        self.open[self.given] = worker
        self.given += 1

    def __iter__(self) -> _WorkerIterator:
        return self

    def __len__(self) -> int:
        return len(self.loader)

    def __next__(self) -> Any:
        while not self.done:
            task = self._ready()
            if task is None:
                if not self.open and not self.answers:
                    break
                self._wait()
                continue
            kind, value = self.answers.pop(task)
            if kind == END:
                continue
            self._give_next()
            if kind == DATA:
                return value
            raise value.exception()
        self.done = True
        if not self.loader.persistent_workers:
            self.close()
        raise StopIteration

    def _ready(self) -> int | None:
        """The task to deliver now, if its answer is here."""
        if not self.loader.in_order:
            return next(iter(self.answers), None)
        if self.due in self.answers:
            self.due += 1
            return self.due - 1
        return None

    def _wait(self) -> None:
        timeout = self.loader.timeout
        began = time.monotonic()
        try:
            found = self.pool.answers(timeout or None)
        except BaseException:  # a dead worker, or Ctrl-C
            self.close(grace=0.2)
            raise
        if not found and timeout and time.monotonic() - began >= timeout:
            self.close(grace=0.2)
            raise RuntimeError(f"a DataLoader got no batch within its timeout of {timeout} seconds")
        for epoch, task, kind, value in found:
            if epoch != self.epoch:
                continue
            worker = self.open.pop(task)
            self.answers[task] = (kind, value)
            if kind == END and worker in self.active:
                self.active.remove(worker)
                self._give_next()

    def close(self, **grace: float) -> None:
        self.closed = self.done = True
        self.answers.clear()
        self.open.clear()
        self.pool.close(**grace)


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent: bool, context: Any
) -> None:
    if not isinstance(num_workers, int) or num_workers < 0:
        raise ValueError(f"num_workers must be an int of at least 0, got {num_workers!r}")
    if timeout < 0:
        raise ValueError(f"timeout must be at least 0, got {timeout}")
    if num_workers == 0:
        if prefetch_factor is not None:
            raise ValueError("prefetch_factor needs num_workers above 0")
        if persistent:
            raise ValueError("persistent_workers needs num_workers above 0")
        if context is not None:
            raise ValueError("multiprocessing_context needs num_workers above 0")
    elif prefetch_factor is not None and prefetch_factor <= 0:
        raise ValueError(f"prefetch_factor must be above 0, got {prefetch_factor}")


def _context(context: Any) -> Any:
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(f"multiprocessing_context must be one of {methods}, got {context!r}")
        return multiprocessing.get_context(context)
    if context is None:
        return multiprocessing.get_context()
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(f"multiprocessing_context must be a name or a context, got {type(context).__name__}")
    return context
