"""How objects travel between worker processes and the loader: pickled, with large arrays in shared memory.

The bytes of tensors and NumPy arrays go, all of a message in one segment, into an anonymous memory file (memfd) whose
descriptor is sent along. It has no name: nothing is left behind however a process ends. The receiver maps it, and the
arrays made of it use that memory without a copy. Where there is no memfd, and for little data, the bytes follow the
message through the socket.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler, recv_handle, send_handle
from typing import Any

IN_SHARED_MEMORY = 1 << 16  # bytes; below, a copy through the socket is quicker than mapping pages
ALIGNMENT = 64
HAS_MEMFD = hasattr(os, "memfd_create")


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _segment(parts: list[memoryview]) -> int:
    """A memory file with all parts one after the other; the descriptor."""
    fd = os.memfd_create("headwater", os.MFD_CLOEXEC)
    try:
        total = sum(_padded(part.nbytes) for part in parts)
        os.truncate(fd, total)
        with mmap.mmap(fd, total) as memory:
            at = 0
            for part in parts:
                memory[at : at + part.nbytes] = part
                at += _padded(part.nbytes)
    except BaseException:
        os.close(fd)
        raise
    return fd


def send(connection: Connection, message: Any) -> None:
    """Sends any object that can be pickled."""
    buffers: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    ForkingPickler(file, 5, True, buffers.append).dump(message)
    parts = [buffer.raw() for buffer in buffers]
    sizes = [part.nbytes for part in parts]
    shared = HAS_MEMFD and sum(sizes) >= IN_SHARED_MEMORY
    connection.send_bytes(pickle.dumps((shared, sizes)))
    connection.send_bytes(file.getbuffer())
    if not shared:
        for part in parts:
            connection.send_bytes(part)
        return
    fd = _segment(parts)
    try:
        send_handle(connection, fd, None)
    finally:
        os.close(fd)


def receive(connection: Connection) -> Any:
    """The next object; EOFError when the other side is gone."""
    shared, sizes = pickle.loads(connection.recv_bytes())
    data = connection.recv_bytes()
    if not shared:
        return pickle.loads(data, buffers=[bytearray(connection.recv_bytes()) for _ in sizes])
    fd = recv_handle(connection)
    try:
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        memory = memoryview(mmap.mmap(fd, sum(map(_padded, sizes)), flags))
    finally:
        os.close(fd)
    parts, at = [], 0
    for size in sizes:
        parts.append(memory[at : at + size])
        at += _padded(size)
    return pickle.loads(data, buffers=parts)
