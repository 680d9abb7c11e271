"""Scopes and decorators that switch recording on and off."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _C

F = TypeVar("F", bound=Callable[..., Any])


class _Mode:
    """A scope that also decorates functions and generator functions."""

    def _fresh(self) -> _Mode:
        return self.__class__()

    def __enter__(self) -> None:
        raise NotImplementedError("a mode defines __enter__")

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError("a mode defines __exit__")

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args: Any, **kwargs: Any) -> Any:
                steps = function(*args, **kwargs)
                sent = None
                while True:
                    with self._fresh():
                        try:
                            value = steps.send(sent)
                        except StopIteration as stop:
                            return stop.value
                    sent = yield value

            return generate  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._fresh():
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = object.__new__(cls)
        if len(args) == 1 and not kwargs and inspect.isroutine(args[0]):  # @no_grad without parentheses
            self.__init__()  # type: ignore[misc]
            return self(args[0])
        return self


class no_grad(_Mode):  # noqa: N801  torch's name
    """Nothing is recorded inside: results do not require gradients."""

    def __enter__(self) -> None:
        self._before = _C.set_grad_enabled(False)

    def __exit__(self, *exc: object) -> None:
        _C.set_grad_enabled(self._before)


class enable_grad(_Mode):  # noqa: N801
    """Recording is on inside, also within no_grad()."""

    def __enter__(self) -> None:
        self._before = _C.set_grad_enabled(True)

    def __exit__(self, *exc: object) -> None:
        _C.set_grad_enabled(self._before)


class set_grad_enabled(_Mode):  # noqa: N801
    """Switches recording on or off, at once and for a scope."""

    def __init__(self, mode: bool):
        self.mode = mode
        self._before = _C.set_grad_enabled(mode)

    def _fresh(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __call__(self, function: F) -> F:
        _C.set_grad_enabled(self._before)
        return super().__call__(function)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _C.set_grad_enabled(self._before)


class inference_mode(_Mode):  # noqa: N801
    """As no_grad, and results can never enter a graph: nothing is tracked for them."""

    def __init__(self, mode: bool = True):
        self.mode = mode

    def _fresh(self) -> inference_mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self._before = (_C.set_inference_mode(self.mode), _C.set_grad_enabled(not self.mode))

    def __exit__(self, *exc: object) -> None:
        _C.set_inference_mode(self._before[0])
        _C.set_grad_enabled(self._before[1])


def is_grad_enabled() -> bool:
    """Whether operations are recorded."""
    return _C.is_grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Whether inference_mode() is on."""
    return _C.is_inference_mode()
