"""The compiled twin of a module."""
from __future__ import annotations

from typing import Any

from .. import nn
from .function import CompiledFunction

_COMPILED = frozenset({"captures", "variants", "last_reason", "inspect", "release", "reset"})
_OWN = frozenset({"_original", "_compiled", "__call__", "forward", "__class__", "__dict__"})


class CompiledModule(nn.Module):
    """Calls a module's forward as a program; everything else (parameters, state_dict, train, attributes) is the module's own."""

    def __init__(self, original: nn.Module, dynamic: bool = True, memory_budget: int = 0) -> None:
        super().__init__()
        object.__setattr__(self, "_original", original)
        object.__setattr__(self, "_compiled", CompiledFunction(original, dynamic, memory_budget))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return object.__getattribute__(self, "_compiled")(*args, **kwargs)

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN:
            return object.__getattribute__(self, name)
        if name in _COMPILED:
            return getattr(object.__getattribute__(self, "_compiled"), name)
        return getattr(object.__getattribute__(self, "_original"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_original"), name, value)

    def __repr__(self) -> str:
        return f"Compiled({object.__getattribute__(self, '_original')!r})"
