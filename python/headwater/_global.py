"""Global tensors: meshes, SBP, and what Tensor offers for them. See docs/guide/many-devices.md."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import _C
from ._C import Tensor
from ._shapes import _named

__all__ = ["mesh", "broadcast", "partial", "partial_sum", "partial_max", "partial_min", "distribute", "from_local", "signature",
           "implicit_broadcast"]

broadcast = _C.sbp_broadcast
partial_sum, partial_max, partial_min = _C.sbp_partial_sum, _C.sbp_partial_max, _C.sbp_partial_min


def _join() -> None:
    """Under a launcher, lets this process host its share of the ranks; the largest mesh must come first."""
    if _C.world()[1] == 1 and _C.launched_size() > 1:
        from .distributed import world

        if world.comm().size > 1:
            _C.join_world_over(world.comm())


def mesh(device: str, shape: int | Sequence[int], *, names: Sequence[str] = (), ranks: Sequence[int] = ()) -> Any:
    """Ranks arranged in a grid.

    Under a launcher (`mpirun -n 2 python train.py`) each process hosts as many ranks, in a row; without one this process hosts all
    of them, as virtual devices. The first mesh must be the one with all ranks.

    Args:
        device: the type of the devices: "cpu"; or "meta", whose tensors have sizes and places but no values, see
            hw.distributed.estimate.
        shape: how many ranks along each axis.
        names: of the axes; default: "axis0", ...
        ranks: one for each place, row by row; default: 0, 1, ...

    >>> hw.mesh("cpu", (2, 4), names=("data", "model"))
    <mesh cpu[data=2, model=4]>
    """
    _join()
    return _C.make_mesh(device, shape, list(names), list(ranks))


def partial(kind: str) -> Any:
    """The SBP of values whose "sum", "max" or "min" over the ranks is the tensor."""
    kinds = {"sum": partial_sum, "max": partial_max, "min": partial_min}
    if kind not in kinds:
        raise ValueError(f"partial(): kind must be 'sum', 'max' or 'min', got {kind!r}")
    return kinds[kind]


def distribute(tensor: Tensor, mesh: Any, sbp: Any) -> Tensor:
    """A global tensor from a value that every process holds whole.

    Each rank keeps its part: a slice where `sbp` splits, a copy where it broadcasts. Gradients come back whole.
    """
    return _C.to_global(tensor, mesh, sbp)


def from_local(parts: Tensor | Sequence[Tensor], mesh: Any, sbp: Any, *, shape: Sequence[int] | None = None) -> Tensor:
    """A global tensor from parts: one for each rank of the mesh that this process hosts, in the order of the mesh.

    The tensor shares the memory of the parts. Sizes along split axes are added up, unless `shape` gives the whole.
    """
    return _C.from_local([parts] if isinstance(parts, Tensor) else parts, mesh, sbp, shape)


def signature(op: str, *axes: tuple[Sequence[Any], Sequence[Any]]) -> Any:
    """A context in which calls of an op on global tensors run under the given SBP signature, instead of the cheapest one.

    Args:
        op: its name, as "linear".
        axes: for each axis of the mesh a pair, the SBP of the inputs and those of the outputs.
    Raises ValueError, when the op is called, with the legal signatures if this is none of them.
    """
    return _C.fix_signature(op, axes)


@contextmanager
def implicit_broadcast() -> Iterator[None]:
    """A context in which an ordinary tensor beside a global one is taken as a value that every process holds, and that every rank uses.

    Without it this is an error, since the tensor could be another one on each process. Modules placed with Module.to_global
    run in it.
    """
    _C.count_implicit_broadcast(1)
    try:
        yield
    finally:
        _C.count_implicit_broadcast(-1)


def _method(f: Callable[..., Any]) -> Callable[..., Any]:
    f.__qualname__ = f"Tensor.{f.__name__}"
    setattr(Tensor, f.__name__, f)
    return f


@_method
def to_global(self: Tensor, mesh: Any, sbp: Any) -> Tensor:
    """This tensor on a mesh, with one SBP for each axis of it: hw.split(axis), hw.broadcast, hw.partial_sum.

    A global tensor is moved (boxing); an ordinary one is taken as a value that every process holds whole, as by
    hw.distribute. Values stay the same, and gradients flow back.
    """
    return _C.to_global(self, mesh, sbp)


@_method
def to_local(self: Tensor, rank: int | None = None) -> Tensor:
    """The part of one rank, sharing its memory, without history.

    Args:
        rank: one that this process hosts; may be left out where it hosts one only.
    """
    parts = dict(_C.local_parts(self))
    if rank is None:
        if len(parts) != 1:
            raise ValueError(f"to_local(): this process hosts the ranks {list(parts)}; name one of them")
        return next(iter(parts.values()))
    if rank not in parts:
        raise ValueError(f"to_local(): this process hosts the ranks {list(parts)}, not {rank}")
    return parts[rank]


@_method
def full(self: Tensor) -> Tensor:
    """The whole value as an ordinary tensor, on every process of the mesh; an ordinary tensor is returned itself."""
    return _C.full(self)


Tensor.is_global = property(_C.is_global, doc="Whether this tensor lies on a mesh.")
Tensor.mesh = property(_C.mesh_of, doc="The mesh of a global tensor.")
Tensor.sbp = property(_C.sbp_of, doc="How a global tensor lies on each axis of its mesh.")


def install(namespace: dict[str, Any]) -> None:
    """Lets hw.split(axis) make an SBP, beside hw.split(tensor, sizes)."""
    plain = namespace["split"]

    def split(tensor: Any, split_size_or_sections: Any = None, dim: int = 0) -> Any:
        if isinstance(tensor, int) and split_size_or_sections is None:
            return _C.sbp_split(tensor)
        return plain(tensor, split_size_or_sections, dim)

    namespace["split"] = _named(split, plain)
