"""Sizes that change from call to call, as Python sees them while a function is captured."""
from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from typing import Any

from .. import _C


class SizeIsNeeded(BaseException):  # not an Exception: user code that catches those must not swallow it
    """The function needs a changing size as a plain number: it is captured for each size instead."""


class Symbols:
    """The symbols of one capture: what they are in the present call, and which comparisons the code made."""

    def __init__(self, hints: list[int]) -> None:
        self.hints = hints
        self.conditions: list[tuple[Callable[[Any, Any], bool], int, int, bool]] = []
        self._thread = threading.get_ident()

    def wrap(self, number: int) -> int:
        """For _C.set_size_hook: a size that depends on a symbol becomes a SymInt."""
        if threading.get_ident() == self._thread and _C.is_symbolic(number, len(self.hints)):
            return SymInt(number, self)
        return number

    def hold(self, sizes: list[int]) -> bool:
        """Whether the comparisons would come out the same for these sizes."""
        return all(
            compare(_C.size_at(a, sizes), _C.size_at(b, sizes)) == result for compare, a, b, result in self.conditions
        )


class SymInt(int):
    """A size that was computed from symbols. Its int value is that of the capture; comparisons go by the present sizes and become
    conditions of the program; sums and products are sizes again; whatever needs the plain number raises SizeIsNeeded."""

    symbols: Symbols

    def __new__(cls, number: int, symbols: Symbols) -> SymInt:
        made = int.__new__(cls, number)
        made.symbols = symbols
        return made

    def _made(self, number: int) -> int:
        if not _C.is_symbolic(number, len(self.symbols.hints)):
            raise SizeIsNeeded
        return SymInt(number, self.symbols)

    def _compare(self, compare: Callable[[Any, Any], bool], other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        hints = self.symbols.hints
        result = compare(_C.size_at(int.__int__(self), hints), _C.size_at(int(other), hints))
        self.symbols.conditions.append((compare, int.__int__(self), int(other), result))
        return result

    def __eq__(self, other: object) -> Any:
        return self._compare(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._compare(operator.ne, other)

    def __lt__(self, other: Any) -> Any:
        return self._compare(operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._compare(operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._compare(operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._compare(operator.ge, other)

    def __bool__(self) -> bool:
        return bool(self._compare(operator.ne, 0))

    def __add__(self, other: Any) -> Any:
        return self._made(int.__add__(self, other)) if isinstance(other, int) else self._needed()

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._made(int.__sub__(self, other)) if isinstance(other, int) else self._needed()

    def __rsub__(self, other: Any) -> Any:
        return self._made(int.__rsub__(self, other)) if isinstance(other, int) else self._needed()

    def __mul__(self, other: Any) -> Any:
        if other == 0 and type(other) is int:
            return 0
        return self._made(int.__mul__(self, other)) if isinstance(other, int) else self._needed()

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self._made(int.__neg__(self))

    def __pos__(self) -> SymInt:
        return self

    def __floordiv__(self, other: Any) -> Any:
        if type(other) is int and other > 0 and int.__mod__(self, other) == 0:
            # exact here; a condition makes sure that it is in each run
            self.symbols.conditions.append((_divides, int.__int__(self), other, True))
            return self._made(int.__floordiv__(self, other))
        raise SizeIsNeeded

    def _needed(self, *args: Any) -> Any:
        raise SizeIsNeeded

    __mod__ = __rmod__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __divmod__ = _needed
    __float__ = __hash__ = __repr__ = __str__ = __format__ = __round__ = __and__ = __or__ = __xor__ = _needed
    __lshift__ = __rshift__ = __invert__ = __abs__ = __reduce__ = _needed


def _divides(a: int, b: int) -> bool:
    return a % b == 0


class Family:
    """Calls that differ in their sizes only."""

    def __init__(self) -> None:
        self.shapes: list[list[tuple[int, ...]]] = []
        self.symbolic: list[Any] = []
        self.plain = False  # a symbolic capture was tried and is not possible

    def changing(self, shapes: list[tuple[int, ...]]) -> list[list[int]] | None:
        """For each argument and axis the number of its symbol, -1 for a fixed size; None if there is nothing to gain."""
        if self.plain or not self.shapes:
            return None
        histories: dict[tuple[int, ...], int] = {}
        marks = []
        for argument, shape in enumerate(shapes):
            row = []
            for axis, size in enumerate(shape):
                past = tuple(s[argument][axis] for s in self.shapes) + (size,)
                if len(set(past)) == 1:
                    row.append(-1)
                    continue
                if size < 2:
                    return None
                row.append(histories.setdefault(past, len(histories)))
            marks.append(row)
        return marks if 0 < len(histories) <= _C.most_symbols else None


def sizes_of(marks: list[list[int]], fixed: list[tuple[int, ...]], shapes: list[tuple[int, ...]]) -> list[int] | None:
    """The symbols' sizes in a call, or None if it is of another kind."""
    sizes: dict[int, int] = {}
    for row, before, shape in zip(marks, fixed, shapes, strict=True):
        for mark, old, size in zip(row, before, shape, strict=True):
            if mark < 0:
                if size != old:
                    return None
            elif size < 2 or sizes.setdefault(mark, size) != size:
                return None
    return [sizes[i] for i in range(len(sizes))]
