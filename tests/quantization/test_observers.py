"""Observers against NumPy, on seeded data."""
from __future__ import annotations

import numpy as np
import pytest
import torch.ao.quantization as tq

import headwater as hw
from headwater import quantization as q

F32 = np.float32


def batches(seed: int = 0, shift: float = 0.5) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [(rng.normal(shift, 1 + k, (4, 3000))).astype(F32) for k in range(3)]


def watched(observer: q.Observer, data: list[np.ndarray]) -> q.Observer:
    for x in data:
        t = hw.tensor(x)
        assert observer(t) is t
    return observer


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("bits", ["int8", "uint8", "int4"])
@pytest.mark.parametrize("kind", ["minmax", "moving", "channel"])
def test_ranges_and_qparams(kind: str, bits: str, symmetric: bool) -> None:
    data, axis = batches(), 0 if kind == "channel" else None
    scheme = q.Scheme(bits, symmetric, axis)
    make = {"minmax": q.MinMaxObserver, "moving": q.MovingAverageMinMaxObserver, "channel": q.PerChannelMinMaxObserver}[kind]
    observer = watched(make(scheme, *([4] if axis == 0 else [])), data)
    lows = [x.min(1 if axis == 0 else None) for x in data]
    highs = [x.max(1 if axis == 0 else None) for x in data]
    low, high = np.min(lows, 0), np.max(highs, 0)
    if kind == "moving":
        low, high = lows[0], highs[0]
        for a, b in zip(lows[1:], highs[1:]):
            low, high = low + 0.01 * (a - low), high + 0.01 * (b - high)
    np.testing.assert_allclose([observer.min_val.numpy(), observer.max_val.numpy()], [low, high], rtol=1e-6)
    low, high = np.minimum(low, 0), np.maximum(high, 0)
    least, most = {"int8": (-128, 127), "uint8": (0, 255), "int4": (-8, 7)}[bits]
    if symmetric:
        scale = np.maximum(-low, high) / ((most - least) / 2)
        zero = np.full_like(scale, 128 if bits == "uint8" else 0)
    else:
        scale = (high - low) / (most - least)
        zero = np.clip(least - np.rint(low / scale), least, most)
    got = observer.calculate_qparams()
    np.testing.assert_allclose(got[0].numpy(), scale, rtol=1e-6)
    np.testing.assert_array_equal(got[1].numpy(), zero)


def test_as_torch() -> None:
    import torch

    for symmetric in (False, True):
        ours = watched(q.MinMaxObserver(q.Scheme("uint8", symmetric)), batches())
        theirs = tq.MinMaxObserver(torch.quint8, torch.per_tensor_symmetric if symmetric else torch.per_tensor_affine)
        for x in batches():
            theirs(torch.tensor(x))
        scale, zero = ours.calculate_qparams()
        np.testing.assert_allclose(scale.item(), theirs.calculate_qparams()[0].item(), rtol=1e-6)
        assert int(zero) == int(theirs.calculate_qparams()[1])


def test_histogram_counts_all_batches() -> None:
    data = batches()
    observer = watched(q.PercentileObserver(q.Scheme("int8")), data)
    every, limit = np.concatenate([x.ravel() for x in data]), observer.limit.item()
    first = np.abs(data[0]).max()
    assert limit == first * 2 ** np.ceil(np.log2(np.abs(every).max() / first)) and limit > first
    counts = np.histogram(every.astype(np.float64), observer.bins, (-limit, limit))[0]
    got = observer.histogram.numpy()
    assert got.sum() == every.size and np.abs(got - counts).sum() <= 8  # values at edges, in f32


@pytest.mark.parametrize("symmetric", [False, True])
def test_percentile(symmetric: bool) -> None:
    data = batches()
    every = np.concatenate([x.ravel() for x in data])
    observer = watched(q.PercentileObserver(q.Scheme("int8", symmetric), 99.0), data)
    low, high = (float(v) for v in observer.range())
    bin_width = 2 * observer.limit.item() / observer.bins
    if symmetric:
        want = (-np.quantile(np.abs(every), 0.99), np.quantile(np.abs(every), 0.99))
    else:
        want = tuple(np.quantile(every, [0.005, 0.995]))
    np.testing.assert_allclose((low, high), want, atol=2 * bin_width)


def rounded(x: np.ndarray, low: float, high: float, levels: int = 255) -> np.ndarray:
    scale = (high - low) / levels
    zero = np.clip(np.rint(-low / scale), 0, levels)
    return (np.clip(np.rint(x / scale) + zero, 0, levels) - zero) * scale


def test_mse_takes_the_best_range() -> None:
    x = np.concatenate([np.random.default_rng(0).normal(0, 1, 20000), [30.0, -4.0]]).astype(F32)
    for bits, levels in (("uint4", 15), ("uint8", 255)):
        observer = watched(q.MSEObserver(q.Scheme(bits)), [x])
        losses = {a: np.mean((x - rounded(x, a * x.min(), a * x.max(), levels)) ** 2) for a in np.arange(1, 101) / 100}
        high = float(observer.range()[1])
        best = min(losses, key=losses.__getitem__)
        mine = losses[min(losses, key=lambda a: abs(a * x.max() - high))]
        assert mine <= losses[best] * 1.02
        assert (best < 0.9) == (high < 27)


def test_entropy_is_the_least_divergence() -> None:
    x = np.random.default_rng(1).laplace(0, 1, 200000).astype(F32)
    observer = watched(q.HistogramObserver(q.Scheme("int8", True)), [x])
    counts, limit = observer.histogram.numpy(), observer.limit.item()
    edges = np.linspace(-limit, limit, observer.bins + 1)
    middles, top = (edges[1:] + edges[:-1]) / 2, float(np.abs(x).max())

    def divergence(reach: float) -> float:
        inside = [i for i in range(observer.bins) if abs(middles[i]) <= reach]
        p = [float(counts[i]) for i in inside]
        groups: dict[float, list[int]] = {}
        scale = float(F32(F32(reach) / F32(127.5)))
        for k, i in enumerate(inside):
            groups.setdefault(float(np.clip(np.rint(middles[i] / scale), -128, 127)), []).append(k)
        spread = [0.0] * len(p)
        for members in groups.values():
            full = [k for k in members if p[k] > 0]
            for k in full:
                spread[k] = sum(p[m] for m in members) / len(full)
        p[0] += float(counts[: inside[0]].sum())
        p[-1] += float(counts[inside[-1] + 1 :].sum())
        total, mass = sum(p), sum(spread)
        return sum(a / total * np.log(a / total / max(b / mass, 1e-10)) for a, b in zip(p, spread) if a > 0)

    losses = {a: divergence(a * top) for a in np.arange(2, 101, 7) / 100}
    high = float(observer.range()[1])
    assert divergence(high) <= min(losses.values()) + 1e-9
    assert high < top


def test_messages() -> None:
    for make in (q.MinMaxObserver, q.HistogramObserver, q.PercentileObserver):
        with pytest.raises(RuntimeError, match="has seen no data.*calibrate"):
            make().calculate_qparams()
    with pytest.raises(ValueError, match="bits must be one of uint8, int8"):
        q.Scheme("int3")
    with pytest.raises(ValueError, match="one histogram"):
        q.MSEObserver(q.Scheme("int8", True, 0))
    with pytest.raises(ValueError, match="belong together"):
        q.MinMaxObserver(q.Scheme("int8", True, 0))
    with pytest.raises(ValueError, match="not finite"):
        q.MSEObserver()(hw.tensor([1.0, float("inf")]))


def test_values_that_are_all_zero() -> None:
    for make in (q.MinMaxObserver, q.HistogramObserver, q.PercentileObserver, q.MSEObserver):
        scale, zero = watched(make(), [np.zeros(9, F32)]).calculate_qparams()
        assert scale.item() > 0 and int(zero) == 0
