"""Sequences of different lengths in one tensor."""

from __future__ import annotations

from collections.abc import Sequence

import headwater as hw

from ..packed_sequence import (
    PackedSequence,
    invert_permutation,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    unpack_sequence,
)

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


def pad_sequence(
    sequences: Sequence[hw.Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> hw.Tensor:
    """Tensors (L_i, ...) padded to the longest: (L, N, ...), or (N, L, ...) with batch_first."""
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"padding_side must be 'left' or 'right', got {padding_side!r}")
    rest = sequences[0].shape[1:]
    longest = max(s.shape[0] for s in sequences)
    padded = []
    for s in sequences:
        if s.shape[1:] != rest:
            raise RuntimeError(f"pad_sequence: all axes but the first must agree, got {tuple(s.shape)} and (*, {rest})")
        missing = longest - s.shape[0]
        sides = (missing, 0) if padding_side == "left" else (0, missing)
        padded.append(hw.pad(s, (*[0, 0] * len(rest), *sides), value=padding_value) if missing else s)
    return hw.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: hw.Tensor, lengths: hw.Tensor, batch_first: bool = False) -> list[hw.Tensor]:
    """The inverse of pad_sequence (right side)."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [padded_sequences[i][: int(length)] for i, length in enumerate(lengths)]
