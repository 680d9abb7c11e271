"""What Python code with side effects (optimisers, schedules) tells a capture: nothing, unless hw.compile is capturing."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol


class Recorder(Protocol):
    """A capture, as seen by code that changes Python state."""

    def step(
        self, op: str, lists: tuple[Any, ...], options: Callable[[], tuple[Any, ...]], count: Callable[[int], None]
    ) -> None:
        """An optimiser's step: `options` gives the op's attributes of each run, `count(1)` counts the step, `count(-1)` back."""

    def effect(self, call: Callable[[], Any]) -> None:
        """`call` runs in each run of the program, in this place among the effects."""

    def on_failure(self, undo: Callable[[], Any]) -> None:
        """`undo` runs if the capture fails."""

    def eagerly(self) -> contextlib.AbstractContextManager[None]:
        """Operations inside run at once and are no part of the program."""


current: Recorder | None = None


@contextlib.contextmanager
def eagerly() -> Iterator[None]:
    """A scope whose operations run at once even while capturing: state that is made on the first call."""
    if current is None:
        yield
        return
    with current.eagerly():
        yield
