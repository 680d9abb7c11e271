"""The worker processes of one loader, seen from the loader."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
import weakref
from dataclasses import replace
from multiprocessing.connection import wait
from typing import Any

from . import transport
from .worker import EPOCH, TASK, WorkerPlan, run_worker

GRACE = 5.0  # seconds that workers get to finish the sample they are at

_pools: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


def _forget() -> None:
    """In a forked process, a worker among them: it closes its copies of the loaders' ends.

    A worker that held one would never see the end of a message that its loader died in the middle of.
    """
    for pool in _pools:
        for connection in pool.connections:
            connection.close()


os.register_at_fork(after_in_child=_forget)


class WorkerPool:
    """Starts the workers, hands out tasks, waits for answers, notices deaths, and ends them all."""

    def __init__(self, context: Any, plan: WorkerPlan):
        self.context = context
        self.processes: list[Any] = []
        self.connections: list[Any] = []
        self.receivers: list[transport.Receiver] = []
        self._closer = weakref.finalize(self, _close, self.processes, self.connections, os.getpid())
        _pools.add(self)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited until the worker ignores it
        try:
            for number in range(plan.num_workers):
                self._start(replace(plan, id=number))
        except BaseException:
            self.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _start(self, plan: WorkerPlan) -> None:
        ours, theirs = self.context.Pipe(duplex=True)
        self.connections.append(ours)
        self.receivers.append(transport.Receiver(ours))
        process = self.context.Process(
            target=run_worker, args=(plan, theirs), name=f"headwater-loader-{plan.id}", daemon=True
        )
        try:
            process.start()
        finally:
            theirs.close()
        self.processes.append(process)

    def begin(self, epoch: int) -> None:
        """Tasks of earlier epochs are forgotten, streams start anew."""
        for number in range(len(self.processes)):
            self._send(number, (EPOCH, epoch, self.receivers[number].take_released()))

    def give(self, worker: int, epoch: int, task: int, index: Any) -> None:
        self._send(worker, (TASK, epoch, self.receivers[worker].take_released(), task, index))

    def _send(self, worker: int, request: tuple[Any, ...]) -> None:
        try:
            transport.send(self.connections[worker], request)
        except OSError:
            raise self._death(worker) from None

    def answers(self, timeout: float | None) -> list[Any]:
        """Waits for at least one answer; empty after `timeout` seconds."""
        numbers = {connection: i for i, connection in enumerate(self.connections)}
        found = []
        ready: list[Any] = wait(self.connections, timeout)
        for connection in ready:
            try:
                found.append(self.receivers[numbers[connection]].receive())
            except (EOFError, OSError):
                raise self._death(numbers[connection]) from None
        return found

    def _death(self, worker: int) -> RuntimeError:
        """The error for a worker that is gone; the others are ended."""
        process = self.processes[worker]
        process.join(GRACE)
        code, pid = process.exitcode, process.pid
        how = f"with exit code {code}"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                how = f"by {signal.Signals(-code).name} (exit code {code})"
        self.close(grace=0.2)
        return RuntimeError(
            f"worker {worker} (process {pid}) of a DataLoader ended {how} before its batch was done. "
            "SIGKILL is often the system running out of memory; num_workers=0 shows errors of the data set directly."
        )

    def close(self, grace: float = GRACE) -> None:
        if self._closer.detach():
            _close(self.processes, self.connections, os.getpid(), grace)


def _close(processes: list[Any], connections: list[Any], owner: int, grace: float = GRACE) -> None:
    """Ends the workers: closing their connections asks them to, signals make them."""
    if os.getpid() != owner:  # a copy of the pool in a forked process
        return
    for connection in connections:
        # Not close() alone: processes that were forked by other than Python's means hold copies of the socket.
        with contextlib.suppress(OSError), socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.shutdown(socket.SHUT_RDWR)
        connection.close()
    deadline = time.monotonic() + grace
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    for end in ("terminate", "kill"):
        for process in processes:
            if process.is_alive():
                getattr(process, end)()
                process.join(1.0)
    for process in processes:
        with contextlib.suppress(ValueError):
            process.close()
    processes.clear()
    connections.clear()
