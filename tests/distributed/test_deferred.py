"""hw.accumulate on meshes: gradients are summed over ranks once, after the last micro-batch."""

import pytest

import headwater as hw
from headwater import nn

F = nn.functional
MESHES = [((4,), ("data",), "data"), ((2, 2), ("data", "model"), ["data", {"0.*": hw.split(0), "2.weight": hw.split(1)}]),
          ((4,), ("data",), "zero1"), ((4,), ("data",), "zero2"), ((2, 2), ("pipe", "data"), "data")]  # fmt: skip


def network():
    hw.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.LayerNorm(16), nn.Linear(16, 4))


def gradients(model):
    return [p.grad.full().tolist() if p.grad.is_global else p.grad.tolist() for p in model.parameters()]


@pytest.mark.parametrize("shape, names, plan", MESHES)
def test_gradients_of_micro_batches(shape, names, plan):
    x, y = hw.randn(12, 8), hw.randn(12, 4)
    alone, placed = network(), hw.parallelize(network(), hw.mesh("cpu", shape, names=names), plan)
    for _ in range(2):  # the second adds to the first
        for model in (alone, placed):
            hw.accumulate(model, F.mse_loss, x, y, micro_batches=3)
        for a, b, p in zip(gradients(alone), gradients(placed), placed.parameters(), strict=True):
            assert hw.tensor(b).allclose(hw.tensor(a), rtol=1e-4, atol=1e-6)
            assert not any(s.is_partial for s in p.grad.sbp)


def test_a_hook_sees_the_sum():
    x, y = hw.randn(8, 8), hw.randn(8, 4)
    seen = []
    model = hw.parallelize(network(), hw.mesh("cpu", 2), "data")
    model[0].weight.register_hook(lambda g: seen.append(g))
    hw.accumulate(model, F.mse_loss, x, y, micro_batches=2)
    assert len(seen) == 2 and all(s.is_broadcast for g in seen for s in g.sbp)


def test_after_an_error_gradients_are_those_from_before():
    x, y = hw.randn(8, 8), hw.randn(8, 4)
    model = hw.parallelize(network(), hw.mesh("cpu", 2), "data")
    hw.accumulate(model, F.mse_loss, x, y, micro_batches=2)
    before, calls = gradients(model), []

    def fails(result, target):
        calls.append(0)
        return F.mse_loss(result, target) if len(calls) == 1 else 1 // 0

    with pytest.raises(ZeroDivisionError):
        hw.accumulate(model, fails, x, y, micro_batches=2)
    assert gradients(model) == before
    F.mse_loss(model(x), hw.distributed.place_batch(model, y)).backward()  # and the next pass sums at once, as ever
    assert all(s.is_broadcast for p in model.parameters() for s in p.grad.sbp)


def test_small_gradients_travel_together():
    layers = [nn.Linear(8, 8) for _ in range(20)]
    model, x = nn.Sequential(*layers), hw.ones(8, 8)
    found = hw.distributed.estimate(model, hw.mesh("meta", 4), "data", x, x, loss_of=F.mse_loss, micro_batches=2)
    assert found.traffic["axis0 all-reduce"][0] < 4  # not 40
