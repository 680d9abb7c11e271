"""What `headwater launch` runs in each rank: the user's script, with its end noted for the launcher."""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
import time
import traceback
from typing import Any


def _end_with_parent() -> None:
    """When mpirun is killed, this rank is too (Linux; elsewhere mpirun's own means must do)."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    except (AttributeError, OSError):
        pass


def _note(error: BaseException) -> None:
    folder = os.environ.get("HEADWATER_RUN_FOLDER")
    if not folder:
        return
    from headwater import distributed

    frames = traceback.extract_tb(error.__traceback__)
    user = [f for f in frames if os.sep + "headwater" + os.sep not in f.filename and "runpy" not in f.filename]
    place = f"\n  at {user[-1].filename}:{user[-1].lineno}: {user[-1].line}" if user else ""
    name = os.path.join(folder, f"cause-{time.time_ns()}-{distributed.get_rank()}")
    words = "".join(traceback.format_exception_only(type(error), error)).strip()
    with open(name + ".new", "w") as file:
        file.write(words + place)
    os.rename(name + ".new", name)


def _of_the_script(error: BaseException) -> Any:
    """The traceback without our own frames and runpy's."""
    trace = error.__traceback__
    while trace and trace.tb_next and ("runpy" in trace.tb_frame.f_code.co_filename or trace.tb_frame.f_code.co_filename == __file__):
        trace = trace.tb_next
    return trace


def main() -> None:
    _end_with_parent()
    from headwater import distributed

    distributed.init()
    arguments = sys.argv[1:]
    is_module = arguments[0] == "-m"
    target, *rest = arguments[1:] if is_module else arguments
    sys.argv = [target, *rest]
    try:
        if is_module:
            sys.path[0] = os.getcwd()
            runpy.run_module(target, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(target))
            runpy.run_path(target, run_name="__main__")
    except SystemExit:
        raise
    except KeyboardInterrupt:
        os._exit(130)
    except BaseException as error:
        _note(error)
        sys.excepthook(type(error), error, _of_the_script(error))  # prints it and tells the other ranks
        sys.exit(1)


if __name__ == "__main__":
    main()
