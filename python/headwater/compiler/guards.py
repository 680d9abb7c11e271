"""Guards: what the Python code of a captured function read, and whether it would read the same now."""
from __future__ import annotations

import dis
import sys
from collections import deque
from collections.abc import Callable
from functools import cached_property, partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from .. import _C
from .._C import Tensor
from .counters import counters
from .origins import is_internal
from .tree import CONSTANTS, is_array

_BY_IDENTITY = (Tensor, BuiltinFunctionType, ModuleType)
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)
_DESCRIPTORS = (FunctionType, property, classmethod, staticmethod, type, cached_property, MemberDescriptorType)
_MOST_ITEMS = 10_000
_DEEPEST = 8
_LIBRARIES = (sys.prefix, sys.base_prefix)
_MISSING: Any = object()


_DICE = frozenset({"Random", "RandomState", "Generator", "SystemRandom"})
_CLOCKS = frozenset({"now", "utcnow", "today", "urandom", "getrandom"})


def _refuse(frame: FrameType, function: Any) -> None:
    """Clocks and dice outside of hw.random would give one value for all runs."""
    if not is_internal(frame.f_code):
        _refuse_dice(f"{getattr(function, '__name__', function)}()")


def _refuse_dice(what: str) -> None:
    raise RuntimeError(
        f"{what} gives another value in each run, but a compiled function would keep that of "
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
        elif step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            found[(step.argval,)] = None
    return list(found)


class _Slots:
    """The attributes of an object without __dict__, read as those of one with it."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self.owner, name, default)

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self.owner, name, value)


def _slots(kind: type) -> list[str]:
    found: list[str] = []
    for owner in kind.__mro__:
        names = owner.__dict__.get("__slots__", ())
        found += (names,) if isinstance(names, str) else names
    return found


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith(("headwater", "builtins", "typing", "abc"))


class Guards:
    """A list of places and what they held. A place is a container and a key: a dict of globals, an instance's __dict__, a cell."""

    def __init__(self) -> None:
        self._dicts: list[tuple[Any, str, Any]] = []
        self._cells: list[tuple[Any, Any]] = []
        self._sequences: list[tuple[Any, Any]] = []
        self._arrays: list[tuple[Any, Any]] = []
        self._sizes: list[tuple[dict[str, Any], type, frozenset[str]]] = []  # attributes of objects: names come and go
        self._objects: set[int] = set()
        self._codes: set[CodeType] = set()
        self._inner: set[CodeType] = set()
        self._classes: set[type] = set()
        self._held: list[tuple[dict[Any, Any], Any, Any]] = []
        self._conditions: list[Callable[[], str]] = []
        self.native: Any = None  # once sealed
        self._slow: list[Callable[[], str]] = []  # what is not checked natively
        self._alive: list[Any] = []  # so that identities stay taken
        self.named: list[tuple[str, Any]] = []  # what the user's code calls by a name

    # ------------------------------------------------------------------ recording
    def profile(self, frame: FrameType, event: str, arg: Any) -> None:
        """For sys.setprofile: notes what each Python function reads, the first time it is called."""
        if event == "c_call":
            owner = getattr(arg, "__self__", None)
            if getattr(arg, "__module__", "") == "time" or type(owner).__name__ in _DICE or arg.__name__ in _CLOCKS:
                _refuse(frame, arg)
            return
        if event != "call":
            return
        code = frame.f_code
        if code.co_name == "forward" and code.co_argcount:
            module = frame.f_locals.get(code.co_varnames[0])
            if hasattr(module, "_module_names"):
                self.value(module)
        if code in self._codes:
            return
        self._codes.add(code)
        self._inner.update(c for c in code.co_consts if isinstance(c, CodeType))
        if is_internal(code) or code.co_filename.startswith(("<frozen", *_LIBRARIES)):
            return
        self.code(code, frame.f_globals, frame)

    def code(self, code: CodeType, names: dict[str, Any], frame: FrameType) -> None:
        counted, attributes = counters(code)
        for chain in _chains(code):
            if chain[0] not in counted:
                self._global(names, chain)
        variables = frame.f_locals
        # What a function closes over is noted, unless it was made by the captured function itself.
        for name in code.co_freevars if code not in self._inner else ():
            if name in counted:
                self._uncount(variables.get(name))
            elif name in variables:
                self.named.append((name, variables[name]))
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
        """The cells of a closure are places of their own, they may be rebound; so are default arguments."""
        while isinstance(function, partial):
            self.value(function.args)
            self.value(function.keywords)
            function = function.func
        if isinstance(function, MethodType):
            self.named.append(("self", function.__self__))
            self.value(function.__self__)
            function = function.__func__
        if isinstance(function, FunctionType):
            self._objects.add(id(function))
            defaults = _Slots(function)
            for name in ("__defaults__", "__kwdefaults__"):
                if (value := defaults.get(name)) is not None and self.value(value):
                    self._dicts.append((defaults, name, value))
        elif not isinstance(function, type):
            self.named.append(("", function))
            self.value(function)  # an object that is called
        code = getattr(function, "__code__", None)
        counted = counters(code)[0] if code is not None else set()
        for name, cell in zip(code.co_freevars if code else (), getattr(function, "__closure__", None) or (), strict=False):
            if name in counted:
                continue
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            self.named.append((name, content))
            if self.value(content):
                self._cells.append((cell, content))

    def _global(self, names: dict[str, Any], chain: tuple[str, ...]) -> None:
        if chain[0] not in names:  # a builtin, or not there yet
            self._dicts.append((names, chain[0], _MISSING))
            return
        place: Any = names
        value = names[chain[0]]
        if getattr(value, "__name__", "") in ("numpy", "numpy.random") and "random" in (*chain[1:2], value.__name__[6:]):
            _refuse_dice("numpy.random")  # compiled methods, which no profiler sees
        self.named.append((chain[0], value))
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
        if isinstance(value, (FunctionType, MethodType, partial)):
            self._keep(value)
            code = getattr(getattr(value, "__func__", value), "__code__", None)
            if code is None or not is_internal(code):
                self.function(value)
            return True
        if isinstance(value, type):
            self._keep(value)
            self._class(value, depth)
            return True
        if isinstance(value, _CONTAINERS):
            self._keep(value)
            if isinstance(value, tuple) and all(type(v) in CONSTANTS for v in value):
                return True
            if len(value) <= _MOST_ITEMS:
                copy = dict(value) if isinstance(value, dict) else list(value)
                self._sequences.append((value, copy))
                for item in value.values() if isinstance(value, dict) else value:
                    self.value(item, depth + 1)
            return True
        self._keep(value)
        if hasattr(value, "_variants"):  # a compiled function is as good as what it compiles
            return self.value(value._function, depth)
        if is_array(value):
            if value.size <= _MOST_ITEMS:
                self._arrays.append((value, value.copy()))
            return True
        return self._object(value, depth)

    def _object(self, value: Any, depth: int) -> bool:
        """The attributes of an instance: its own, in slots, and those of its class."""
        structure = getattr(value, "_structure", None)
        own = getattr(value, "__dict__", None)
        if structure is not None and hasattr(value, "param_groups"):  # an optimiser: its numbers are asked for in each run
            self._dicts.append((own, "_structure", structure))
            for flag in ("amsgrad", "nesterov", "centered"):
                for group in value.param_groups:
                    if flag in group:
                        self._dicts.append((group, flag, group[flag]))
            return True
        if hasattr(value, "get_last_lr"):  # a schedule
            return True
        if depth >= _DEEPEST and not hasattr(value, "_module_names"):
            return True
        if isinstance(own, dict):
            self._sizes.append((own, type(value), frozenset(own)))
            for name, item in list(own.items()):
                if self.value(item, depth + 1):
                    self._dicts.append((own, name, item))
        slots = _slots(type(value))
        if slots:
            place = _Slots(value)
            for name in slots:
                item = place.get(name, _MISSING)
                if item is not _MISSING and self.value(item, depth + 1):
                    self._dicts.append((place, name, item))
        self._class(type(value), depth)
        return True

    def _class(self, kind: type, depth: int) -> None:
        """The attributes of a class and its bases that are data."""
        for owner in kind.__mro__:
            if _is_ours(owner) or owner in self._classes:
                continue
            self._classes.add(owner)
            names = vars(owner)
            for name, value in list(names.items()):
                if name.startswith("__") or isinstance(value, _DESCRIPTORS):
                    continue
                if self.value(value, depth + 1):
                    self._dicts.append((owner, name, value))

    def contents(self, table: dict[Any, Any]) -> None:
        """A dict must go on holding what it holds."""
        self._keep(table)
        self._sequences.append((table, dict(table)))

    def condition(self, check: Callable[[], str]) -> None:
        """`check` says why the program does not fit any more."""
        self._conditions.append(check)

    def holds(self, place: dict[Any, Any], key: Any, value: Any) -> None:
        """`place[key]` is `value`, of which the captured function made one itself if there was none."""
        self._held.append((place, key, value))

    def _keep(self, value: Any) -> None:
        self._objects.add(id(value))
        self._alive.append(value)

    # ------------------------------------------------------------------ checking
    def seal(self) -> None:
        """Nothing is added any more: what can be checked without Python code is handed over."""
        native = self.native = _C.Guards(_same)
        for place, name, value in (*self._dicts, *self._held):
            if isinstance(place, _Slots):
                native.watch_attribute(place.owner, name, value)
            elif value is _MISSING:
                native.watch_absent(place, name)
            else:
                native.watch(place, name, value)
        for own, _, _ in self._sizes:
            native.watch_size(own)
        for cell, value in self._cells:
            native.watch_cell(cell, value)
        self._slow = [*self._conditions, *(partial(_array_changed, array, copy) for array, copy in self._arrays)]
        for sequence, copy in self._sequences:
            if type(sequence) is list:
                native.watch_list(sequence)
            elif isinstance(sequence, dict):
                native.watch_dict(sequence)
            elif isinstance(sequence, (set, frozenset)):
                native.watch_set(sequence)
            elif type(sequence) is not tuple:
                self._slow.append(partial(_sequence_changed, sequence, copy))

    @property
    def fast(self) -> bool:
        """Whether the native check is all there is to check."""
        return not self._slow

    def changed(self) -> str:
        """What differs from the time of the capture, in words; empty if nothing does."""
        if self.native is not None and self.native.hold() and not any(check() for check in self._slow):
            return ""
        for check in (*self._conditions, *self._slow):
            if reason := check():
                return reason
        for holder, key, value in self._held:
            if holder.get(key, _MISSING) is not value:
                return "the state of an optimizer was replaced"
        for own, kind, names in self._sizes:
            if len(own) != len(names):
                # Values computed once and kept are no change.
                new = [n for n in own.keys() - names if not isinstance(getattr(kind, n, None), cached_property)]
                if new:
                    return f"{min(new)} was no attribute of a {kind.__name__} and is one"
        for array, copy in self._arrays:
            if reason := _array_changed(array, copy):
                return reason
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

    def restore(self) -> None:
        """Gives every place the value back that it had before the function changed it, as far as that is possible."""
        for own, _, names in self._sizes:
            for name in own.keys() - names:
                del own[name]
        for place, name, value in self._dicts:
            if isinstance(place, type):
                if vars(place).get(name, _MISSING) is not value:
                    setattr(place, name, value)
            elif place.get(name, _MISSING) is not value:
                if value is _MISSING:
                    del place[name]
                else:
                    place[name] = value
        for cell, value in self._cells:
            cell.cell_contents = value
        for array, copy in self._arrays:
            if array.flags.writeable:
                array[...] = copy
        for sequence, copy in self._sequences:
            if isinstance(sequence, (dict, set)):
                if self._differs(sequence, copy):
                    sequence.clear()
                    sequence.update(copy)
            elif isinstance(sequence, list):
                sequence[:] = copy
            elif isinstance(sequence, deque):
                sequence.clear()
                sequence.extend(copy)

    @staticmethod
    def _differs(now: Any, before: Any) -> bool:
        if isinstance(now, dict):
            return len(now) != len(before) or any(now.get(k, _MISSING) is not v for k, v in before.items())
        return bool(now != set(before))


def _array_changed(array: Any, copy: Any) -> str:
    same = array.shape == copy.shape and array.dtype == copy.dtype and array.tobytes() == copy.tobytes()
    return "" if same else f"a NumPy array of shape {list(copy.shape)} has other values"


def _sequence_changed(sequence: Any, copy: Any) -> str:
    if len(sequence) != len(copy):
        return f"a {type(sequence).__name__} changed its length"
    if isinstance(sequence, (set, frozenset)):
        return "" if sequence == set(copy) else f"a {type(sequence).__name__} has other members"
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
    if kind is float or kind is complex:
        return repr(now) == repr(before)  # -0.0 is not 0.0, and nan is nan
    if kind in CONSTANTS or kind.__name__ in ("dtype", "Size"):
        return bool(now == before)
    if kind is tuple:
        return len(now) == len(before) and all(a is b or _same(a, b) for a, b in zip(now, before, strict=True))
    return False


def _shown(value: Any) -> str:
    if value is _MISSING:
        return "missing"
    text = repr(value) if type(value) in CONSTANTS else f"a {type(value).__name__}"
    return text if len(text) < 60 else text[:57] + "..."


Profile = Callable[[FrameType, str, Any], None]
