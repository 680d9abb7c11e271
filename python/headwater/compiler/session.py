"""One capture: runs the user's function on abstract tensors and collects graph, guards and effects."""
from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

import headwater as hw

from .. import _C, recording
from .guards import Guards
from .origins import Origins


class CompileError(RuntimeError):
    """A function cannot be captured. The message names the user's line and the way out."""


class Session:
    """A recording.Recorder for the time of one call."""

    def __init__(self, name: str) -> None:
        self.native = _C.Capture(name)
        self.around: list[Any] = []  # the captures that `native` is nested in, for a branch or a loop
        self.guards = Guards()
        hooks = sys.modules.get("headwater.nn.modules.hooks")
        if hooks is not None:  # those of all modules, whichever are called
            for table in vars(hooks.every_module).values():
                self.guards.contents(table)
        # Called in order before each run: what gives host numbers, and what takes them back if the run fails; None where an effect
        # gives none.
        self.host: list[tuple[Callable[[], Any], Callable[[], Any] | None]] = []
        self._undo: list[Callable[[], Any]] = []
        self._on_failure: list[Callable[[], Any]] = []
        self._undecided: tuple[str, BaseException] | None = None
        self._active = False
        self._eager = False  # inside of eagerly()

    # ------------------------------------------------------------------ recording.Recorder
    def step(
        self, op: str, lists: tuple[Any, ...], options: Callable[[], tuple[Any, ...]], count: Callable[[int], None]
    ) -> None:
        values = options()
        first = self.native.add_host(len(values))
        self.native.bind_next_to_host(first)
        self._undo.append(lambda: count(-1))
        try:
            _C.optimizer_step(op, *lists, *values)
        finally:
            self.native.bind_next_to_host(-1)

        def numbers() -> tuple[Any, ...]:
            count(1)
            return options()

        self.host.append((numbers, lambda: count(-1)))

    def effect(self, call: Callable[[], Any], undo: Callable[[], Any] | None = None) -> None:
        if undo is not None:
            self._undo.append(undo)
        self.host.append((call, None))

    def condition(self, check: Callable[[], str]) -> None:
        self.guards.condition(check)

    def holds(self, place: dict[Any, Any], key: Any, value: Any) -> None:
        self.guards.holds(place, key, value)

    def on_failure(self, undo: Callable[[], Any]) -> None:
        self._on_failure.append(undo)

    @contextlib.contextmanager
    def undecided(self, what: str) -> Iterator[None]:
        """Around functions of which only the data says whether they run. An error inside ends the capture even if the user's code
        catches it: a run could not tell whether it would have been raised."""
        try:
            yield
        except BaseException as error:
            self._undecided = self._undecided or (what, error)
            raise

    def check_decided(self) -> None:
        if self._undecided is None:
            return
        what, error = self._undecided
        raise CompileError(
            f"the compiled function catches an error that was raised inside of {what}: {type(error).__name__}: {error}. Whether it is "
            f"raised depends on data, so a program cannot do the same. Catch it inside of the function given to {what}, or avoid it"
        ) from error

    @contextlib.contextmanager
    def eagerly(self) -> Iterator[None]:
        if self._eager:
            yield
            return
        captures = [*self.around, self.native]
        for capture in reversed(captures):
            capture.pause()
        self._eager = True
        try:
            yield
        finally:
            self._eager = False
            for capture in captures:
                capture.resume()

    # ------------------------------------------------------------------ capturing
    @contextlib.contextmanager
    def capturing(self, symbols: Any = None) -> Iterator[None]:
        """The thread's operations are recorded inside; sizes are what `symbols` makes of them."""
        origins = Origins()
        profile = sys.getprofile()
        _C.set_origin(origins.text)
        recording.set_current(self)
        if symbols is not None:
            _C.set_size_hook(symbols.wrap)
        self.native.enter()
        modes = _modes()
        sys.setprofile(self.guards.profile)
        try:
            yield
        finally:
            sys.setprofile(profile)
            recording.set_current(None)
            _C.set_size_hook(None)
            self.native.leave()
            changed = _restore(modes)
            for undo in reversed(self._undo):
                undo()
            self._undo.clear()
        if changed:
            raise CompileError(f"the compiled function changes {changed}, which a program does not; change it outside")
        if reason := self.guards.changed():
            raise CompileError(
                f"the compiled function changes what its Python code reads: {reason}. A program would not do that in each run. "
                "Do it outside, or keep the value in a tensor that is written in place"
            )

    @contextlib.contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """If what is inside fails, the state of the user's objects is as before."""
        try:
            yield
        except BaseException:
            for undo in reversed(self._on_failure):
                undo()
            self.guards.restore()
            raise

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


def _modes() -> dict[str, Any]:
    return {
        "the grad mode": _C.is_grad_enabled(),
        "inference mode": _C.is_inference_mode(),
        "autocast": _C.get_autocast(),
        "the default dtype": hw.get_default_dtype(),
    }


def _restore(before: dict[str, Any]) -> str:
    """Sets the modes back; what differed, in words."""
    now = _modes()
    changed = [name for name in before if now[name] != before[name]]
    if changed:
        grad, inference, autocast, dtype = before.values()
        _C.set_grad_enabled(grad)
        _C.set_inference_mode(inference)
        _C.set_autocast(*autocast)
        hw.set_default_dtype(dtype)
    return ", ".join(changed)
