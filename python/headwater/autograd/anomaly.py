"""Anomaly mode: stops at the first NaN and names the operation, the module and the line that made it."""
from __future__ import annotations

import os
import sys

from .. import _C

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _origin() -> str:
    """The innermost line outside this package, and the path of modules being called."""
    frame = sys._getframe(1)
    modules: list[str] = []
    place = ""
    while frame is not None:
        file = frame.f_code.co_filename
        owner = frame.f_locals.get("self")
        if owner is not None and hasattr(owner, "_modules") and frame.f_code.co_name == "forward":
            modules.append(type(owner).__name__)
        if not place and not os.path.abspath(file).startswith(_HERE):
            place = f"{file}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back  # type: ignore[assignment]
    path = " > ".join(reversed(modules))
    return f"{path} ({place})" if path else place


class set_detect_anomaly:  # noqa: N801  torch's name
    """Switches anomaly mode on or off, at once and for a scope. Every result is then searched for NaN: slow, for debugging."""

    def __init__(self, mode: bool, check_nan: bool = True):
        _C.set_origin(_origin)
        self._before = _C.set_anomaly(mode and check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _C.set_anomaly(self._before)


class detect_anomaly(set_detect_anomaly):  # noqa: N801
    """A scope in which the first NaN of a forward or backward pass is an error that names its layer."""

    def __init__(self, check_nan: bool = True):
        super().__init__(True, check_nan)
