"""hw.recompute: a part of the forward pass whose results are not kept, but computed again in the backward pass."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import _C
from .._C import Tensor
from .derivatives import grad
from .modes import enable_grad

T = TypeVar("T")


class _Settings:
    """What a second run takes over from the first: the random state, autocast, and that modules on a mesh are being called."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._generator = _C.default_generator()
        self._state, self._autocast = self._generator.get_state(), _C.get_autocast()
        self._on_mesh = int(any(_C.is_global(t) for t in tensors))

    def __enter__(self) -> None:
        self._outer = self._generator.get_state(), _C.get_autocast()
        self._generator.set_state(self._state)
        _C.set_autocast(*self._autocast)
        _C.count_implicit_broadcast(self._on_mesh)

    def __exit__(self, *exc: object) -> None:
        _C.count_implicit_broadcast(-self._on_mesh)
        self._generator.set_state(self._outer[0])
        _C.set_autocast(*self._outer[1])


class _Again:
    """The backward pass of one call. `arguments` and `leaves`: all that gradients go to, and how they were when they were used."""

    def __init__(self, run: Callable[..., list[Tensor]], arguments: list[Tensor], leaves: list[Tensor], settings: _Settings):
        self._run, self._arguments, self._leaves, self._settings = run, arguments, leaves, settings
        self._versions = [t._version for t in [*arguments, *leaves]]

    def __call__(self, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        for t, version in zip([*self._arguments, *self._leaves], self._versions, strict=True):
            if t._version != version:
                raise RuntimeError(f"recompute: a tensor of shape {tuple(t.shape)}, which is needed to compute a result again, was changed "
                                   f"in place: it is at version {t._version}, used at version {version}")
        again = _C.is_grad_enabled()  # the gradient will be differentiated too, so it keeps what is behind the arguments
        with enable_grad(), self._settings:
            starts = [t.view_as(t) if again and t.requires_grad else t.detach().requires_grad_(t.requires_grad) for t in self._arguments]
            outputs = self._run(starts)
        wanted = [*starts, *self._leaves]
        needed = [t for t in wanted if t.requires_grad]
        pairs = [(y, g) for y, g in zip(outputs, grads, strict=True) if g is not None]
        if not pairs:
            return (None,) * len(wanted)
        found = iter(grad([y for y, _ in pairs], needed, [g for _, g in pairs], create_graph=again, allow_unused=True))
        return tuple(next(found) if t.requires_grad else None for t in wanted)


def recompute(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """function(*args, **kwargs), of which only the arguments are kept for the backward pass; the rest is computed there again.

    Saves the memory of what `function` keeps inside, for the time of a second forward pass. Random numbers (dropout) and autocast
    are in the second run what they were in the first; results and gradients are those of a plain call, bit for bit. Parameters
    that the function uses get their gradients too. (Chen et al., "Training deep nets with sublinear memory cost", 2016.)

    Args:
        function: a module, or anything that returns a tensor or a tuple with tensors. It runs twice: what it changes besides, it
            changes twice (running statistics of batch norm).
        args, kwargs: tensors with a history are passed here, not captured; leaves, such as parameters, may be captured.
    Raises RuntimeError for a captured tensor with a history, and for arguments that are changed in place.

    >>> x = hw.ones(3, requires_grad=True)
    >>> hw.recompute(lambda t: (t * 2).sin(), x).sum().backward()
    """
    if not _C.is_grad_enabled():
        return function(*args, **kwargs)
    places: list[Any] = [i for i, a in enumerate(args) if isinstance(a, Tensor)] + [k for k, v in kwargs.items() if isinstance(v, Tensor)]
    arguments = [args[p] if isinstance(p, int) else kwargs[p] for p in places]

    def call(given: Sequence[Tensor]) -> Any:
        positional, named = list(args), dict(kwargs)
        for p, t in zip(places, given, strict=True):
            (positional if isinstance(p, int) else named)[p] = t
        return function(*positional, **named)

    def run(given: Sequence[Tensor]) -> list[Tensor]:
        return [t for t in _listed(call(given)) if _differentiable(t)]

    settings, since, versions = _Settings(arguments), _C.tape_position(), [t._version for t in arguments]
    starts = [t.detach().requires_grad_(t.requires_grad) for t in arguments]
    result = call(starts)
    outputs = [t for t in _listed(result) if _differentiable(t)]
    if versions != [t._version for t in arguments]:
        raise RuntimeError(f"recompute: {_name(function)} changes an argument in place, so it cannot be called with it again")
    if not outputs:
        return result  # type: ignore[no-any-return]
    try:
        reached = _C.tape_leaves(outputs, since)
    except RuntimeError as error:
        raise RuntimeError(f"recompute: {_name(function)} uses a tensor that it is not given: {error}. Make it one.") from None
    leaves = [t for t in reached if not any(t is s for s in starts)]
    results = [t.detach() if isinstance(t, Tensor) else t for t in _listed(result)]
    fresh = [r for r, t in zip(results, _listed(result), strict=True) if _differentiable(t)]
    _C.attach_function(fresh, [*arguments, *leaves], _Again(run, arguments, leaves, settings), "recompute")
    if isinstance(result, Tensor):
        return results[0]  # type: ignore[no-any-return]
    return type(result)(*results) if hasattr(result, "_fields") else type(result)(results)  # type: ignore[call-arg, no-any-return]


def _differentiable(t: Any) -> bool:
    return isinstance(t, Tensor) and t.requires_grad


def _listed(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return list(result)
    if not isinstance(result, Tensor):
        raise TypeError(f"recompute: the function returns a tensor or a tuple, got {type(result).__name__}")
    return [result]


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", type(function).__name__)
