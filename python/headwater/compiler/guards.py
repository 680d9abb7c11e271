"""Guards: what the Python code of a captured function read, and whether it would read the same now."""
from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

from .. import _C
from .._C import Tensor
from .counters import counters
from .origins import is_internal
from .tree import CONSTANTS

_BY_IDENTITY = (Tensor, FunctionType, BuiltinFunctionType, MethodType, type, ModuleType)
_MOST_ITEMS = 10_000
_LIBRARIES = (sys.prefix, sys.base_prefix)
_MISSING: Any = object()
_WITHOUT_CONSTANTS = ("headwater", "builtins", "typing", "abc")  # modules whose classes are not looked into


_DICE = frozenset({"Random", "RandomState", "Generator", "SystemRandom"})


def _refuse(frame: FrameType, function: Any) -> None:
    """Clocks and dice outside of hw.random would give one value for all runs."""
    if is_internal(frame.f_code):
        return
    raise RuntimeError(
        f"{getattr(function, '__name__', function)}() gives another value in each run, but a compiled function would keep that of "
        "its capture. Call it outside and pass the value as an argument, or use hw.rand and its kin"
    )


def _chains(code: CodeType) -> list[tuple[str, ...]]:
    """The globals that code reads, with the attributes read of them at once: ("config", "scale")."""
    found: dict[tuple[str, ...], None] = {}
    chain: tuple[str, ...] = ()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            chain = (step.argval,)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain = (*chain, step.argval)
        elif step.opname == "PUSH_NULL":
            continue
        else:
            chain = ()
        if chain:
            found[chain] = None
    return list(found)


class Guards:
    """A list of places and what they held. A place is a container and a key: a dict of globals, an instance's __dict__, a cell."""

    def __init__(self) -> None:
        self._dicts: list[tuple[Any, str, Any]] = []
        self._cells: list[tuple[Any, Any]] = []
        self._sequences: list[tuple[Any, Any]] = []
        self._objects: set[int] = set()
        self._codes: set[CodeType] = set()
        self._alive: list[Any] = []  # so that identities stay taken

    # ------------------------------------------------------------------ recording
    def profile(self, frame: FrameType, event: str, arg: Any) -> None:
        """For sys.setprofile: notes what each Python function reads, the first time it is called."""
        if event == "c_call":
            if getattr(arg, "__module__", "") == "time" or type(getattr(arg, "__self__", None)).__name__ in _DICE:
                _refuse(frame, arg)
            return
        if event != "call":
            return
        code = frame.f_code
        if code in self._codes:
            if code.co_argcount and code.co_varnames[0] == "self":
                self._note_self(frame, code)
            return
        self._codes.add(code)
        if code.co_argcount and code.co_varnames[0] == "self":
            self._note_self(frame, code)
        if is_internal(code) or code.co_filename.startswith(("<frozen", *_LIBRARIES)):
            return
        self.code(code, frame.f_globals, frame)

    def _note_self(self, frame: FrameType, code: CodeType) -> None:
        if code.co_name == "forward" or not is_internal(code):
            self.value(frame.f_locals.get("self"))

    def code(self, code: CodeType, names: dict[str, Any], frame: FrameType) -> None:
        counted, attributes = counters(code)
        for chain in _chains(code):
            if chain[0] not in counted:
                self._global(names, chain)
        variables = frame.f_locals
        for name in code.co_freevars:
            if name in counted:
                self._uncount(variables.get(name))
            elif name in variables:
                self.value(variables[name])
        if attributes and code.co_argcount:
            own = getattr(variables.get(code.co_varnames[0]), "__dict__", None)
            for name in attributes:
                self._dicts = [d for d in self._dicts if not (d[0] is own and d[1] == name)]
                self._uncount(own.get(name) if isinstance(own, dict) else None)

    def _uncount(self, value: Any) -> None:
        """What is only counted with is no condition, wherever else it was noted."""
        self._sequences = [s for s in self._sequences if s[0] is not value]
        self._cells = [c for c in self._cells if c[1] is not value or not isinstance(value, (int, float))]

    def function(self, function: Any) -> None:
        """The cells of a closure are places of their own: they may be rebound."""
        function = getattr(function, "__func__", function)
        code = getattr(function, "__code__", None)
        counted = counters(code)[0] if code is not None else set()
        for name, cell in zip(code.co_freevars if code else (), getattr(function, "__closure__", None) or (), strict=False):
            if name in counted:
                continue
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            if self.value(content):
                self._cells.append((cell, content))

    def _global(self, names: dict[str, Any], chain: tuple[str, ...]) -> None:
        if chain[0] not in names:
            return  # a builtin
        place, value = names, names[chain[0]]
        if self.value(value):
            self._dicts.append((place, chain[0], value))
        for name in chain[1:]:
            if isinstance(value, ModuleType) and getattr(value, "__name__", "").partition(".")[0] in ("headwater", "numpy"):
                return
            own = getattr(value, "__dict__", None)
            if not isinstance(own, (dict, MappingProxyType)) or name not in own:
                return
            place, value = value if isinstance(value, type) else own, own[name]
            if self.value(value):
                self._dicts.append((place, name, value))

    def value(self, value: Any, depth: int = 0) -> bool:
        """Notes what is inside a value. True if the place that holds it must go on holding it."""
        kind = type(value)
        if kind in CONSTANTS:
            return True
        if id(value) in self._objects:
            return True
        if isinstance(value, _BY_IDENTITY):
            self._keep(value)
            return True
        if isinstance(value, (list, tuple, dict, set, frozenset)):
            self._keep(value)
            if isinstance(value, tuple) and all(type(v) in CONSTANTS for v in value):
                return True
            if len(value) <= _MOST_ITEMS:
                copy = dict(value) if isinstance(value, dict) else list(value)
                self._sequences.append((value, copy))
                for item in value.values() if isinstance(value, dict) else value:
                    self.value(item, depth + 1)
            return True
        structure = getattr(value, "_structure", None)
        own = getattr(value, "__dict__", None)
        self._keep(value)
        if structure is not None and hasattr(value, "param_groups"):  # an optimiser: its numbers are asked for in each run
            self._dicts.append((own, "_structure", structure))
            for flag in ("amsgrad", "nesterov", "centered"):
                for group in value.param_groups:
                    if flag in group:
                        self._dicts.append((group, flag, group[flag]))
            return True
        if hasattr(value, "get_last_lr"):  # a schedule
            return True
        if isinstance(own, dict) and depth < 4:
            for name, item in list(own.items()):
                if self.value(item, depth + 1):
                    self._dicts.append((own, name, item))
            for owner in type(value).__mro__:
                if id(owner) not in self._objects and not owner.__module__.startswith(_WITHOUT_CONSTANTS):
                    self._keep(owner)
                    names = vars(owner).items()
                    self._dicts += [(owner, k, v) for k, v in names if type(v) in CONSTANTS and not k.startswith("__")]
        return True

    def _keep(self, value: Any) -> None:
        self._objects.add(id(value))
        self._alive.append(value)

    # ------------------------------------------------------------------ checking
    def seal(self) -> None:
        """Nothing is added any more: what can be checked without Python code is handed over."""
        self.native = _C.Guards(_same)
        self._slow: list[tuple[Any, Any]] = []  # containers of other kinds
        for place, name, value in self._dicts:
            self.native.watch(place, name, value)
        for cell, value in self._cells:
            self.native.watch_cell(cell, value)
        for sequence, copy in self._sequences:
            if type(sequence) is list:
                self.native.watch_list(sequence)
            elif isinstance(sequence, dict):
                self.native.watch_dict(sequence)
            elif isinstance(sequence, (set, frozenset)):
                self.native.watch_set(sequence)
            elif type(sequence) is not tuple:
                self._slow.append((sequence, copy))

    @property
    def fast(self) -> bool:
        """Whether the native check is all there is to check."""
        return not self._slow

    def changed(self) -> str:
        """What differs from the time of the capture, in words; empty if nothing does."""
        if self.native.hold() and not any(_sequence_changed(place, before) for place, before in self._slow):
            return ""
        for place, name, value in self._dicts:
            now = (vars(place) if isinstance(place, type) else place).get(name, _MISSING)
            if now is not value and not _same(now, value):
                return f"{name} was {_shown(value)} and is {_shown(now)}"
        for cell, value in self._cells:
            now = cell.cell_contents
            if now is not value and not _same(now, value):
                return f"a variable of the enclosing function was {_shown(value)} and is {_shown(now)}"
        for sequence, copy in self._sequences:
            if reason := _sequence_changed(sequence, copy):
                return reason
        return ""


def _sequence_changed(sequence: Any, copy: Any) -> str:
    if len(sequence) != len(copy):
        return f"a {type(sequence).__name__} changed its length"
    if isinstance(copy, dict):
        for key, value in copy.items():
            now = sequence.get(key, _MISSING)
            if now is not value and not _same(now, value):
                return f"the entry {key!r} of a dict was {_shown(value)} and is {_shown(now)}"
        return ""
    for now, value in zip(sequence, copy, strict=True):
        if now is not value and not _same(now, value):
            return f"an item of a {type(sequence).__name__} was {_shown(value)} and is {_shown(now)}"
    return ""


def _same(now: Any, before: Any) -> bool:
    kind = type(before)
    if type(now) is not kind:
        return False
    if kind in CONSTANTS or kind.__name__ in ("dtype", "Size"):
        return bool(now == before) or (now != now and before != before)
    if kind is tuple:
        return len(now) == len(before) and all(a is b or _same(a, b) for a, b in zip(now, before, strict=True))
    return False


def _shown(value: Any) -> str:
    if value is _MISSING:
        return "missing"
    text = repr(value) if type(value) in CONSTANTS else f"a {type(value).__name__}"
    return text if len(text) < 60 else text[:57] + "..."


Profile = Callable[[FrameType, str, Any], None]
