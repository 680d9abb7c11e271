"""Which of several ways compiled functions take to the same result: by rule, by formula, or by measurement on this machine.

A convolution can be direct or by winograd, a matrix product can be ours or a library's; which is faster depends on sizes, processor and
threads. The mode is that at the time when a function is compiled for its arguments; `HEADWATER_TUNING` sets the one at the start.

- `"off"`: the plain way always: direct convolutions, the first kernel that serves.
- `"heuristic"` (at the start): formulas choose between direct convolution and winograd.
- `"measure"`: the ways are timed when a function is compiled, some milliseconds each, and the fastest is taken. Choices are kept in the
  cache folder, for this build of Headwater, processor, instruction set and number of threads, so that the next process measures nothing.

Results of different ways differ by rounding; `docs/design/compiler.md` has the bounds.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from . import _C

Mode = Literal["off", "heuristic", "measure"]


@dataclass(frozen=True)
class Choice:
    """One choice that was made by measurement.

    Args:
        problem: the calls among which was chosen, with shapes and attributes.
        ways: their names.
        seconds: of one run of each.
        chosen: the name of the one that was taken.
        from_disk: whether an earlier process measured it.
    """

    problem: str
    ways: list[str]
    seconds: list[float]
    chosen: str
    from_disk: bool


def mode() -> Mode:
    """The mode in which functions are compiled now.

    >>> hw.tuning.mode()
    'heuristic'
    """
    return _C.tuning_mode()  # type: ignore[no-any-return]


def set_mode(mode: Mode) -> None:
    """Sets it for all threads. Functions that are compiled already stay as they are. Raises ValueError for another word."""
    _C.set_tuning_mode(mode)


@contextmanager
def use(mode: Mode) -> Iterator[None]:
    """A block in which functions are compiled in another mode.

    >>> with hw.tuning.use("off"):
    ...     y = hw.compile(lambda x: x.relu())(hw.ones(2))
    """
    before = _C.tuning_mode()
    set_mode(mode)
    try:
        yield
    finally:
        _C.set_tuning_mode(before)


def choices() -> list[Choice]:
    """What was chosen by measurement in this process, or taken over from an earlier one."""
    return [Choice(**c) for c in _C.tuning_choices()]


def folder() -> str:
    """Where choices are kept; empty: nowhere (`HEADWATER_CACHE_DIR=off`)."""
    return _C.tuning_folder()  # type: ignore[no-any-return]


def clear() -> None:
    """Forgets all choices, also those on disk."""
    _C.clear_tuning()
