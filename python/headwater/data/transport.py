"""How objects travel between worker processes and the loader: pickled, with large arrays in shared memory.

The bytes of tensors and NumPy arrays go, all of a message in one segment, into an anonymous memory file (memfd) whose
descriptor is sent along once. It has no name: nothing is left behind however a process ends. The receiver maps it, and
the arrays made of it use that memory without a copy. When the last of them is gone, the segment goes back to the worker
and is used again: new pages cost far more than copying into old ones. Where there is no memfd, and for little data, the
bytes follow the message through the socket.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
from collections import deque
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler, recv_handle, send_handle
from typing import Any

import numpy as np

IN_SHARED_MEMORY = 1 << 15  # bytes; less goes through the socket
ALIGNMENT = 64
GRANULE = 1 << 16  # sizes of segments are multiples of this
MOST_FREE = 8  # segments that a worker keeps for later
HAS_MEMFD = hasattr(os, "memfd_create")


def _padded(size: int, unit: int = ALIGNMENT) -> int:
    return -(-size // unit) * unit


class Sender:
    """The worker's end. Segments are numbered; `free` are those that the loader has given back."""

    def __init__(self, connection: Connection):
        self.connection = connection
        self.segments: dict[int, mmap.mmap] = {}
        self.free: list[int] = []
        self.count = 0
        self.dropped: list[int] = []

    def release(self, numbers: list[int]) -> None:
        self.free += numbers
        while len(self.free) > MOST_FREE:
            number = self.free.pop(0)
            self.segments.pop(number).close()
            self.dropped.append(number)

    def _segment(self, size: int) -> tuple[int, int | None]:
        """A free segment that is large enough: its number, and the descriptor if it is new."""
        fitting = [number for number in self.free if len(self.segments[number]) >= size]
        if fitting:
            number = min(fitting, key=lambda n: len(self.segments[n]))
            self.free.remove(number)
            return number, None
        fd = os.memfd_create("headwater", os.MFD_CLOEXEC)
        try:
            size = _padded(size, GRANULE)
            os.truncate(fd, size)
            self.segments[self.count] = mmap.mmap(fd, size)
        except BaseException:
            os.close(fd)
            raise
        self.count += 1
        return self.count - 1, fd

    def send(self, message: Any) -> None:
        """Sends any object that can be pickled."""
        data, parts = _pickled(message)
        sizes = [part.nbytes for part in parts]
        if not HAS_MEMFD or sum(sizes) < IN_SHARED_MEMORY:
            _send_plain(self.connection, data, parts)
            return
        number, fd = self._segment(sum(map(_padded, sizes)))
        memory, at = memoryview(self.segments[number]), 0
        for part in parts:
            memory[at : at + part.nbytes] = part
            at += _padded(part.nbytes)
        memory.release()
        dropped, self.dropped = self.dropped, []
        self.connection.send_bytes(pickle.dumps(((number, fd is not None), sizes, dropped)))
        self.connection.send_bytes(data)
        if fd is not None:
            try:
                send_handle(self.connection, fd, None)
            finally:
                os.close(fd)


class _Lease(np.ndarray):
    """The memory of a segment for one message; its end is the end of all that was made of it."""

    given_back: Any = None

    def __del__(self) -> None:
        if self.given_back is not None:
            self.given_back()


class Receiver:
    """The loader's end of one worker's connection. `released` are segments that nobody uses any more."""

    def __init__(self, connection: Connection):
        self.connection = connection
        self.segments: dict[int, mmap.mmap] = {}
        self.released: deque[int] = deque()

    def take_released(self) -> list[int]:
        numbers = []
        while self.released:  # arrays may end in another thread meanwhile
            numbers.append(self.released.popleft())
        return numbers

    def receive(self) -> Any:
        """The next object; EOFError when the other side is gone."""
        shared, sizes, dropped = pickle.loads(self.connection.recv_bytes())
        data = self.connection.recv_bytes()
        if shared is None:
            return pickle.loads(data, buffers=_receive_parts(self.connection, sizes))
        for number in dropped:
            del self.segments[number]
        number, is_new = shared
        if is_new:
            fd = recv_handle(self.connection)
            try:
                self.segments[number] = mmap.mmap(fd, 0)
            finally:
                os.close(fd)
        lease: Any = np.frombuffer(self.segments[number], np.uint8).view(_Lease)
        lease.given_back = lambda released=self.released: released.append(number)
        memory = memoryview(lease)
        parts, at = [], 0
        for size in sizes:
            parts.append(memory[at : at + size])
            at += _padded(size)
        return pickle.loads(data, buffers=parts)


def _pickled(message: Any) -> tuple[memoryview, list[memoryview]]:
    """The pickle, and the large buffers that it leaves out."""
    buffers: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    ForkingPickler(file, 5, True, buffers.append).dump(message)
    return file.getbuffer(), [buffer.raw() for buffer in buffers]


def _send_plain(connection: Connection, data: memoryview, parts: list[memoryview]) -> None:
    connection.send_bytes(pickle.dumps((None, [part.nbytes for part in parts], [])))
    connection.send_bytes(data)
    for part in parts:
        connection.send_bytes(part)


def _receive_parts(connection: Connection, sizes: list[int]) -> list[bytearray]:
    return [bytearray(connection.recv_bytes()) for _ in sizes]


def send(connection: Connection, message: Any) -> None:
    """Sends an object through the socket alone."""
    _send_plain(connection, *_pickled(message))


def receive(connection: Connection) -> Any:
    """The next object sent by `send`."""
    _, sizes, _ = pickle.loads(connection.recv_bytes())
    return pickle.loads(connection.recv_bytes(), buffers=_receive_parts(connection, sizes))
