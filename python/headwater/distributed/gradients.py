"""Data parallel by hand: gradients averaged in buckets, and the check that all ranks still hold the same parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import headwater as hw

from . import world
from .collectives import Work, all_gather_into_tensor, all_reduce_coalesced, broadcast
from .groups import ProcessGroup, ReduceOp


def _parameters(of: Any) -> list[Any]:
    return list(of.parameters()) if hasattr(of, "parameters") else list(of)


def broadcast_parameters(module: Any, src: int = 0, group: ProcessGroup | None = None) -> None:
    """Every rank's parameters and buffers become those of the rank `src`: where data parallel training begins."""
    for t in [*module.parameters(), *module.buffers()]:
        broadcast(t, src, group)


def average_gradients(parameters: Any, group: ProcessGroup | None = None, wire: Any = None, bucket_bytes: int = 25 << 20) -> None:
    """After backward(): each gradient becomes the average over the ranks. `parameters`: a module, or an iterable of tensors; those
    without a gradient are left out, on all ranks the same. wire=hw.bfloat16 halves what is sent (see all_reduce_coalesced).

    The bits are those of one all_reduce a gradient: buckets change the time, not the numbers.
    """
    under_way: list[Work | None] = []
    bucket: list[Any] = []
    size = 0

    def start() -> None:
        nonlocal bucket, size
        if bucket:
            sent = wire if bucket[0].dtype == hw.float32 else None
            under_way.append(all_reduce_coalesced(bucket, ReduceOp.AVG, group, async_op=True, wire=sent))
        bucket, size = [], 0

    for p in _parameters(parameters):
        g = p.grad
        if g is None:
            continue
        if bucket and (bucket[0].dtype != g.dtype or size + g.numel() * g.dtype.itemsize > bucket_bytes):
            start()
        bucket.append(g)
        size += g.numel() * g.dtype.itemsize
    start()
    for work in under_way:
        if work:
            work.wait()


def check_equal(tensors: Any, group: ProcessGroup | None = None) -> None:
    """Raises RuntimeError on all ranks if a tensor differs between them in a single bit, naming the first that does and the rank that
    disagrees with most. `tensors`: a module (its parameters and buffers), a dict, or (name, tensor) pairs; in one order on all ranks.
    """
    if hasattr(tensors, "named_parameters"):
        named: list[tuple[str, Any]] = [*tensors.named_parameters(), *tensors.named_buffers()]
    else:
        named = list(tensors.items() if isinstance(tensors, dict) else tensors)
    ranks = world.get_world_size(group)
    hashes = hw.tensor([_hash(name, t) for name, t in named], dtype=hw.int64)
    everybody = hw.empty(ranks * len(named), dtype=hw.int64)
    all_gather_into_tensor(everybody, hashes, group)
    table = everybody.reshape(ranks, len(named)).tolist()
    members = list(group.members()) if group else list(range(ranks))
    for k, (name, _) in enumerate(named):
        column = [row[k] for row in table]
        if len(set(column)) == 1:
            continue
        usual = max(column, key=lambda value: (column.count(value), -column.index(value)))
        odd = next(i for i, value in enumerate(column) if value != usual)
        same = members[column.index(usual)]
        raise RuntimeError(
            f"the ranks disagree: {name!r} of rank {members[odd]} differs from that of rank {same} ({column[odd] & (1 << 64) - 1:016x}, "
            f"{column[column.index(usual)] & (1 << 64) - 1:016x}), and {sum(len({r[j] for r in table}) > 1 for j in range(len(named)))} of "
            f"{len(named)} tensors differ. Was a seed, a step or an update not the same on all ranks?"
        )


def _hash(name: str, t: Any) -> int:
    """63 bits and a sign, of the name, dtype, shape and bytes."""
    words = f"{name} {t.dtype.name} {tuple(t.shape)} {hw._C.hash_tensor(t.detach().contiguous())}"
    value = int(hw._C.hash_tensor(hw.frombuffer(bytearray(words.encode()), dtype=hw.uint8))[:16], 16)
    return value - (1 << 64) if value >= 1 << 63 else value


class ConsistencyCheck:
    """check_equal() of a module every so many steps.

    >>> check = hw.distributed.ConsistencyCheck(hw.nn.Linear(2, 1), every=100)
    >>> check.step()  # after each update
    """

    def __init__(self, tensors: Any, every: int = 100, group: ProcessGroup | None = None):
        if every < 1:
            raise ValueError(f"every={every}: check every step at most, with 1")
        self.tensors, self.every, self.group, self.steps = tensors, every, group, 0

    def step(self) -> None:
        self.steps += 1
        if self.steps % self.every == 0:
            try:
                check_equal(self.tensors if hasattr(self.tensors, "named_parameters") else self._again(), self.group)
            except RuntimeError as error:
                raise RuntimeError(f"after {self.steps} steps {error}") from None

    def _again(self) -> Iterable[tuple[str, Any]]:
        self.tensors = dict(self.tensors)
        return list(self.tensors.items())
