"""Regions in which operators choose their own precision."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import headwater as hw

F = TypeVar("F", bound=Callable[..., Any])


class autocast:  # noqa: N801  torch's name
    """As a context or a decorator: matrix products and convolutions take bfloat16 (or float16) inputs, losses and norms
    float32, and ops of several inputs the widest of them. Each op's declaration says which: `python -m headwater.ops mm`.

    Only the forward pass and the loss belong inside; the backward pass uses the same precisions by itself. Regions can
    be nested, also with `enabled=False`. `cache_enabled` is accepted: converted weights are not kept.

    >>> with hw.autocast("cpu"):
    ...     print((hw.ones(2, 2) @ hw.ones(2, 2)).dtype)
    headwater.bfloat16
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not is_autocast_available(device_type):
            raise RuntimeError(f"autocast is available on 'cpu', got device_type {device_type!r}")
        self.device, self.fast_dtype, self.enabled = device_type, dtype or hw.bfloat16, bool(enabled)
        if self.fast_dtype not in (hw.bfloat16, hw.float16):
            raise TypeError(f"autocast's dtype must be bfloat16 or float16, got {dtype}")
        self._before: list[tuple[bool, Any]] = []

    def __enter__(self) -> autocast:
        self._before.append(hw._C.get_autocast())
        hw._C.set_autocast(self.enabled, self.fast_dtype)
        return self

    def __exit__(self, *exc: object) -> None:
        hw._C.set_autocast(*self._before.pop())

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise TypeError("autocast cannot decorate a generator or a coroutine; use it as a context inside")

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with autocast(self.device, self.fast_dtype, self.enabled):
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast(device_type)` works."""
    return device_type == "cpu"


def is_autocast_enabled(device_type: str = "cpu") -> bool:
    """Whether a region is active in this thread."""
    return is_autocast_available(device_type) and hw._C.get_autocast()[0]


def get_autocast_dtype(device_type: str = "cpu") -> Any:
    """The dtype that regions lower to."""
    return hw._C.get_autocast()[1]
