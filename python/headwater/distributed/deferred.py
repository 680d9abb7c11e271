"""Sums of gradients over ranks, once for all micro-batches and together for small tensors.

Between processes they are those of src/eager/global/sums.h, as after a plain backward(). The buckets here serve what is rehearsed or
captured, and sums over several ranks of a process.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import headwater as hw
from headwater import nn

from .stages import whole_sbp

SMALL = 1 << 18  # bytes of tensors that travel in company: a message's latency is that of some hundred kilobytes
BUCKET = 1 << 22


def _partial(t: Any) -> bool:
    return t is not None and t.is_global and any(s.is_partial for s in t.sbp)


def _buckets(parameters: list[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """Parameters whose gradients go together: of one dtype and place, none of them split."""
    open_ones: dict[Any, list[nn.Parameter]] = {}
    for p in parameters:
        g: Any = p.grad
        size = g.numel() * g.element_size()
        if size > SMALL or any(s.is_split for s in g.sbp):
            yield [p]
            continue
        key = (g.dtype.name, g.mesh, tuple(map(str, g.sbp)))
        bucket = open_ones.setdefault(key, [])
        bucket.append(p)
        if sum(q.numel() for q in bucket) * g.element_size() > BUCKET:
            yield open_ones.pop(key)
    yield from open_ones.values()


def _summed(bucket: list[nn.Parameter]) -> None:
    gradients: list[Any] = [p.grad for p in bucket]
    first = gradients[0]
    if len(bucket) == 1:
        bucket[0].grad = first.to_global(first.mesh, whole_sbp(first))
        return
    flat = hw.cat([g.reshape(-1) for g in gradients]).to_global(first.mesh, whole_sbp(first))
    for p, part in zip(bucket, flat.split([g.numel() for g in gradients]), strict=True):
        p.grad = part.view(p.shape).clone()


@contextmanager
def deferred_sums(model: nn.Module) -> Iterator[None]:
    """A context for backward passes: where a rank's gradient is a part of a sum, the sum over ranks is formed at its end.

    Gradients that were there before are added then. Leaves with hooks, and those whose gradients a plan wants split (ZeRO-2 and 3),
    are summed at once, as outside of it. After an error gradients are those from before.
    """
    parameters = list({id(p): p for p in model.parameters() if p.is_global and p.requires_grad}.values())
    earlier = [(p, p.grad) for p in parameters]
    for p in parameters:
        p.grad = None
    before = hw._C.defer_sums(True)
    try:
        yield
    except BaseException:
        for p, gradient in earlier:
            p.grad = gradient
        raise
    finally:
        hw._C.defer_sums(before)
    with hw.no_grad():
        rest = hw._C.sum_gradients([p for p in parameters if _partial(p.grad)])
        for bucket in list(_buckets(rest)):
            _summed(bucket)
        for p, gradient in earlier:
            if gradient is not None:
                p.grad = gradient if p.grad is None else gradient.add_(p.grad)
