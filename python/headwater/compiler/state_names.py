"""Names for the state of a captured graph: paths of parameters and buffers, what an optimiser keeps for each, tensors by their variable."""
from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .. import nn
from .._C import Tensor

_DEEPEST = 3  # objects and containers inside one another
_MOST_ITEMS = 1000
_MOST_SEEN = 10_000


def state_names(named: list[tuple[str, Any]]) -> Iterator[tuple[str, Tensor]]:
    """("model.0.weight", parameter), ("optimizer.model.0.weight.exp_avg", moment), ...: modules first, since optimisers name by them."""
    found: list[tuple[str, Any]] = []
    seen: set[int] = set()
    for name, value in named:
        _look(name, value, found, seen, 0)
    paths: dict[int, str] = {}
    for name, value in found:
        if isinstance(value, nn.Module):
            for path, tensor in (*value.named_parameters(), *value.named_buffers()):
                if id(tensor) not in paths:
                    paths[id(tensor)] = _joined(name, path)
                    yield paths[id(tensor)], tensor
        elif isinstance(value, Tensor) and id(value) not in paths:
            paths[id(value)] = name
            yield name, value
    for name, value in found:
        if not isinstance(value, (nn.Module, Tensor)):
            for i, (parameter, kept) in enumerate(value.state.items()):
                of = paths.get(id(parameter), str(i))
                yield from ((f"{name}.{of}.{key}", t) for key, t in kept.items() if isinstance(t, Tensor))


def _joined(name: str, path: str) -> str:
    return f"{name}.{path}" if name else path


def _look(name: str, value: Any, found: list[tuple[str, Any]], seen: set[int], depth: int) -> None:
    """Modules, tensors and optimisers in a value, with the way to each."""
    if id(value) in seen or depth > _DEEPEST or len(seen) > _MOST_SEEN or isinstance(value, (type, ModuleType)):
        return
    seen.add(id(value))
    own = getattr(value, "__dict__", None)
    own = own if isinstance(own, dict) else {}
    if isinstance(own.get("_original"), nn.Module):  # a compiled module
        value = own["_original"]
    if isinstance(value, (nn.Module, Tensor)) or "param_groups" in own and isinstance(own.get("state"), dict):
        found.append((name, value))
        return
    items: Any = ()
    if isinstance(value, dict):
        items = ((f"{name}[{key!r}]", item) for key, item in value.items()) if len(value) <= _MOST_ITEMS else ()
    elif isinstance(value, (list, tuple)):
        items = ((f"{name}[{i}]", item) for i, item in enumerate(value)) if len(value) <= _MOST_ITEMS else ()
    elif not type(value).__module__.startswith("headwater"):
        items = ((_joined(name, key), item) for key, item in own.items())
    for path, item in list(items):
        _look(path, item, found, seen, depth + 1)
