"""GradScaler: scaling, overflow, growth, and its state; the scale is compared with torch's rule."""

import math

import pytest

import headwater as hw
from headwater.amp import GradScaler


def setup(**options):
    p = hw.ones(2).requires_grad_()
    return p, hw.optim.SGD([p], lr=1.0), GradScaler(**options)


def test_a_step_is_that_without_a_scaler():
    p, optimizer, scaler = setup()
    loss = (p * hw.tensor([0.25, 0.5])).sum()
    scaler.scale(loss).backward()
    assert p.grad.tolist() == [0.25 * 65536, 0.5 * 65536]
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.75, 0.5]
    assert scaler.get_scale() == 65536


def test_overflow_leaves_the_step_out_and_halves_the_scale():
    for bad in (math.inf, math.nan):
        p, optimizer, scaler = setup()
        p.grad = hw.tensor([1.0, bad])
        assert scaler.step(optimizer) is None
        scaler.update()
        assert p.tolist() == [1.0, 1.0]
        assert scaler.get_scale() == 32768


def test_growth():
    p, optimizer, scaler = setup(growth_interval=3, init_scale=4.0)
    scales = []
    for step in range(8):
        p.grad = hw.tensor([math.inf if step == 4 else 0.0] * 2)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [4, 4, 8, 8, 4, 4, 4, 8]
    scaler.update(16.0)
    assert scaler.get_scale() == 16


def test_unscale_for_clipping():
    p, optimizer, scaler = setup(init_scale=8.0)
    p.grad = hw.tensor([8.0, 16.0])
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="already called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert p.tolist() == [0.0, -1.0]
    with pytest.raises(RuntimeError, match="already called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    scaler.update()


def test_disabled():
    p, optimizer, scaler = setup(enabled=False)
    p.grad = hw.ones(2)
    assert scaler.scale(p) is p
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.0, 0.0]
    assert scaler.get_scale() == 1.0
    assert scaler.state_dict() == {}


def test_state():
    _, _, scaler = setup(growth_interval=5)
    scaler._scale, scaler._growth_tracker = 128.0, 3
    other = GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    with pytest.raises(RuntimeError, match="not enabled"):
        other.load_state_dict({})


def test_errors():
    _, optimizer, scaler = setup()
    with pytest.raises(RuntimeError, match="closure"):
        scaler.step(optimizer, closure=lambda: None)
    with pytest.raises(RuntimeError, match="no gradients"):
        scaler.update()
    with pytest.raises(ValueError, match="growth_factor"):
        GradScaler(growth_factor=1.0)
    with pytest.raises(ValueError, match="backoff_factor"):
        GradScaler(backoff_factor=1.0)
    with pytest.raises(ValueError, match="takes tensors"):
        scaler.scale(3)
    half = hw.ones(2, dtype=hw.float16).requires_grad_()
    half.grad = hw.ones(2, dtype=hw.float16)
    with pytest.raises(ValueError, match="float16"):
        scaler.step(hw.optim.SGD([half], lr=1.0))
