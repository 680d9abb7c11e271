"""Look-ups in embedding tables."""

from __future__ import annotations

from typing import Any

import headwater as hw
from headwater import _C, Tensor, recording
from headwater.autograd import rows as by_rows
from headwater.autograd.function import Function


class _SparseLookUp(Function):
    """embedding, whose gradient goes to weight.sparse_grad."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor, padding_idx: int, by_frequency: bool) -> Tensor:
        ctx.call = (weight, input, padding_idx, by_frequency)
        return hw.embedding(input, weight, padding_idx, by_frequency)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        weight, input, padding_idx, by_frequency = ctx.call
        with hw.no_grad(), _C.CreatedLike(None):
            by_rows.accumulate(weight, by_rows.RowGradient.of_lookup(weight, input, dy.detach(), padding_idx, by_frequency))
        return None, None, None, None


def _joined(found: Tensor, input: Tensor, axes: int) -> Tensor:
    """What ranks found in their parts of a table, added up and lying as the input does, of which `axes` axes are left. Left alone it would
    be partial until some op needs its value, which may then be an op that moves more than this."""
    if not (found.is_global and input.is_global):
        return found
    pairs = list(zip(found.sbp, input.sbp, strict=True))
    want = [i if f.is_partial and i.is_split and i.axis < axes else f for f, i in pairs]
    return found if want == [f for f, _ in pairs] else found.to_global(found.mesh, want)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight` (V, D) at the indices `input` (...): (..., D).

    Args:
        padding_idx: a row that gets no gradient; negative counts from the end.
        max_norm: rows that are looked up and longer than this are scaled down in `weight` first.
        sparse: the gradient of a leaf `weight` is `weight.sparse_grad`. In a compiled step it stays dense until the optimiser's step,
            which is fused with it.
    """
    return _joined(_look_up(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse), input, input.ndim)


def _look_up(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None,
    max_norm: float | None,
    norm_type: float,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Tensor:
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"embedding: padding_idx {padding_idx} must be within the {rows} rows of weight")
        padding_idx %= rows
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    padding = -1 if padding_idx is None else padding_idx
    if sparse and weight.requires_grad and weight.is_leaf and recording.current is None and hw.is_grad_enabled():
        return _SparseLookUp.apply(input, weight, padding, scale_grad_by_freq)
    return hw.embedding(input, weight, padding, scale_grad_by_freq, sparse)


def _renormalise(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    if weight.is_global and any(s.is_split for s in weight.sbp):
        raise NotImplementedError(f"embedding: max_norm needs a whole weight, but it lies as {weight.sbp}")
    with hw.no_grad():
        rows = input.reshape(-1)
        chosen = weight.index_select(0, rows)
        norms = hw.norm(chosen, norm_type, 1, keepdim=True)
        scale = hw.where(norms > max_norm, max_norm / (norms + 1e-7), hw.ones_like(norms))
        weight[rows] = chosen * scale


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sum, mean or maximum of the rows of each bag: (B, D).

    Args:
        input: (B, L), one bag a row; or (T,) together with `offsets` (B,), where each bag starts.
        per_sample_weights: a factor for each index, for mode "sum".
        include_last_offset: `offsets` has one more entry, the length of `input`.
        padding_idx: an index that counts as absent.
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag: mode has to be one of sum, mean or max, got {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights needs mode='sum', got {mode!r}")
    if input.ndim == 2 and offsets is None and mode != "max" and padding_idx is None:
        bags, length = input.shape  # bags of one length: a sum along an axis
        rows = _look_up(input, weight, None, max_norm, norm_type, scale_grad_by_freq, sparse)
        if per_sample_weights is not None:
            rows = rows * per_sample_weights.reshape(bags, length, 1)
        out = _joined(rows.squeeze(1) if length == 1 else rows.sum(1), input, 1)
        return out / max(length, 1) if mode == "mean" and length != 1 else out
    flat, bag, bags = _bags(input, offsets, include_last_offset)
    rows = embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    if padding_idx is not None:
        kept = (flat != padding_idx % weight.shape[0]).nonzero().reshape(-1)
        rows, bag = rows.index_select(0, kept), bag.index_select(0, kept)
    if mode == "max":
        return _maximum(rows, bag, bags)
    out = hw.zeros(bags, weight.shape[1], dtype=weight.dtype).index_add(0, bag, rows)
    if mode == "mean":
        ones = hw.ones(bag.shape[0], dtype=weight.dtype)
        out = out / hw.zeros(bags, dtype=weight.dtype).index_add(0, bag, ones).clamp(min=1).unsqueeze(1)
    return out


def _bags(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> tuple[Tensor, Tensor, int]:
    """The indices in one row, the bag of each, and the number of bags."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: if input is 2D, then offsets has to be None")
        bags, length = input.shape
        return input.reshape(-1), hw.arange(bags).unsqueeze(1).expand(bags, length).reshape(-1), bags
    if input.ndim != 1 or offsets is None or offsets.ndim != 1:
        raise ValueError(
            f"embedding_bag: input must be 2D, or 1D with 1D offsets; got input {tuple(input.shape)} and "
            f"offsets {None if offsets is None else tuple(offsets.shape)}"
        )
    starts = offsets[:-1] if include_last_offset else offsets
    bags = starts.shape[0]
    if bags and int(starts[0]) != 0:
        raise ValueError(f"embedding_bag: offsets[0] has to be 0, got {int(starts[0])}")
    length = input.shape[0]
    begins = hw.zeros(length + 1, dtype=hw.int64)  # one slot more: empty bags at the end start there
    begins = begins.index_add(0, starts.to(hw.int64), hw.ones(bags, dtype=hw.int64))
    bag = begins[:length].cumsum(0) - 1
    return input, bag, bags


def _maximum(rows: Tensor, bag: Tensor, bags: int) -> Tensor:
    """Largest value of each column in each bag; zero for an empty bag."""
    out = []
    for index in range(bags):
        members = (bag == index).nonzero().reshape(-1)
        if members.shape[0] == 0:
            out.append(hw.zeros(rows.shape[1], dtype=rows.dtype))
        else:
            out.append(rows.index_select(0, members).amax(0))
    return hw.stack(out) if out else hw.zeros(0, rows.shape[1], dtype=rows.dtype)
