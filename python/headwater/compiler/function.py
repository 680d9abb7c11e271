"""`hw.compile` and the callable it returns."""
from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable, Hashable
from typing import Any

import headwater as hw

from .. import _C, recording
from .._C import Tensor
from .inspection import Inspection, inspection_of, register
from .origins import user_line
from .program import Captured, Variant, capture
from .session import CompileError
from .symbols import Family, SizeIsNeeded
from .tree import flatten

__all__ = ["CompileError", "CompiledFunction", "compile"]

_MOST_VARIANTS = 64


class CompiledFunction(_C.Dispatch):
    """A function that is captured on its first call and run as a program from then on.

    It is captured again when what it depends on changes: shapes, dtypes, layout and requires_grad of its tensor arguments, other
    arguments, grad mode, autocast, and whatever its Python code read (attributes, globals, closures). Programs of all variants
    are kept.
    """

    def __init__(self, function: Callable[..., Any], dynamic: bool = True, memory_budget: int = 0) -> None:
        self._function = function
        self._memory_budget = memory_budget
        self._dynamic = dynamic
        self._families: dict[Hashable, Family] = {}
        self._variants: dict[Hashable, list[Variant]] = {}
        self._workspace = _C.Workspace()
        self._capturing = threading.Lock()
        self._captures = 0
        self._last_reason = ""
        functools.update_wrapper(self, function, updated=())
        register(self)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        if recording.current is not None:  # part of another function that is being captured
            return self._function(*args, **kwargs)
        tensors: list[Any] = []
        others: list[Any] = []
        tree = flatten((args, kwargs), tensors, others)
        tensors = [t if isinstance(t, Tensor) else hw.from_numpy(t) for t in tensors]
        key = (tree, _C.call_key(tensors))
        variants = self._variants.setdefault(key, [])
        fitting = self._fitting(variants)
        if fitting is not None:
            return fitting.run(tensors)
        with self._capturing:  # one thread captures; others then find its program
            variant = self._fitting(variants) or self._captured_for(key, variants, args, kwargs, tensors, others)
        result = variant.run(tensors)
        if not kwargs and len(tensors) == len(args) and all(isinstance(a, Tensor) for a in args):
            variant.dispatch(self, tensors)
        return result

    def _fitting(self, variants: list[Variant]) -> Variant | None:
        for variant in list(variants):
            reason = variant.outdated()
            if not reason:
                return variant
            self._last_reason = reason
        return None

    def _captured_for(
        self, key: Any, variants: list[Variant], args: Any, kwargs: Any, tensors: list[Tensor], others: list[Any]
    ) -> Variant:
        if len(variants) >= _MOST_VARIANTS:
            raise CompileError(
                f"{self._name()} was captured {len(variants)} times for the same arguments, the last time because "
                f"{self._last_reason}. Pass what changes as a tensor argument."
            )
        variant = self._new_variant((key[0], _C.call_key(tensors, sized=False)), args, kwargs, tensors, others)
        variants.append(variant)
        return variant

    def _new_variant(self, key: Hashable, args: Any, kwargs: Any, tensors: list[Tensor], others: list[Any]) -> Variant:
        """By a capture with symbols that fits, by a new one if sizes changed, or for these sizes alone."""
        family = self._families.setdefault(key, Family())
        shapes = [tuple(t.shape) for t in tensors]
        for captured in family.symbolic:
            sizes = captured.sizes_in(shapes)
            if sizes is not None and not captured.guards.changed():
                made = self._at_sizes(family, captured, sizes)
                if made is not None:
                    return made
        sized = self._dynamic and not any(t.is_global for t in tensors)  # parts have sizes that are no formulas of the whole
        marks = family.changing(shapes) if sized else None
        if shapes not in family.shapes:
            family.shapes.append(shapes)
        if marks is not None:
            try:
                captured = self._capture(args, kwargs, tensors, others, marks)
            except (SizeIsNeeded, Exception):  # what is wrong with the function itself shows below
                family.plain = True
                self._captures -= 1
            else:
                sizes = captured.sizes_in(shapes)
                made = None if sizes is None else self._at_sizes(family, captured, sizes)
                if made is not None:
                    family.symbolic.append(captured)
                    return made
        captured = self._capture(args, kwargs, tensors, others)
        try:
            return captured.variant(self._workspace)
        except RuntimeError as error:
            if "memory_budget" in str(error):
                raise CompileError(str(error)) from None
            raise

    def _at_sizes(self, family: Family, captured: Captured, sizes: list[int]) -> Variant | None:
        try:
            return captured.variant_at(sizes, self._workspace)
        except (RuntimeError, ValueError, IndexError):  # it depends on its sizes in ways that formulas do not tell
            family.plain = True
            family.symbolic.clear()
            return None

    def _capture(
        self, args: Any, kwargs: Any, tensors: list[Tensor], others: list[Any], marks: list[list[int]] | None = None
    ) -> Captured:
        self._captures += 1
        try:
            captured = capture(self._function, self._name(), args, kwargs, tensors, others, marks)
            captured.memory_budget = self._memory_budget
            return captured
        except CompileError as error:
            line = user_line(error)
            if line and line not in str(error):
                raise CompileError(f"{error} (at {line})") from None
            raise
        except RuntimeError as error:
            if "hw.compile" in str(error) or "compiled function" in str(error):
                raise CompileError(f"{error} (at {user_line(error)})") from error
            raise

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: bound to its instance, with everything of this object (`obj.step.inspect()`). Programs of all instances are
        kept here; each is for one instance."""
        return self if instance is None else types.MethodType(self, instance)

    def _name(self) -> str:
        return getattr(self._function, "__qualname__", type(self._function).__name__)

    # ------------------------------------------------------------------ looking inside
    @property
    def captures(self) -> int:
        """How many times the function was captured."""
        return self._captures

    @property
    def variants(self) -> list[Variant]:
        """The programs, in the order of their capture."""
        return sorted((v for list_ in self._variants.values() for v in list_), key=lambda v: v.number)

    @property
    def last_reason(self) -> str:
        """Why the last recapture was necessary, if a guard failed."""
        return self._last_reason

    def inspect(self) -> Inspection:
        """What it became: passes, kernels and memory of each program. Print it, or `.write_html("step.html")`."""
        return inspection_of(self)

    def release(self) -> None:
        """Gives the working memory back; the next run takes it again."""
        self._workspace.release()

    def reset(self) -> None:
        """Forgets all programs."""
        self._variants.clear()
        self._families.clear()
        _C.dispatch_clear(self)
        self._workspace.release()


def compile(function: Any = None, *, dynamic: bool | None = None, memory_budget: int | None = None) -> Any:  # noqa: A001  torch's name
    """Compiles a function of tensors and modules, or a Module: `@hw.compile`, or `net = hw.compile(net)`.

    The function may be a forward pass, or a whole training step with loss.backward() and optimizer.step(). See docs/guide/compile.md.

    Args:
        function: a callable, or a Module, whose compiled twin is returned (it shares parameters, buffers and modes).
        dynamic: False: each new size is captured anew. By default a size that was seen to change becomes a symbol, and one
            capture serves all sizes from 2 on.
        memory_budget: bytes of working memory (activations and temporaries) that a run may take. Values are computed again instead
            of being kept until it fits.

    Raises:
        CompileError: when called, if the function cannot be captured, or cannot fit the budget; the message names the smallest
            that is feasible.

    >>> @hw.compile
    ... def f(x, y):
    ...     return (x + y).relu().sum()
    >>> f(hw.tensor([1., -2.]), hw.tensor([1., 1.]))
    tensor(2.)
    """
    if function is None:
        return functools.partial(compile, dynamic=dynamic, memory_budget=memory_budget)
    if memory_budget is not None and memory_budget <= 0:
        raise ValueError(f"memory_budget must be a positive number of bytes, got {memory_budget}")
    if isinstance(function, hw.nn.Module):
        from .module import CompiledModule

        return CompiledModule(function, dynamic is not False, memory_budget or 0)
    if not callable(function):
        raise TypeError(f"compile() takes a callable or a Module, got {type(function).__name__}")
    return CompiledFunction(function, dynamic is not False, memory_budget or 0)
