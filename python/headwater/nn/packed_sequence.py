"""Sequences of different lengths without their padding, as recurrent networks take them: all first steps, all second steps, ..."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import headwater as hw
from headwater import Tensor


class PackedSequence(namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])):
    """What pack_padded_sequence makes.

    data: (sum of lengths, ...); batch_sizes: how many sequences have step 0, 1, ...; sorted_indices: the order, longest
    first, in which the sequences are stored, or None; unsorted_indices: its inverse.
    """

    __slots__ = ()

    def __new__(
        cls, data: Tensor, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> PackedSequence:
        if batch_sizes is None:
            raise ValueError("a PackedSequence needs batch_sizes; make one with pack_padded_sequence")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with the data converted, as Tensor.to."""
        return self._replace(data=self.data.to(*args, **kwargs))


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another."""
    if permutation is None:
        return None
    return hw.zeros_like(permutation).scatter(0, permutation, hw.arange(len(permutation), dtype=permutation.dtype))


def _places(batch_sizes: list[int], batch: int) -> Tensor:
    """Where each packed row lies in (longest * batch) rows."""
    return hw.tensor([t * batch + b for t, size in enumerate(batch_sizes) for b in range(size)], dtype=hw.int64)


def lengths_of(batch_sizes: Tensor) -> list[int]:
    """The lengths of the sequences, longest first."""
    sizes = batch_sizes.tolist()
    return [sum(size > b for size in sizes) for b in range(sizes[0] if sizes else 0)]


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Takes the padding out of (L, N, ...), or (N, L, ...) with batch_first; `lengths` has one entry for each sequence.

    With enforce_sorted the lengths must fall; else the sequences are sorted, and the result remembers how.
    """
    lengths = [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    if batch_first:
        input = input.transpose(0, 1)
    if input.ndim < 2 or len(lengths) != input.shape[1]:
        raise RuntimeError(f"pack_padded_sequence: {len(lengths)} lengths do not fit input {list(input.shape)}")
    if not lengths or min(lengths) <= 0 or max(lengths) > input.shape[0]:
        raise RuntimeError(f"pack_padded_sequence: lengths must be between 1 and {input.shape[0]}, got {lengths}")
    order = None
    if enforce_sorted:
        if any(a < b for a, b in zip(lengths, lengths[1:])):
            raise RuntimeError(f"pack_padded_sequence: lengths must fall, got {lengths}; or pass enforce_sorted=False")
    else:
        order = hw.tensor(sorted(range(len(lengths)), key=lambda b: -lengths[b]), dtype=hw.int64)
        lengths = sorted(lengths, reverse=True)
        input = input.index_select(1, order)
    sizes = [sum(n > t for n in lengths) for t in range(lengths[0])]
    rows = input.reshape((input.shape[0] * input.shape[1], *input.shape[2:]))
    data = rows.index_select(0, _places(sizes, len(lengths)))
    return PackedSequence(data, hw.tensor(sizes, dtype=hw.int64), order)


def unpacked(sequence: PackedSequence, padding_value: float = 0.0, total_length: int | None = None) -> Tensor:
    """(L, N, ...), the sequences in the stored order."""
    sizes = sequence.batch_sizes.tolist()
    longest, batch = len(sizes), sizes[0]
    if total_length is not None and total_length < longest:
        raise ValueError(f"pad_packed_sequence: total_length {total_length} is less than the longest, {longest}")
    longest = total_length or longest
    rest = sequence.data.shape[1:]
    rows = hw.full((longest * batch, *rest), padding_value, dtype=sequence.data.dtype)
    return rows.index_copy(0, _places(sizes, batch), sequence.data).reshape((longest, batch, *rest))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The inverse of pack_padded_sequence: the padded tensor, in the original order, and the lengths."""
    padded, lengths = unpacked(sequence, padding_value, total_length), hw.tensor(lengths_of(sequence.batch_sizes))
    if sequence.unsorted_indices is not None:
        padded, lengths = padded.index_select(1, sequence.unsorted_indices), lengths[sequence.unsorted_indices]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def run_packed(network: Any, sequence: PackedSequence, given: list[Tensor] | None) -> tuple[PackedSequence, list[Tensor]]:
    """A recurrent network over packed sequences: those of equal length run together, so that both directions are right."""
    lengths = lengths_of(sequence.batch_sizes)
    x, sizes = unpacked(sequence), sequence.batch_sizes.tolist()
    if given is not None and sequence.sorted_indices is not None:
        given = [state.index_select(1, sequence.sorted_indices) for state in given]
    outputs, states, begin = [], [], 0
    while begin < len(lengths):
        end = begin + lengths.count(lengths[begin])
        part = x[: lengths[begin], begin:end]
        start = None if given is None else [state[:, begin:end] for state in given]
        output, final = network(part, start)
        outputs.append(hw.pad(output, (0, 0, 0, 0, 0, len(sizes) - lengths[begin])))
        states.append(final)
        begin = end
    joined = hw.cat(outputs, 1)
    rows = joined.reshape((joined.shape[0] * joined.shape[1], joined.shape[2]))
    data = rows.index_select(0, _places(sizes, len(lengths)))
    last = [hw.cat(list(parts), 1) for parts in zip(*states)]
    if sequence.unsorted_indices is not None:
        last = [state.index_select(1, sequence.unsorted_indices) for state in last]
    return sequence._replace(data=data), last


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs tensors (L_i, ...)."""
    from .utils.rnn import pad_sequence

    return pack_padded_sequence(pad_sequence(sequences), [len(s) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The inverse of pack_sequence."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return [row[:n] for row, n in zip(padded, lengths.tolist())]
