"""What Python code with side effects (optimisers, schedules) tells a capture: nothing, unless hw.compile is capturing."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol


class Recorder(Protocol):
    """A capture, as seen by code that changes Python state."""

    def step(
        self, op: str, lists: tuple[Any, ...], options: Callable[[], tuple[Any, ...]], count: Callable[[int], None]
    ) -> None:
        """An optimiser's step: `options` gives the op's attributes of each run, `count(1)` counts the step, `count(-1)` back."""

    def effect(self, call: Callable[[], Any], undo: Callable[[], Any] | None = None) -> None:
        """`call` runs in each run of the program, in this place among the effects. `undo`: takes back what the caller did for the
        time of the capture."""

    def condition(self, check: Callable[[], str]) -> None:
        """The program fits as long as `check` returns no reason against it."""

    def holds(self, place: dict[Any, Any], key: Any, value: Any) -> None:
        """The program fits as long as `place[key]` is `value`."""

    def on_failure(self, undo: Callable[[], Any]) -> None:
        """`undo` runs if the capture fails."""

    def eagerly(self) -> contextlib.AbstractContextManager[None]:
        """Operations inside run at once and are no part of the program."""


if TYPE_CHECKING:
    current: Recorder | None


class _Thread(threading.local):
    recorder: Recorder | None = None


_thread = _Thread()


def __getattr__(name: str) -> Any:
    """`recording.current`: the capture of this thread, or None."""
    if name == "current":
        return _thread.recorder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def set_current(recorder: Recorder | None) -> None:
    _thread.recorder = recorder


@contextlib.contextmanager
def eagerly() -> Iterator[None]:
    """A scope whose operations run at once even while capturing: state that is made on the first call."""
    recorder = _thread.recorder
    if recorder is None:
        yield
        return
    with recorder.eagerly():
        yield
