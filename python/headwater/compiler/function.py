"""`hw.compile` and the callable it returns."""
from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

import headwater as hw

from .. import _C, recording
from .._C import Tensor
from .origins import user_line
from .program import Variant, capture
from .session import CompileError
from .tree import flatten

__all__ = ["CompileError", "CompiledFunction", "compile"]

_MOST_VARIANTS = 64


class CompiledFunction:
    """A function that is captured on its first call and run as a program from then on.

    It is captured again when what it depends on changes: shapes, dtypes, layout and requires_grad of its tensor arguments, other
    arguments, grad mode, autocast, and whatever its Python code read (attributes, globals, closures). Programs of all variants
    are kept.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._variants: dict[Hashable, list[Variant]] = {}
        self._workspace = _C.Workspace()
        self._captures = 0
        self._last_reason = ""
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if recording.current is not None:  # part of another function that is being captured
            return self._function(*args, **kwargs)
        tensors: list[Any] = []
        others: list[Any] = []
        tree = flatten((args, kwargs), tensors, others)
        tensors = [t if isinstance(t, Tensor) else hw.from_numpy(t) for t in tensors]
        key = (tree, _C.call_key(tensors))
        variants = self._variants.get(key)
        if variants is not None:
            for variant in variants:
                reason = variant.outdated()
                if not reason:
                    return variant.run(tensors)
                self._last_reason = reason
        else:
            variants = self._variants[key] = []
        if len(variants) >= _MOST_VARIANTS:
            raise CompileError(
                f"{self._name()} was captured {len(variants)} times for the same arguments, the last time because "
                f"{self._last_reason}. Pass what changes as a tensor argument."
            )
        variant = self._capture(args, kwargs, tensors, others)
        variants.append(variant)
        return variant.run(tensors)

    def _capture(self, args: Any, kwargs: Any, tensors: list[Tensor], others: list[Any]) -> Variant:
        self._captures += 1
        try:
            return capture(self._function, self._name(), args, kwargs, tensors, others, self._workspace)
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
        return self if instance is None else functools.partial(self, instance)

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

    def release(self) -> None:
        """Gives the working memory back; the next run takes it again."""
        self._workspace.release()

    def reset(self) -> None:
        """Forgets all programs."""
        self._variants.clear()
        self._workspace.release()


def compile(function: Any = None, **options: Any) -> Any:  # noqa: A001  torch's name
    """Compiles a function of tensors and modules, or a Module: `@hw.compile`, or `net = hw.compile(net)`.

    The function may be a forward pass, or a whole training step with loss.backward() and optimizer.step(). See docs/guide/compile.md.

    Args:
        function: a callable, or a Module, whose compiled twin is returned (it shares parameters, buffers and modes).

    Raises:
        CompileError: when called, if the function cannot be captured.

    >>> @hw.compile
    ... def f(x, y):
    ...     return (x + y).relu().sum()
    >>> f(hw.tensor([1., -2.]), hw.tensor([1., 1.]))
    tensor(2.)
    """
    if options:
        raise TypeError(f"compile() got an unexpected keyword argument {next(iter(options))!r}")
    if function is None:
        return compile
    if isinstance(function, hw.nn.Module):
        from .module import CompiledModule

        return CompiledModule(function)
    if not callable(function):
        raise TypeError(f"compile() takes a callable or a Module, got {type(function).__name__}")
    return CompiledFunction(function)
