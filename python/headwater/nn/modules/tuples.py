"""A layer argument given once for all spatial axes, or once for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Size = int | tuple[int, ...]
Size1 = int | tuple[int]
Size2 = int | tuple[int, int]
Size3 = int | tuple[int, int, int]


def spread(value: Any, count: int) -> tuple[Any, ...]:
    """`value` repeated `count` times; a sequence as a tuple."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * count
