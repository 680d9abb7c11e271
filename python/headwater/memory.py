"""Memory of tensors: what is in use, what is cached."""
from __future__ import annotations

from . import _C


def stats() -> dict[str, int]:
    """Bytes and counts of the tensor allocator.

    allocated: in live tensors; peak_allocated: the most since reset_peak(); reserved: held from the system (live and cached);
    peak_reserved; allocations: calls so far; cache_hits: of which served from the cache.
    """
    return _C.memory_stats()


def reset_peak() -> None:
    """Sets the peaks to what is in use now."""
    _C.reset_peak_memory_stats()


def empty_cache() -> None:
    """Gives cached memory back to the system."""
    _C.empty_cache()
