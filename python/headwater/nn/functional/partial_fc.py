"""Classifiers with very many classes: cosines, a margin for the target, and a sample of the other classes."""

from __future__ import annotations

from typing import Any

import headwater as hw
from headwater import _C, Tensor, recording
from headwater.autograd import rows as by_rows
from headwater.autograd.function import Function

EPS = 1e-12  # of a norm, as in normalize


def _each_rank(t: Tensor, table: Tensor) -> list[Tensor]:
    """The whole of `t` for each rank that this process hosts."""
    if not table.is_global:
        return [t.detach()]
    everywhere = t.detach().to_global(table.mesh, [hw.broadcast] * table.mesh.ndim)
    return [part for _, part in _C.local_parts(everywhere)]


def _joined(parts: list[Tensor], table: Tensor, how: Any) -> Tensor:
    """What the ranks hold, as one tensor: `how` along the axes of the mesh over which the table is split."""
    if not table.is_global:
        return parts[0]
    sbp = [how if s.is_split else hw.broadcast for s in table.sbp]
    return hw.from_local(parts, table.mesh, sbp, shape=parts[0].shape)


class _Classes:
    """What one rank knows of its classes in this step."""

    def __init__(self, part: Tensor, first: int, end: int, target: Tensor, draw: Tensor | None, rate: float) -> None:
        mine = (target >= first) & (target < end)
        place = hw.where(mine, target - first, hw.zeros_like(target))
        self.index: Tensor | None = None
        if draw is not None:
            chosen = draw < rate
            chosen[place.index_select(0, hw.nonzero(mine).reshape(-1))] = True
            self.index = hw.nonzero(chosen).reshape(-1)
            part = part.index_select(0, self.index)
            place = hw.searchsorted(self.index, place)
        self.target = hw.where(mine, place, hw.full_like(place, -1))
        self.inverse = 1 / hw.linalg_vector_norm(part, 2, [1], keepdim=True).clamp(min=EPS)
        self.centres = part * self.inverse if self.index is None else part.mul_(self.inverse)

    def scores(self, x: Tensor, options: dict[str, float]) -> Tensor:
        """The greatest score of each row."""
        self.options = {**options, "ignore_index": -1, "classes": -1}
        self.cosines = hw.linear(x, self.centres)
        if self.cosines.shape[1] == 0:
            return hw.full((x.shape[0],), float("-inf"), dtype=x.dtype)
        return _C.op_function_of("_class_max", False)(self.cosines, self.target, **self.options)

    def sums(self, top: Tensor) -> Tensor:
        """(2, N): the sums of exponentials, and the scores of targets that are here."""
        self.top = top
        return hw.stack(list(_C.op_function_of("_class_sums", False)(self.cosines, self.target, top, **self.options)))

    def gradients(self, x: Tensor, sums: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
        """This rank's share of the gradient of x, and the gradient of its rows of the table."""
        back = _C.op_function_of("_class_sums_grad", False)
        d = back(self.cosines, self.target, self.top, dy / sums, -dy, **self.options)
        along = (d * self.cosines).sum(0).unsqueeze(1)  # of each class: its gradient times its centre
        del self.cosines
        dx, rows = hw.matmul(d, self.centres), hw.matmul(d.t(), x)
        return dx, rows.addcmul_(self.centres, along, value=-1).mul_(self.inverse)


class _MarginOverClasses(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, table: Tensor, target: Tensor, rate: float, draw: Tensor | None, options: dict[str, float]) -> Tensor:
        xs, targets = _each_rank(x, table), _each_rank(target, table)
        draws = [None] * len(xs) if draw is None else [part for part, _, _ in by_rows.parts_of(draw)]
        ranks = [
            _Classes(part, first, end, t, u, rate)
            for (part, first, end), t, u in zip(by_rows.parts_of(table), targets, draws, strict=True)
        ]
        top = _joined([c.scores(x, options) for c, x in zip(ranks, xs, strict=True)], table, hw.partial_max)
        tops = _each_rank(top, table)
        sums = _joined([c.sums(t) for c, t in zip(ranks, tops, strict=True)], table, hw.partial_sum)
        both = _each_rank(sums, table)
        losses = [hw.log(s[0]) + t - s[1] for s, t in zip(both, tops, strict=True)]
        ctx.saved = (table, xs, ranks, [s[0] for s in both])
        return _joined(losses, table, hw.broadcast)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        if ctx.saved is None:
            raise RuntimeError("partial_margin_cross_entropy keeps what backward needs for one backward pass only")
        (table, xs, ranks, sums), ctx.saved = ctx.saved, None
        dys = _each_rank(dy, table)
        with hw.no_grad(), _C.CreatedLike(None):
            found = [c.gradients(x, s, d) for c, x, s, d in zip(ranks, xs, sums, dys, strict=True)]
        dx = _joined([d for d, _ in found], table, hw.partial_sum)
        if not ctx.needs_input_grad[1]:
            return dx, None, None, None, None, None
        if ranks[0].index is not None:
            by_rows.accumulate(
                table, by_rows.RowGradient(table, [(c.index, g) for c, (_, g) in zip(ranks, found, strict=True)], lazy=True)
            )
            return dx, None, None, None, None, None
        whole = found[0][1]
        if table.is_global:
            whole = hw.from_local([g for _, g in found], table.mesh, table.sbp, shape=table.shape)
        return dx, whole, None, None, None, None


def partial_margin_cross_entropy(
    input: Tensor,
    weight: Tensor,
    target: Tensor,
    sample_rate: float = 1.0,
    margin1: float = 1.0,
    margin2: float = 0.5,
    margin3: float = 0.0,
    scale: float = 64.0,
    reduction: str = "mean",
    generator: Any = None,
) -> Tensor:
    """margin_cross_entropy of the cosines between `input` (N, D) and the classes `weight` (C, D), over a sample of the classes.

    The targets of the batch always take part; every other class with the probability `sample_rate`, decided by the number that belongs
    to the class in this draw, so that the sample is the same however the classes are split over ranks (An et al., "Partial FC: training
    10 million identities on a single machine", ICCVW 2021, take a fixed number on each rank instead). Below 1 the gradient of
    `weight` is `weight.sparse_grad`, of the rows that took part; at 1 it is `weight.grad`.

    A `weight` that is split by rows stays so: each rank works on its classes, and the ranks exchange the inputs, three numbers for each
    input, and the gradient of the inputs. Along mesh axes that do not split it all ranks do the same work. Can be differentiated once.
    """
    if not 0 < sample_rate <= 1:
        raise ValueError(f"sample_rate must be in (0, 1], got {sample_rate}")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}")
    if weight.is_global and any(s.is_partial or s == hw.split(1) for s in weight.sbp):
        raise ValueError(f"weight may be split by classes only, hw.split(0), but lies as {weight.sbp}")
    if input.ndim != 2 or weight.ndim != 2 or input.shape[1] != weight.shape[1] or tuple(target.shape) != (input.shape[0],):
        raise ValueError(
            f"input, weight and target must be (N, D), (C, D) and (N,), got {tuple(input.shape)}, {tuple(weight.shape)} and "
            f"{tuple(target.shape)}"
        )
    if not weight.is_global and input.is_global:
        raise TypeError("input is global, but weight is an ordinary tensor; place it with to_global(mesh, sbp)")
    draw = None
    if sample_rate < 1:
        if recording.current is not None:
            raise RuntimeError(
                "partial_margin_cross_entropy: how many classes a sample has is known only when it is drawn, and hw.compile needs sizes "
                "before that. Call it and the optimiser's step outside of the compiled function, or take all classes (sample_rate=1)"
            )
        with hw.no_grad():
            draw = hw.empty((weight.shape[0],))
            if weight.is_global:
                draw = hw.distributed.empty(weight.shape[:1], weight.mesh, weight.sbp)
            draw = draw.uniform_(generator=generator)
    options = {"margin1": margin1, "margin2": margin2, "margin3": margin3, "scale": scale}
    x = hw.nn.functional.normalize(input, eps=EPS)
    if weight.is_global and not x.is_global:
        x = x.to_global(weight.mesh, [hw.broadcast] * weight.mesh.ndim)
    if weight.is_global and not target.is_global:
        target = target.to_global(weight.mesh, [hw.broadcast] * weight.mesh.ndim)
    loss = _MarginOverClasses.apply(x, weight, target, sample_rate, draw, options)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()
