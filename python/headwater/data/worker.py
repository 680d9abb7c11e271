"""A worker process of a loader: fetches the batches it is told to and sends them back."""

from __future__ import annotations

import os
import queue
import random
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import headwater as hw

from . import transport
from .fetch import Exhausted, Interrupted, make_fetcher

DATA, ERROR, END = "data", "error", "end"  # kinds of answers
TASK, EPOCH = "task", "epoch"  # kinds of requests


@dataclass(frozen=True)
class WorkerInfo:
    """What get_worker_info() gives: this worker's number, how many there are, its seed and its copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a loader: which one it is. Elsewhere: None."""
    return _info


@dataclass
class WorkerError:
    """An exception, as it travels: its type where that can be imported, and the worker's traceback as text."""

    kind: type[Exception] | None
    text: str
    where: str

    @staticmethod
    def of(error: Exception, worker: int) -> WorkerError:
        kind = type(error)
        if getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is not kind:
            kind = RuntimeError
        return WorkerError(kind, traceback.format_exc(), f"worker {worker} (process {os.getpid()})")

    def exception(self) -> Exception:
        kind = self.kind or RuntimeError
        text = f"{kind.__name__} in {self.where} of a DataLoader. Its traceback:\n{self.text}"
        if issubclass(kind, KeyError):
            return KeyError(_Verbatim(text))
        try:
            return kind(text)
        except Exception:  # an exception that takes other arguments
            return RuntimeError(text)


class _Verbatim(str):
    """KeyError shows the repr of its argument; a traceback is to be read as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass
class WorkerPlan:
    """What a worker is started with."""

    id: int
    num_workers: int
    base_seed: int
    dataset: Any
    batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    init: Callable[[int], Any] | None


class _Requests:
    """Requests are read by a thread, so that the loader never waits for a worker that is busy.

    When the loader's side is closed, or its process is gone, the worker ends.
    """

    def __init__(self, connection: Connection):
        self.connection, self.parent = connection, os.getppid()
        self.queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.epoch = 0  # tasks of earlier epochs are not wanted any more
        self.closed = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while True:
                while not self.connection.poll(2.0):
                    if os.getppid() != self.parent:
                        os._exit(1)
                request = transport.receive(self.connection)
                if request[0] == EPOCH:
                    self.epoch = request[1]
                self.queue.put(request)
        except (EOFError, OSError):
            self.closed = True
            self.queue.put(None)


def _seed(seed: int, base_seed: int, worker: int) -> None:
    random.seed(seed)
    hw.manual_seed(seed)
    if "numpy" in sys.modules:
        import numpy as np

        np.random.seed(np.random.SeedSequence([base_seed, worker]).generate_state(4))


def run_worker(plan: WorkerPlan, connection: Connection) -> None:
    """The main function of the process, which starts with SIGINT blocked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the loader, which ends its workers
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    hw.set_num_threads(1)
    global _info
    seed = plan.base_seed + plan.id
    _seed(seed, plan.base_seed, plan.id)
    _info = WorkerInfo(plan.id, plan.num_workers, seed, plan.dataset)
    requests = _Requests(connection)
    try:
        failed = None
        if plan.init is not None:
            try:
                plan.init(plan.id)
            except Exception as error:
                failed = WorkerError.of(error, plan.id)
        _answer(plan, transport.Sender(connection), requests, failed)
    except (BrokenPipeError, ConnectionResetError):  # the loader has gone
        pass


def _answer(plan: WorkerPlan, sender: transport.Sender, requests: _Requests, failed: WorkerError | None) -> None:
    fetcher: Any = None
    while not requests.closed and (request := requests.queue.get()) is not None:
        kind, epoch, released, *task = request
        sender.release(released)
        if kind == EPOCH:
            fetcher = None
            continue
        if epoch != requests.epoch:
            continue
        number, index = task

        def wanted(epoch: int = epoch) -> bool:
            return epoch == requests.epoch and not requests.closed

        try:
            if failed is not None:
                answer: tuple[str, Any] = (ERROR, failed)
            else:
                if fetcher is None:
                    fetcher = make_fetcher(plan.dataset, plan.batched, plan.collate, plan.drop_last)
                fetcher.wanted = wanted
                answer = (DATA, fetcher.fetch(index))
        except Exhausted:
            answer = (END, None)
        except Interrupted:
            continue
        except Exception as error:
            answer = (ERROR, WorkerError.of(error, plan.id))
        _send(plan, sender, (epoch, number, *answer))


def _send(plan: WorkerPlan, sender: transport.Sender, message: tuple[int, int, str, Any]) -> None:
    """A batch that cannot be pickled is an error like any other."""
    try:
        sender.send(message)
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:
        epoch, number, *_ = message
        sender.send((epoch, number, ERROR, WorkerError.of(error, plan.id)))
