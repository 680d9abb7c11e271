"""Gradients of a table by rows: only those that a step used, on the rank that holds them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import headwater as hw

from .. import _C
from .._C import Tensor

in_use = False  # whether any table of this process ever had such a gradient


def parts_of(table: Tensor) -> list[tuple[Tensor, int, int]]:
    """(part, its first row, the row behind its last) for each rank that this process hosts; the table itself if it is ordinary."""
    if not table.is_global:
        return [(table.detach(), 0, table.shape[0])]
    boxes = _C.hosted_boxes(table.mesh, table.sbp, table.shape)
    return [(part, *box[0]) for (_, part), (_, box) in zip(_C.local_parts(table), boxes, strict=True)]


def _summed(index: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Each row once, in ascending order, with the sum of what belongs to it."""
    rows, inverse = hw.unique(index, return_inverse=True)
    if rows.shape[0] == index.shape[0] and hw.equal(rows, index):
        return index, values
    zeros = hw.zeros((rows.shape[0], values.shape[1]), dtype=values.dtype)
    return rows, zeros.index_add(0, inverse, values)


class RowGradient:
    """The gradient of a table (V, D) that is zero outside of some rows: what `table.sparse_grad` is.

    `parts` has for each rank that this process hosts (one for an ordinary table) the numbers of rows within its part of the table,
    ascending, and their gradients (k, D). Several backward passes add up. `lazy`: rows without gradient are to be left alone by
    momentum and weight decay.
    """

    def __init__(self, table: Tensor, parts: Sequence[tuple[Tensor, Tensor]], lazy: bool = False) -> None:
        self.shape, self.parts, self.lazy = tuple(table.shape), list(parts), lazy
        self._place = (table.mesh, table.sbp) if table.is_global else None

    @classmethod
    def of_lookup(cls, table: Tensor, index: Tensor, gradient: Tensor, padding_idx: int, by_frequency: bool) -> RowGradient:
        """Of table[index], given the gradient (..., D) of the rows that were looked up."""
        if table.is_global:
            mesh, n = table.mesh, index.ndim
            index = index.to_global(mesh, [hw.broadcast] * mesh.ndim)
            columns = [hw.split(n) if s == hw.split(1) else hw.broadcast for s in table.sbp]
            gradient = gradient.to_global(mesh, columns)
            indices = [part for _, part in _C.local_parts(index)]
            gradients = [part for _, part in _C.local_parts(gradient)]
        else:
            indices, gradients = [index], [gradient]
        parts = []
        for (_, first, end), i, g in zip(parts_of(table), indices, gradients, strict=True):
            i, g = i.reshape(-1).to(hw.int64), g.reshape(-1, g.shape[-1])
            if by_frequency:
                _, inverse, counts = hw.unique(i, return_inverse=True, return_counts=True)
                g = g / counts.to(g.dtype).index_select(0, inverse).unsqueeze(1)
            if table.is_global or padding_idx >= 0:
                here = hw.nonzero((i >= first) & (i < end) & (i != padding_idx)).reshape(-1)
                i, g = i.index_select(0, here) - first, g.index_select(0, here)
            parts.append(_summed(i, g))
        return cls(table, parts)

    def add(self, other: RowGradient) -> RowGradient:
        both = [
            _summed(hw.cat([i, k]), hw.cat([g, h])) for (i, g), (k, h) in zip(self.parts, other.parts, strict=True)
        ]
        self.parts, self.lazy = both, self.lazy and other.lazy
        return self

    def to_dense(self) -> Tensor:
        """As a tensor of the shape of the table, lying where it lies."""
        if self._place is None:
            index, values = self.parts[0]
            return hw.zeros(self.shape, dtype=values.dtype).index_add(0, index, values)
        made = []
        for (_, box), (index, values) in zip(_C.hosted_boxes(*self._place, self.shape), self.parts, strict=True):
            made.append(hw.zeros([e - b for b, e in box], dtype=values.dtype).index_add(0, index, values))
        return hw.from_local(made, *self._place, shape=self.shape)

    def mul_(self, factor: Any) -> None:
        factor = float(factor)
        self.parts = [(index, values * factor) for index, values in self.parts]

    def square_sum(self) -> Tensor:
        """The sum of the squares of all elements, 0-d, the same on every process."""
        sums = [(values * values).sum() for _, values in self.parts]
        if self._place is None:
            return sums[0]
        mesh, sbp = self._place
        return hw.from_local(sums, mesh, [hw.partial_sum if s.is_split else s for s in sbp], shape=()).full()

    def __repr__(self) -> str:
        return f"RowGradient(shape={self.shape}, rows={[len(i) for i, _ in self.parts]})"


def accumulate(table: Tensor, gradient: RowGradient) -> None:
    """As backward does with `grad`."""
    global in_use
    in_use = True
    before = table.sparse_grad
    table._row_gradient = gradient if before is None else before.add(gradient)


def _sparse_grad(table: Tensor) -> RowGradient | None:
    return getattr(table, "_row_gradient", None)


Tensor.sparse_grad = property(
    _sparse_grad, doc="The gradient of a table by rows, where a layer makes it so (Embedding with sparse=True, PartialFC), else None."
)
