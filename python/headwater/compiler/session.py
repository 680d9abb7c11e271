"""One capture: runs the user's function on abstract tensors and collects graph, guards and effects."""
from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .. import _C, recording
from .guards import Guards
from .origins import Origins


class CompileError(RuntimeError):
    """A function cannot be captured. The message names the user's line and the way out."""


class Session:
    """A recording.Recorder for the time of one call."""

    def __init__(self, name: str) -> None:
        self.native = _C.Capture(name)
        self.guards = Guards()
        self.host: list[Callable[[], tuple[Any, ...]]] = []  # called in order before each run; their results are the host numbers
        self._undo: list[Callable[[], Any]] = []
        self._on_failure: list[Callable[[], Any]] = []
        self._active = False

    # ------------------------------------------------------------------ recording.Recorder
    def step(
        self, op: str, lists: tuple[Any, ...], options: Callable[[], tuple[Any, ...]], count: Callable[[int], None]
    ) -> None:
        values = options()
        first = self.native.add_host(len(values))
        self.native.bind_next_to_host(first)
        try:
            _C.optimizer_step(op, *lists, *values)
        finally:
            self.native.bind_next_to_host(-1)
        self._undo.append(lambda: count(-1))

        def numbers() -> tuple[Any, ...]:
            count(1)
            return options()

        self.host.append(numbers)

    def effect(self, call: Callable[[], Any]) -> None:
        def run() -> tuple[Any, ...]:
            call()
            return ()

        self.host.append(run)

    def on_failure(self, undo: Callable[[], Any]) -> None:
        self._on_failure.append(undo)

    @contextlib.contextmanager
    def eagerly(self) -> Iterator[None]:
        self.native.pause()
        try:
            yield
        finally:
            self.native.resume()

    # ------------------------------------------------------------------ capturing
    @contextlib.contextmanager
    def capturing(self, symbols: Any = None) -> Iterator[None]:
        """The thread's operations are recorded inside; sizes are what `symbols` makes of them."""
        origins = Origins()
        profile = sys.getprofile()
        _C.set_origin(origins.text)
        recording.current = self
        if symbols is not None:
            _C.set_size_hook(symbols.wrap)
        self.native.enter()
        sys.setprofile(self.guards.profile)
        try:
            yield
        except BaseException:
            self._leave(profile)
            for undo in reversed(self._on_failure):
                undo()
            raise
        self._leave(profile)

    def _leave(self, profile: Any) -> None:
        sys.setprofile(profile)
        recording.current = None
        _C.set_size_hook(None)
        self.native.leave()
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()

    def check_nothing_leaked(self) -> None:
        """Abstract tensors must not outlive the capture: they would be stored somewhere in place of values."""
        if not self.native.leaks():
            return
        gc.collect()
        leaks = self.native.leaks()
        if leaks:
            raise CompileError(
                f"a tensor computed inside the compiled function is still held outside: {leaks[0]}. Storing results in "
                "attributes, lists or globals is not captured; return them, or write into an existing tensor with copy_()"
            )
