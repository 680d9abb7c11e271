"""Each schedule against torch, and saved and resumed half-way."""

import warnings

import numpy as np
import pytest
import torch

import headwater as hw

EPOCHS = 40


def both(momentum=0.9, lrs=(0.1, 0.3), name="SGD"):
    def make(lib):
        options = {"momentum": momentum} if name == "SGD" else {}
        groups = [{"params": [lib.ones(2).requires_grad_()], "lr": lr} for lr in lrs]
        return getattr(lib.optim, name)(groups, lr=0.1, **options)

    return make(hw), make(torch)


def rates(optimizer):
    extra = [g.get("momentum", g.get("betas", (0,))[0]) for g in optimizer.param_groups]
    return [g["lr"] for g in optimizer.param_groups] + extra


SCHEDULES = {
    "StepLR": lambda s, o: s.StepLR(o, 7, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [3, 3, 20], 0.5),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.25, 6),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.1, 0.9, 10),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.93),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 25, 2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 12, 0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4, 2, 0.01),
    "LambdaLR": lambda s, o: s.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (1 + e)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.95 if e % 2 else 1.0),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, [1.0, 2.0], 50),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(
        o, 1.0, epochs=10, steps_per_epoch=5, anneal_strategy="linear", pct_start=0.4, div_factor=10, three_phase=True
    ),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=5), s.CosineAnnealingLR(o, 20), s.ConstantLR(o, 0.5, 3)], [5, 30]
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9)]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_same_as_torch(name):
    ours, theirs = both()
    a = SCHEDULES[name](hw.optim.lr_scheduler, ours)
    b = SCHEDULES[name](torch.optim.lr_scheduler, theirs)
    for epoch in range(EPOCHS):
        np.testing.assert_allclose(rates(ours), rates(theirs), rtol=1e-9, err_msg=f"epoch {epoch}")
        np.testing.assert_allclose(a.get_last_lr(), b.get_last_lr(), rtol=1e-9)
        ours.step()
        theirs.step()
        a.step()
        b.step()


@pytest.mark.parametrize("name", SCHEDULES)
def test_resumed_from_a_state_dict(name):
    whole, _ = both()
    schedule = SCHEDULES[name](hw.optim.lr_scheduler, whole)
    wanted = []
    for _ in range(EPOCHS):
        whole.step()
        schedule.step()
        wanted.append(rates(whole))

    first, _ = both()
    schedule = SCHEDULES[name](hw.optim.lr_scheduler, first)
    for _ in range(15):
        first.step()
        schedule.step()
    second, _ = both()
    resumed = SCHEDULES[name](hw.optim.lr_scheduler, second)
    second.load_state_dict(first.state_dict())
    resumed.load_state_dict(schedule.state_dict())
    for epoch in range(15, EPOCHS):
        second.step()
        resumed.step()
        np.testing.assert_allclose(rates(second), wanted[epoch], rtol=1e-9, err_msg=f"epoch {epoch}")


def test_one_cycle_moves_beta1():
    ours, theirs = both(name="Adam")
    a = hw.optim.lr_scheduler.OneCycleLR(ours, 1.0, 20)
    b = torch.optim.lr_scheduler.OneCycleLR(theirs, 1.0, 20)
    for _ in range(19):
        np.testing.assert_allclose(rates(ours), rates(theirs), rtol=1e-9)
        for one in (ours, theirs, a, b):
            one.step()
    ours.step()
    a.step()
    with pytest.raises(ValueError, match="beyond the 20 steps"):
        a.step()


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_plateau(mode, threshold_mode):
    ours, theirs = both()
    options = {"mode": mode, "threshold_mode": threshold_mode, "patience": 2, "cooldown": 2, "factor": 0.5}
    options["min_lr"] = 0.01
    a = hw.optim.lr_scheduler.ReduceLROnPlateau(ours, **options)
    b = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **options)
    rng = np.random.default_rng(0)
    for epoch in range(60):
        value = float(np.sin(epoch / 5) + rng.standard_normal() * 0.01)
        a.step(hw.tensor(value, dtype=hw.float64))
        b.step(value)
        np.testing.assert_allclose(rates(ours), rates(theirs), rtol=1e-12)
    assert rates(ours)[0] < 0.1
    other = hw.optim.lr_scheduler.ReduceLROnPlateau(both()[0], **options)
    other.load_state_dict(a.state_dict())
    assert other.best == a.best
    assert other.num_bad_epochs == a.num_bad_epochs


def test_fractions_of_an_epoch_in_warm_restarts():
    ours, theirs = both()
    a = hw.optim.lr_scheduler.CosineAnnealingWarmRestarts(ours, 3, 2)
    b = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(theirs, 3, 2)
    ours.step()
    theirs.step()
    for epoch in np.arange(0, 25, 0.3):
        a.step(float(epoch))
        b.step(float(epoch))
        np.testing.assert_allclose(rates(ours), rates(theirs), rtol=1e-9)


def test_lambda_state_is_saved_for_objects_only():
    class Decay:
        def __init__(self, base):
            self.base = base

        def __call__(self, epoch):
            return self.base**epoch

    ours, _ = both()
    saved = hw.optim.lr_scheduler.LambdaLR(ours, [Decay(0.5), lambda e: 1.0]).state_dict()
    assert saved["lr_lambdas"] == [{"base": 0.5}, None]
    other = hw.optim.lr_scheduler.LambdaLR(both()[0], [Decay(0.1), lambda e: 1.0])
    other.load_state_dict(saved)
    assert other.lr_lambdas[0].base == 0.5


def test_a_wrong_order_of_steps_warns():
    ours, _ = both()
    schedule = hw.optim.lr_scheduler.StepLR(ours, 3)
    with pytest.warns(UserWarning, match="before optimizer.step"):
        schedule.step()
    ours, _ = both()
    schedule = hw.optim.lr_scheduler.StepLR(ours, 3)
    ours.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()


def test_errors():
    ours, other = both()[0], both()[0]
    s = hw.optim.lr_scheduler
    with pytest.raises(TypeError, match=r"needs a headwater\.optim\.Optimizer"):
        s.StepLR(3, 3)
    with pytest.raises(KeyError, match="initial_lr"):
        s.StepLR(ours, 3, last_epoch=4)
    with pytest.raises(ValueError, match="belongs to another optimizer"):
        s.SequentialLR(ours, [s.StepLR(ours, 3), s.StepLR(other, 3)], [3])
    with pytest.raises(ValueError, match="need 1 milestones, got 2"):
        s.SequentialLR(ours, [s.StepLR(ours, 3), s.StepLR(ours, 3)], [3, 4])
    with pytest.raises(ValueError, match="total_steps"):
        s.OneCycleLR(ours, 1.0)
    with pytest.raises(ValueError, match="cycle_momentum"):
        s.OneCycleLR(hw.optim.Adagrad([hw.ones(1).requires_grad_()]), 1.0, 10)
    with pytest.raises(ValueError, match="2 param groups, but 1"):
        s.LambdaLR(ours, [lambda e: 1.0])
