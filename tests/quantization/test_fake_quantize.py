"""Learned scales against the published formulas."""
from __future__ import annotations

import numpy as np
import pytest

import headwater as hw
from headwater import quantization as q


def lsq_sum(x: np.ndarray, scale: float, low: int, high: int) -> float:
    """Equation 3 of Esser et al. 2020, with the range asked of the rounded value, as torch does."""
    v = x / scale
    return float(np.where(np.rint(v) < low, low, np.where(np.rint(v) > high, high, np.rint(v) - v)).sum())


def test_lsq_gradient() -> None:
    x = np.random.default_rng(0).normal(0, 1, (5, 40))
    module = q.LSQ(q.MinMaxObserver(q.Scheme("int4", True)))
    with hw.no_grad():
        module.scale.fill_(0.13)
    module(hw.tensor(x, dtype=hw.float32)).sum().backward()
    want = lsq_sum(x, 0.13, -8, 7) / np.sqrt(40 * 7)
    np.testing.assert_allclose(module.scale.grad.item(), want, rtol=1e-4)


def test_tqt_gradient_and_power_of_two() -> None:
    x = np.random.default_rng(1).normal(0, 1, 300)
    module = q.TQT(q.MinMaxObserver(q.Scheme("int8", True)))
    with hw.no_grad():
        module.log2_t.fill_(0.3)
    module(hw.tensor(x, dtype=hw.float32)).sum().backward()
    scale = 2.0 / 128
    assert module.calculate_qparams()[0].item() == scale
    np.testing.assert_allclose(module.log2_t.grad.item(), lsq_sum(x, scale, -128, 127) * scale * np.log(2), rtol=1e-4)


def test_learned_scales_reduce_the_error() -> None:
    hw.manual_seed(0)
    x = hw.randn(64, 50)
    for make in (q.LSQ, q.TQT):
        module = make(q.MinMaxObserver(q.Scheme("int4", True)))
        module.observer(hw.cat([x.reshape(-1), hw.tensor([40.0])]))
        module.initialize()
        optimizer = hw.optim.Adam(list(module.parameters()), lr=0.05)
        losses = []
        for _ in range(100):
            optimizer.zero_grad()
            loss = ((module(x) - x) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < losses[0] / 4, make


def test_switches() -> None:
    module = q.FakeQuantize(q.MovingAverageMinMaxObserver())
    x = hw.tensor([-1.0, 0.3, 2.0])
    module.disable_fake_quant()
    assert module(x) is x and module.observer.max_val.item() == 2.0
    module.disable_observer()
    module(x * 9)
    assert module.observer.max_val.item() == 2.0
    module.initialize()
    module.enable_fake_quant()
    assert np.abs(module(x).numpy() - x.numpy()).max() < 3 / 255
    with pytest.raises(ValueError, match="symmetric"):
        q.TQT(q.MinMaxObserver(q.Scheme("uint8")))
