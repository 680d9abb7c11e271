"""Collectives and messages on tensors, with torch.distributed's names and arguments.

Tensors are on the CPU and of any dtype. Every member of a group makes the same calls in the same order. With `async_op=True` the call
returns a `Work` at once; the tensors must not be written before its wait() (nor read, those that receive). Sums are formed in the order
of the ranks, 16-bit floats in float32: every rank gets the same bits, whatever the engine and however tensors are bundled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import headwater as hw

from . import world
from .groups import WORLD, ProcessGroup, ReduceOp


class Work:
    """Something under way."""

    def __init__(self, request: Any, after: Callable[[], None] | None = None):
        self._request, self._after, self._kept = request, after, None

    def wait(self, timeout: float | timedelta | None = None) -> bool:
        """Blocks until it is done. Raises RuntimeError with the first cause when any rank failed, or after `timeout` seconds (default:
        that of init()), in which case all ranks are told."""
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        self._request.wait(world.timeout() if seconds is None else float(seconds))
        self._finish()
        return True

    def is_completed(self) -> bool:
        """Whether it is done, without waiting."""
        if not self._request.is_completed():
            return False
        self._finish()
        return True

    def _finish(self) -> None:
        after, self._after = self._after, None
        if after:
            after()


def _ended(request: Any, async_op: bool, after: Callable[[], None] | None = None) -> Work | None:
    work = Work(request, after)
    if async_op:
        return work
    work.wait()
    return None


def _members(group: ProcessGroup | None) -> list[int]:
    """For _C: empty means the world."""
    world.comm()
    return list((group or WORLD).ranks)


def _place(t: Any) -> tuple[Any, Callable[[], None] | None]:
    """A contiguous tensor that may be written for `t`, and what brings it there afterwards."""
    if t.is_contiguous():
        return t.detach(), None
    dense = t.detach().contiguous()

    def back() -> None:
        with hw.no_grad():
            t.copy_(dense)

    return dense, back


def _dense(t: Any) -> Any:
    return t.detach().contiguous()


def _peer(rank: int | None, what: str) -> int:
    if rank is None:
        raise ValueError(f"say {what} rank: messages from any rank are not supported")
    return rank


# ---------------------------------------------------------------------- messages
def isend(tensor: Any, dst: int, group: ProcessGroup | None = None, tag: int = 0) -> Work:
    """Starts to send `tensor` to the rank `dst` of the world; it must not be written before wait()."""
    return Work(world.comm().send(_dense(tensor), _peer(dst, "to which"), tag))


def irecv(tensor: Any, src: int, group: ProcessGroup | None = None, tag: int = 0) -> Work:
    """Starts to receive into `tensor`, which has the shape and dtype of what the rank `src` sends with this tag."""
    place, after = _place(tensor)
    return Work(world.comm().recv(place, _peer(src, "from which"), tag), after)


def send(tensor: Any, dst: int, group: ProcessGroup | None = None, tag: int = 0) -> None:
    """Sends `tensor` to the rank `dst`; returns when it may be written again, perhaps before it is received."""
    isend(tensor, dst, group, tag).wait()


def recv(tensor: Any, src: int, group: ProcessGroup | None = None, tag: int = 0) -> int:
    """Receives into `tensor`; returns `src`."""
    irecv(tensor, src, group, tag).wait()
    return src


# ---------------------------------------------------------------------- one tensor for all
def all_reduce(tensor: Any, op: str = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Every rank's `tensor` becomes the sum (max, ...) of all ranks', in place."""
    place, after = _place(tensor)
    return _ended(world.comm().all_reduce(place, op, _members(group)), async_op, after)


def all_reduce_coalesced(tensors: Sequence[Any], op: str = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False,
                         wire: Any = None) -> Work | None:  # fmt: skip
    """all_reduce of many tensors of one dtype as one message. wire=hw.bfloat16 sends float32 with half the bytes: what each rank has is
    rounded, summed in float32, and rounded again."""
    if all(t.is_contiguous() for t in tensors):
        return _ended(world.comm().all_reduce_many(list(tensors), op, wire, _members(group)), async_op)
    places = [_place(t) for t in tensors]

    def back() -> None:
        for _, after in places:
            if after:
                after()

    return _ended(world.comm().all_reduce_many([p for p, _ in places], op, wire, _members(group)), async_op, back)


def reduce(tensor: Any, dst: int, op: str = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """all_reduce whose result only the rank `dst` may use; the others keep what they had."""
    mine = tensor if world.get_rank() == dst else tensor.detach().clone()
    return all_reduce(mine, op, group, async_op)


def broadcast(tensor: Any, src: int, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Every rank's `tensor` becomes that of the rank `src` of the world."""
    place, after = _place(tensor)
    return _ended(world.comm().broadcast(place, src, _members(group)), async_op, after)


def barrier(group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Returns when every member has called it."""
    return _ended(world.comm().barrier(_members(group)), async_op)


# ---------------------------------------------------------------------- parts
def _even(numel: int, group: ProcessGroup | None, what: str) -> list[int]:
    size = world.get_world_size(group)
    if size < 0:
        raise ValueError(f"rank {world.get_rank()} is no member of {group}")
    if numel % size:
        raise ValueError(f"{what} has {numel} elements, which {size} ranks cannot share evenly; name the parts, or use a list of tensors")
    return [numel // size] * size


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: ProcessGroup | None = None,
                           async_op: bool = False) -> Work | None:  # fmt: skip
    """`output_tensor` becomes the `input_tensor` of all ranks, one after the other; all of one size."""
    place, after = _place(output_tensor)
    counts = _even(place.numel(), group, "output_tensor")
    if input_tensor.numel() != counts[0]:
        raise ValueError(f"output_tensor has {place.numel()} elements for {len(counts)} ranks, input_tensor has {input_tensor.numel()}")
    return _ended(world.comm().all_gather(_dense(input_tensor), place, counts, _members(group)), async_op, after)


def all_gather(tensor_list: Sequence[Any], tensor: Any, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """tensor_list[i] becomes the `tensor` of member i; they may differ in size, as long as each rank knows all sizes."""
    flat, after = _joined(tensor_list, fill=False)
    counts = [t.numel() for t in tensor_list]
    return _ended(world.comm().all_gather(_dense(tensor), flat, counts, _members(group)), async_op, after)


def reduce_scatter_tensor(output: Any, input: Any, op: str = ReduceOp.SUM, group: ProcessGroup | None = None,
                          async_op: bool = False) -> Work | None:  # fmt: skip
    """`output` becomes this rank's part of the sum (max, ...) of all ranks' `input`, which has a part of this size for each."""
    place, after = _place(output)
    counts = _even(input.numel(), group, "input")
    if place.numel() != counts[0]:
        raise ValueError(f"input has {input.numel()} elements for {len(counts)} ranks, output has {place.numel()}")
    return _ended(world.comm().reduce_scatter(_dense(input), place, counts, op, _members(group)), async_op, after)


def reduce_scatter(output: Any, input_list: Sequence[Any], op: str = ReduceOp.SUM, group: ProcessGroup | None = None,
                   async_op: bool = False) -> Work | None:  # fmt: skip
    """`output` becomes the sum (max, ...) of the input_list[i] of all ranks, where i is this rank's place; they may differ in size."""
    flat, _ = _joined(input_list, fill=True)
    place, after = _place(output)
    counts, mine = [t.numel() for t in input_list], world.get_rank(group)
    if mine >= 0 and len(counts) == world.get_world_size(group) and place.numel() != counts[mine]:
        raise ValueError(f"output has {place.numel()} elements, input_list[{mine}] has {counts[mine]}")
    return _ended(world.comm().reduce_scatter(flat, place, counts, op, _members(group)), async_op, after)


def all_to_all_single(output: Any, input: Any, output_split_sizes: Sequence[int] | None = None,
                      input_split_sizes: Sequence[int] | None = None, group: ProcessGroup | None = None,
                      async_op: bool = False) -> Work | None:  # fmt: skip
    """Part i of `input`, cut along the first axis, goes to member i; part i of `output` comes from it. Sizes count rows; even if None."""

    def counts(t: Any, sizes: Sequence[int] | None, what: str) -> list[int]:
        if sizes is None:
            return _even(t.numel(), group, what)
        row = t.numel() // t.shape[0] if t.ndim and t.shape[0] else 1
        return [n * row for n in sizes]

    place, after = _place(output)
    sent, received = counts(input, input_split_sizes, "input"), counts(place, output_split_sizes, "output")
    return _ended(world.comm().all_to_all(_dense(input), place, sent, received, _members(group)), async_op, after)


def all_to_all(output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any], group: ProcessGroup | None = None,
               async_op: bool = False) -> Work | None:  # fmt: skip
    """input_tensor_list[i] goes to member i; output_tensor_list[i] comes from it; all may differ in size."""
    (flat_in, _), (flat_out, after) = _joined(input_tensor_list, fill=True), _joined(output_tensor_list, fill=False)
    sent, received = [t.numel() for t in input_tensor_list], [t.numel() for t in output_tensor_list]
    return _ended(world.comm().all_to_all(flat_in, flat_out, sent, received, _members(group)), async_op, after)


def _joined(tensors: Sequence[Any], fill: bool) -> tuple[Any, Callable[[], None]]:
    """One flat tensor for all, and what brings its parts back to them."""
    if not tensors:
        raise ValueError("the list of tensors is empty; it has one for each member of the group")
    dtypes = {t.dtype.name for t in tensors}
    if len(dtypes) > 1:
        raise ValueError(f"the tensors of a list have one dtype, got {', '.join(sorted(dtypes))}")
    if fill:
        return hw.cat([_dense(t).reshape(-1) for t in tensors]), lambda: None
    flat = hw.empty(sum(t.numel() for t in tensors), dtype=tensors[0].dtype)

    def back() -> None:
        at = 0
        with hw.no_grad():
            for t in tensors:
                t.copy_(flat[at : at + t.numel()].reshape(t.shape))
                at += t.numel()

    return flat, back
