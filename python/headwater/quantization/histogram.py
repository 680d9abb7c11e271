"""Observers that keep a histogram and choose the range from it: entropy (KL), percentile, mean squared error."""
from __future__ import annotations

import numpy as np

import headwater as hw

from .observers import Observer
from .scheme import Scheme


class _Histogram(Observer):
    """Counts over [-limit, limit]. The limit doubles when values lie outside, and pairs of bins merge, so that no count is guessed."""

    histogram: hw.Tensor
    limit: hw.Tensor
    min_val: hw.Tensor
    max_val: hw.Tensor

    def __init__(self, scheme: Scheme | None = None, bins: int = 2048) -> None:
        super().__init__(scheme)
        if self.scheme.ch_axis is not None:
            raise ValueError(f"{type(self).__name__} keeps one histogram; for one scale per channel take PerChannelMinMaxObserver")
        if bins < 4 or bins % 4:
            raise ValueError(f"bins must be a multiple of 4, so that pairs merge around 0, got {bins}")
        self.bins = bins
        self.register_buffer("histogram", hw.zeros(bins, dtype=hw.int64))
        self.register_buffer("limit", hw.tensor(0.0))
        self.register_buffer("min_val", hw.tensor(float("inf")))
        self.register_buffer("max_val", hw.tensor(-float("inf")))

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        values = x.detach().to(hw.float32).reshape(-1)
        if not values.numel():
            return x
        low, high = values.min(), values.max()
        reach = max(abs(float(low)), abs(float(high)))
        if not np.isfinite(reach):
            raise ValueError(f"{type(self).__name__} saw values that are not finite; a histogram has no place for them")
        self.min_val.copy_(hw.minimum(self.min_val, low))
        self.max_val.copy_(hw.maximum(self.max_val, high))
        self._widen(reach)
        limit = float(self.limit)
        where = hw.clamp(hw.floor((values + limit) * (self.bins / (2 * limit))), 0, self.bins - 1).to(hw.int64)
        self.histogram.add_(hw.bincount(where, minlength=self.bins))
        return x

    def _widen(self, reach: float) -> None:
        limit = float(self.limit) or reach or 1.0
        while limit < reach:
            quarter = self.bins // 4
            merged = self.histogram.reshape(-1, 2).sum(1)
            self.histogram.zero_()
            self.histogram[quarter : 3 * quarter] = merged
            limit *= 2
        self.limit.fill_(limit)

    def reset_min_max_vals(self) -> None:
        self.histogram.zero_()
        self.limit.zero_()
        self.min_val.fill_(float("inf"))
        self.max_val.fill_(-float("inf"))

    def range(self) -> tuple[hw.Tensor, hw.Tensor]:
        if not float(self.limit):
            raise self._unseen()
        low, high = min(float(self.min_val), 0.0), max(float(self.max_val), 0.0)
        if self.scheme.symmetric:
            low, high = -max(-low, high), max(-low, high)
        if low == high:
            return hw.tensor(low), hw.tensor(high)
        limit = np.float64(self.limit.item())
        edges = np.linspace(-limit, limit, self.bins + 1)
        low, high = self.search(self.histogram.numpy().astype(np.float64), edges, low, high)
        return hw.tensor(low, dtype=hw.float32), hw.tensor(high, dtype=hw.float32)

    def search(self, counts: np.ndarray, edges: np.ndarray, low: float, high: float) -> tuple[float, float]:
        """The range, at most [low, high], which holds 0 and is symmetric if the scheme is."""
        raise NotImplementedError


class PercentileObserver(_Histogram):
    """The range that leaves out (100 - percentile) % of the values: half at each end, or the largest in size if symmetric."""

    def __init__(self, scheme: Scheme | None = None, percentile: float = 99.99, bins: int = 2048) -> None:
        super().__init__(scheme, bins)
        if not 50 < percentile <= 100:
            raise ValueError(f"percentile must be in (50, 100], got {percentile}")
        self.percentile = percentile

    def search(self, counts: np.ndarray, edges: np.ndarray, low: float, high: float) -> tuple[float, float]:
        total = np.concatenate([[0.0], np.cumsum(counts)])
        if self.scheme.symmetric:
            half = self.bins // 2
            size = counts[half:] + counts[:half][::-1]
            reach = np.interp(self.percentile / 100 * total[-1], np.concatenate([[0.0], np.cumsum(size)]), edges[half:])
            return -min(float(reach), high), min(float(reach), high)
        outside = (1 - self.percentile / 100) / 2 * total[-1]
        least, most = np.interp([outside, total[-1] - outside], total, edges)
        return max(low, min(float(least), 0.0)), min(high, max(float(most), 0.0))


class _Searched(_Histogram):
    """Tries the ranges [a low, a high] for a = 1/candidates, ..., 1 and takes the one with the least loss."""

    candidates = 100

    def search(self, counts: np.ndarray, edges: np.ndarray, low: float, high: float) -> tuple[float, float]:
        factors = np.arange(self.candidates, 0, -1) / self.candidates
        losses = [self.loss(counts, edges, a * low, a * high) for a in factors]
        best = factors[int(np.argmin(losses))]
        return float(best * low), float(best * high)

    def loss(self, counts: np.ndarray, edges: np.ndarray, low: float, high: float) -> float:
        raise NotImplementedError

    def _steps(self, values: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
        """The integers of values, and what they stand for."""
        scale_of, zero_of = self.scheme.qparams(hw.tensor(low, dtype=hw.float32), hw.tensor(high, dtype=hw.float32))
        scale, zero = float(scale_of), int(zero_of)
        integers = np.clip(np.rint(values / scale) + zero, self.scheme.quant_min, self.scheme.quant_max)
        return integers, (integers - zero) * scale


class MSEObserver(_Searched):
    """The range whose integers have the least squared error, every value counted at the middle of its bin."""

    def loss(self, counts: np.ndarray, edges: np.ndarray, low: float, high: float) -> float:
        middles = (edges[1:] + edges[:-1]) / 2
        return float(np.sum(counts * (middles - self._steps(middles, low, high)[1]) ** 2))


class HistogramObserver(_Searched):
    """Entropy calibration: the range whose integers lose the least information.

    The loss is KL(P || Q). P is the histogram with all that lies outside the range counted in the range's last bins. Q has the counts
    inside, with those of each integer spread evenly over its bins that are not empty. The scheme is that of S. Migacz, "8-bit
    inference with TensorRT" (2017), with ranges of either sign.
    """

    def loss(self, counts: np.ndarray, edges: np.ndarray, low: float, high: float) -> float:
        middles = (edges[1:] + edges[:-1]) / 2
        inside = (middles >= low) & (middles <= high)
        if not counts[inside].any():
            return float("inf")
        first, last = np.flatnonzero(inside)[[0, -1]]
        kept = counts[first : last + 1]
        p = kept.copy()
        p[0] += counts[:first].sum()
        p[-1] += counts[last + 1 :].sum()
        level = (self._steps(middles[first : last + 1], low, high)[0] - self.scheme.quant_min).astype(np.int64)
        used = kept > 0
        sums, bins = np.bincount(level, kept), np.bincount(level, used)
        q = np.where(used, sums[level] / np.maximum(bins[level], 1), 0.0)
        p, q = p / p.sum(), q / q.sum()
        some = p > 0
        return float(np.sum(p[some] * np.log(p[some] / np.maximum(q[some], 1e-10))))
