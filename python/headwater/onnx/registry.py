"""Handlers of operators: which function runs an ONNX operator of a domain, from which opset on. They register themselves."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MICROSOFT, ML = "com.microsoft", "ai.onnx.ml"


@dataclass(frozen=True)
class Handler:
    """How one operator is run, from opset `since` of its domain on.

    `function(node, *inputs)` gets tensors, except where it asked for something else:
    host: the positions of inputs that it needs as host values (shapes, axes, bounds); -1 means all from the one before on.
    prefers: the positions of inputs that it takes as host values if they are known, and as tensors if not; initialisers stay constants.
    buffers: the positions of inputs that are state which no optimiser trains.
    raw: it takes values of every kind as they are, and makes what it likes of them.
    fresh: its result is a tensor even if all inputs are host values.
    """

    function: Callable[..., Any]
    since: int = 1
    host: tuple[int, ...] = ()
    prefers: tuple[int, ...] = ()
    buffers: tuple[int, ...] = ()
    raw: bool = False
    fresh: bool = False

    def host_from(self, count: int) -> int:
        """All of `count` inputs from here on are wanted as host values."""
        return self.host[-2] if len(self.host) > 1 and self.host[-1] == -1 else count


_handlers: dict[tuple[str, str], list[Handler]] = {}


def op(*names: str, domain: str = "", **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function runs the operators `names`; `facts` are those of Handler."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        handler = Handler(function, **facts)
        for name in names:
            row = _handlers.setdefault((domain, name), [])
            row.append(handler)
            row.sort(key=lambda h: h.since)
        return function

    return register


def find(domain: str, name: str, opset: int) -> Handler | None:
    """The handler for a node, None if there is none for this opset."""
    fitting = [h for h in _handlers.get((domain, name), []) if h.since <= opset]
    return fitting[-1] if fitting else None


def supported() -> dict[str, list[str]]:
    """The names of the operators that have a handler, by domain."""
    found: dict[str, list[str]] = {}
    for domain, name in sorted(_handlers):
        found.setdefault(domain, []).append(name)
    return found
