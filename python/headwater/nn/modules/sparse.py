"""Embedding tables."""

from __future__ import annotations

from typing import Any

import headwater as hw
from headwater.autograd.rows import parts_of

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


def _padding_row(padding_idx: int | None, num_embeddings: int) -> int | None:
    if padding_idx is None:
        return None
    if not -num_embeddings <= padding_idx < num_embeddings:
        raise AssertionError(f"padding_idx must be within num_embeddings: got {padding_idx} for {num_embeddings} rows")
    return padding_idx % num_embeddings


class _Table(Module):
    def _make(self, weight: hw.Tensor | None, freeze: bool, device: Any, dtype: Any) -> None:
        shape = (self.num_embeddings, self.embedding_dim)
        if weight is None:
            self.weight = Parameter(hw.distributed.new_table(shape, device, dtype), requires_grad=not freeze)
            self.reset_parameters()
            return
        if tuple(weight.shape) != shape:
            raise AssertionError(
                f"Shape of weight {tuple(weight.shape)} does not match num_embeddings and embedding_dim {shape}"
            )
        self.weight = Parameter(weight, requires_grad=not freeze)

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def reset_parameters(self) -> None:
        """Standard normal; the padding row is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with hw.no_grad():
                for part, first, end in parts_of(self.weight):
                    if first <= self.padding_idx < end:
                        part[self.padding_idx - first].fill_(0)


class Embedding(_Table):
    """A table of vectors: indices (...) to (..., embedding_dim).

    Args:
        padding_idx: a row that starts at zero and gets no gradient.
        max_norm: rows that are looked up and longer than this are scaled down.
        sparse: the gradient is `weight.sparse_grad`, of the rows that were looked up, instead of `weight.grad`; SGD without momentum,
            Adagrad and SparseAdam step those rows only.

    A weight that is split over ranks by rows stays so: each rank looks up what it has.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: hw.Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _padding_row(padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._make(_weight, _freeze, device, dtype)

    def forward(self, input: hw.Tensor) -> hw.Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        return text + ", sparse=True" if self.sparse else text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: hw.Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A layer over a given table (V, D), not trained unless freeze=False."""
        if embeddings.ndim != 2:
            raise AssertionError(f"Embeddings parameter is expected to be 2-dimensional, got {tuple(embeddings.shape)}")
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """Sum, mean or maximum of the vectors of each bag of indices: (B, L), or (T,) with offsets (B,), to (B, D)."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: hw.Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = _padding_row(padding_idx, num_embeddings)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._make(_weight, False, device, dtype)

    def forward(
        self, input: hw.Tensor, offsets: hw.Tensor | None = None, per_sample_weights: hw.Tensor | None = None
    ) -> hw.Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: hw.Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A layer over a given table (V, D), not trained unless freeze=False."""
        if embeddings.ndim != 2:
            raise AssertionError(f"Embeddings parameter is expected to be 2-dimensional, got {tuple(embeddings.shape)}")
        rows, columns = embeddings.shape
        layer = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        layer.weight.requires_grad_(not freeze)
        return layer
