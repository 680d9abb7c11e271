"""Fourier transforms and mel filters. A transform is a product with the matrix of its definition, so it costs n^2."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import headwater as hw

from ..element_types import from_onnx
from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..values import number, tensor

_LARGEST = 2**14


def _turns(n: int, bins: int, sign: int, like: Any) -> tuple[Any, Any]:
    """Cosines and sines [n, bins] of the transform."""
    if n > _LARGEST:
        raise OnnxError(f"a Fourier transform of {n} elements is too large for the way it is calculated; the most is {_LARGEST}")
    angle = 2 * math.pi / n * (np.outer(np.arange(n), np.arange(bins)) % n)
    return tensor(np.cos(angle)).to(like.dtype), tensor(sign * np.sin(angle)).to(like.dtype)


def transform(x: Any, n: int, bins: int, inverse: bool = False) -> Any:
    """x [..., length, 1 or 2] -> [..., bins, 2]"""
    length = x.shape[-2]
    if length < n:
        x = hw.pad(x, [0, 0, 0, n - length])
    x = x.narrow(-2, 0, n)
    real, cosines, sines = x.select(-1, 0), *_turns(n, bins, 1 if inverse else -1, x)
    a, b = hw.matmul(real, cosines), hw.matmul(real, sines)
    if x.shape[-1] == 2:
        imaginary = x.select(-1, 1)
        a, b = a - hw.matmul(imaginary, sines), b + hw.matmul(imaginary, cosines)
    made = hw.stack([a, b], -1)
    return made / n if inverse else made


@op("DFT")
def dft_17(node: Node, x: Any, length: Any = None) -> Any:
    return _dft(node, x, length, node.attr("axis", 1))


@op("DFT", since=20, host=(1, 2))
def dft(node: Node, x: Any, length: Any = None, axis: Any = None) -> Any:
    return _dft(node, x, length, -2 if axis is None else number(axis))


def _dft(node: Node, x: Any, length: Any, axis: int) -> Any:
    inverse, onesided = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    axis = axis % x.dim()
    moved = hw.movedim(x, axis, -2)
    n = moved.shape[-2] if length is None else number(length)
    if inverse and onesided:
        n = 2 * (moved.shape[-2] - 1) if length is None else n
        last = moved.shape[-2]
        rest = hw.flip(moved.narrow(-2, 1, n - last), [-2]) * tensor(np.array([1.0, -1.0])).to(x.dtype)
        made = transform(hw.cat([moved, rest], -2), n, n, True).narrow(-1, 0, 1)
    else:
        made = transform(moved, n, n // 2 + 1 if onesided else n, inverse)
    return hw.movedim(made, -2, axis)


@op("STFT", host=(1, 3))
def stft(node: Node, signal: Any, step: Any, window: Any = None, length: Any = None) -> Any:
    n = number(length) if length is not None else window.shape[0]
    hop = number(step)
    flat = signal.squeeze(-1) if signal.dim() == 3 and signal.shape[-1] == 1 else signal
    parts = flat.unfold(1, n, hop)
    if parts.dim() == 3:
        parts = parts.unsqueeze(-1)
    else:  # complex: [batch, frames, 2, n]
        parts = parts.transpose(2, 3)
    if window is not None:
        parts = parts * window.reshape([-1, 1])
    return transform(parts, n, n // 2 + 1 if node.attr("onesided", 1) else n)


@op("MelWeightMatrix", host=(0, 1, 2, 3, 4))
def mel_weights(node: Node, bins: Any, length: Any, rate: Any, low: Any, high: Any) -> Any:
    """Triangles between neighbouring mel frequencies, which lie on whole bins."""
    count, n = int(bins), int(length)
    def mel(f: float) -> float:
        return 2595 * math.log10(1 + f / 700)

    ends = mel(float(low)), mel(float(high))
    places = np.linspace(ends[0], ends[1], count + 3)[: count + 2] if count < 0 else ends[0] + np.arange(count + 2) * (
        (ends[1] - ends[0]) / (count + 2)
    )
    edges = np.floor((n + 1) * (700 * (10 ** (places / 2595) - 1)) / float(rate)).astype(int)
    made = np.zeros((n // 2 + 1, count))
    for i in range(count):
        first, middle, last = edges[i : i + 3]
        if middle == first:
            made[middle, i] = 1
        else:
            made[first : middle + 1, i] = (np.arange(first, middle + 1) - first) / (middle - first)
        if last > middle:
            made[middle:last, i] = (last - np.arange(middle, last)) / (last - middle)
    return made.astype(from_onnx(node.attr("output_datatype", 1)))
