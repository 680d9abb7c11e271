"""Subsets of the ranks, and how a reduction joins their values."""

from __future__ import annotations

from collections.abc import Iterable

from . import world


class ReduceOp:
    """torch's names of the reductions. Booleans: SUM and MAX are "any", MIN and PRODUCT "all"; MAX and MIN pass NaN on."""

    SUM, MAX, MIN, PRODUCT, AVG = "sum", "max", "min", "product", "avg"


class ProcessGroup:
    """Some ranks of the world, in the order of their parts; made by new_group(). No ranks: all of them."""

    def __init__(self, ranks: Iterable[int] = ()):
        self.ranks = tuple(ranks)

    def rank(self) -> int:
        return world.get_rank(self)

    def size(self) -> int:
        return world.get_world_size(self)

    def members(self) -> tuple[int, ...]:
        return self.ranks or tuple(range(world.get_world_size()))

    def __repr__(self) -> str:
        return f"ProcessGroup({list(self.members())})"


WORLD = ProcessGroup()


def new_group(ranks: Iterable[int] | None = None) -> ProcessGroup:
    """A group of `ranks` (all, if None), for the `group` argument of the collectives. Needs no communication; only members may use it."""
    if ranks is None:
        return WORLD
    chosen, size = list(ranks), world.get_world_size()
    if not chosen:
        raise ValueError("a group needs at least one rank")
    for r in chosen:
        if not 0 <= r < size:
            raise ValueError(f"the group names rank {r}; there are ranks 0 to {size - 1}")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"the group names a rank twice: {chosen}")
    return ProcessGroup(chosen)


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks of the world that are members, in the group's order."""
    return list((group or WORLD).members())
