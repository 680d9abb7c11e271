"""The world of this process: one rank of a launcher's, or a world of one. Starting it, ending it, and the first error of all ranks."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
from datetime import timedelta
from typing import Any

from headwater import _C

DEFAULT_TIMEOUT = 1800.0
LOCAL_RANK_VARIABLES = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


class _World:
    """What init() found. One a process, as MPI is."""

    comm: Any = None
    local_rank: int = 0
    local_size: int = 1
    timeout: float = DEFAULT_TIMEOUT
    over_mpi: bool = False
    failed: bool = False


_world = _World()
_lock = threading.Lock()


def plugin_path() -> str:
    """Where the library with the MPI calls lies; the file need not exist."""
    folder = os.environ.get("HEADWATER_MPI_LIBRARY")
    return folder or os.path.join(os.path.dirname(os.path.abspath(_C.__file__)), "libheadwater_mpi.so")


def is_available() -> bool:
    """Whether several processes can talk to each other here: the library with the MPI calls was built."""
    return os.path.exists(plugin_path())


def is_initialized() -> bool:
    """Whether init() has run, by itself or by the first call that needed it."""
    return _world.comm is not None


def init(timeout: float | timedelta | None = None) -> None:
    """Joins the world. Every other function does it by itself; call it first for another `timeout` (seconds that a rank waits for the
    others; default 1800). Without a launcher: a world of one rank, which needs no MPI. On the main thread.

    Raises RuntimeError under a launcher when MPI cannot be used, with what to install.
    """
    with _lock:
        if timeout is not None:
            _world.timeout = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
        if _world.comm is not None:
            return
        if _C.launched_size() == 0:
            _world.comm = _C.inproc_comms(1)[0]
            return
        _world.comm, _world.local_rank, _world.local_size = _C.open_mpi(plugin_path())
        _world.over_mpi = True
        _listen_for_errors()
        atexit.register(_finish)


def init_process_group(backend: str | None = None, init_method: str | None = None, timeout: float | timedelta | None = None,
                       world_size: int = -1, rank: int = -1, **_: Any) -> None:  # fmt: skip
    """torch's name for init(). The launcher decides rank and world size; ones that contradict it are refused."""
    if backend not in (None, "mpi", "cpu:mpi", "gloo"):
        raise ValueError(f"there is no backend {backend!r} here: 'mpi' (or None)")
    init(timeout)
    for name, given, real in (("world_size", world_size, get_world_size()), ("rank", rank, get_rank())):
        if given not in (-1, real):
            raise ValueError(f"{name}={given}, but the launcher says {real}. Leave it out, or start with: headwater launch -n N script.py")


def comm() -> Any:
    """The _C.Comm of this process."""
    if _world.comm is None:
        init()
    return _world.comm


def timeout() -> float:
    return _world.timeout


def get_rank(group: Any = None) -> int:
    """The number of this process, 0 to get_world_size() - 1; within `group` its place there, -1 if it is no member."""
    rank: int = comm().rank
    if group is None or not group.ranks:
        return rank
    return group.ranks.index(rank) if rank in group.ranks else -1


def get_world_size(group: Any = None) -> int:
    """How many ranks there are; within `group` its members, -1 if this process is none of them."""
    if group is None or not group.ranks:
        return int(comm().size)
    return len(group.ranks) if comm().rank in group.ranks else -1


def get_local_rank() -> int:
    """The number of this process among those of the same host."""
    comm()
    return _world.local_rank


def abort(cause: str) -> None:
    """Ends whatever any rank waits for, now and later, with RuntimeError(cause). The first cause of all ranks stays."""
    comm().abort(cause)


def recover(timeout: float | timedelta = 60.0) -> None:
    """Begins anew after an error that ended what ranks waited for: every rank that goes on calls it, where it caught the error.

    What was under way is given up. Afterwards all calls work as before; tensors and modules are as they were when the error came, and
    the caller must see that all ranks go on from the same point, usually the step before. Each rank waits `timeout` seconds for the
    others.

    Raises RuntimeError when a rank does not come, or is lost: then only a restart helps.

    >>> hw.distributed.recover()
    """
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
    comm().renew(seconds)
    _world.failed = False


def destroy_process_group(group: Any = None) -> None:
    """Leaves the world, for good when it was MPI's (MPI starts once in a process)."""
    if group is None:
        _finish()


def _finish() -> None:
    """At the end of the program, or earlier. After an error MPI is not ended in order: the others may not come."""
    if _world.comm is None:
        return
    over_mpi, _world.over_mpi = _world.over_mpi, False
    failed = _world.failed or bool(_world.comm.status())
    _world.comm = None
    if over_mpi and not failed:
        _C.finish_mpi()


def words_of(error: BaseException, rank: int) -> str:
    """What an exception of this rank tells the others; the cause of another rank as it is, for it has its place already."""
    words = str(error)
    if words.startswith("rank "):
        return words
    where = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" ({where[0].filename}:{where[0].lineno})" if where else ""
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", ()))
    return f"rank {rank}: {type(error).__name__}: {words}{place}{notes}"


def tell_others(error: BaseException | None) -> None:
    """Ends what the other ranks wait for, with the words of an exception of this one."""
    if error is not None and _world.comm is not None and _world.comm.size > 1:
        _world.comm.abort(words_of(error, _world.comm.rank))


def _listen_for_errors() -> None:
    """An exception that ends this rank ends the others, with its words."""
    previous, previous_thread = sys.excepthook, threading.excepthook

    def tell(kind: type[BaseException], value: BaseException | None, trace: Any) -> None:
        if not _world.failed:
            _world.failed = True
            tell_others(value or kind())

    def on_exception(kind: type[BaseException], value: BaseException, trace: Any) -> None:
        previous(kind, value, trace)
        sys.stderr.flush()
        tell(kind, value, trace)

    def on_thread_exception(arguments: Any) -> None:
        previous_thread(arguments)
        if arguments.exc_type is not SystemExit:
            tell(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    sys.excepthook, threading.excepthook = on_exception, on_thread_exception
