"""Averaged models and the cyclic schedules against torch."""

import pickle

import numpy as np
import pytest
import torch
import torch.optim.swa_utils

import headwater as hw


def model(m):
    net = m.nn.Sequential(m.nn.Linear(4, 3), m.nn.BatchNorm1d(3))
    with m.no_grad():
        for i, t in enumerate(net.state_dict().values()):
            if t.dtype == m.float32:
                t.copy_(m.tensor(np.random.default_rng(i).uniform(0.5, 1, tuple(t.shape)).astype("float32")))
    return net


def averages(m, options, updates=3):
    utils = m.optim.swa_utils
    net = model(m)
    given = {name: getattr(utils, value[0])(*value[1:]) if isinstance(value, tuple) else value for name, value in options.items()}
    averaged = utils.AveragedModel(net, **given)
    for step in range(updates):
        with m.no_grad():
            for p in net.parameters():
                p.mul_(1.5).add_(step)
            net[1].running_mean.add_(1)
        averaged.update_parameters(net)
    batches = [(m.tensor(np.random.default_rng(i).standard_normal((5, 4)).astype("float32")), 0) for i in range(3)]
    before = [np.asarray(t.numpy()) for t in averaged.state_dict().values()]
    averaged.eval()
    utils.update_bn(batches, averaged)
    assert not averaged.training and averaged.module[1].momentum == 0.1
    return before + [np.asarray(t.numpy()) for t in averaged.state_dict().values()] + [averaged(batches[0][0]).detach().numpy()]


@pytest.mark.parametrize("options", [
    {}, {"use_buffers": True}, {"avg_fn": ("get_ema_avg_fn", 0.9)}, {"multi_avg_fn": ("get_ema_multi_avg_fn", 0.9)},
    {"multi_avg_fn": ("get_ema_multi_avg_fn", 0.9), "use_buffers": True}, {"multi_avg_fn": ("get_swa_multi_avg_fn",)},
    {"avg_fn": lambda a, b, n: a * 0.5 + b / (n + 1)},
])  # fmt: skip
def test_averages_are_torchs(options):
    ours, theirs = averages(hw, options), averages(torch, options)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_names_of_the_state_and_what_is_refused():
    names = [list(m.optim.swa_utils.AveragedModel(model(m)).state_dict()) for m in (hw, torch)]
    assert names[0] == names[1]
    with pytest.raises(AssertionError, match="not both"):
        hw.optim.swa_utils.AveragedModel(model(hw), avg_fn=len, multi_avg_fn=len)
    with pytest.raises(ValueError, match="decay must be in"):
        hw.optim.swa_utils.get_ema_avg_fn(1.1)


def rates(m, make, kind, steps=25, other=None):
    w = m.ones(2, requires_grad=True)
    options = {"betas": (0.9, 0.99)} if kind == "Adam" else {"momentum": 0.9}
    optimizer = getattr(m.optim, kind)([{"params": [w]}, {"params": [m.ones(1, requires_grad=True)], "lr": 0.5}], lr=0.1, **options)
    first = other(m, optimizer) if other else None
    schedule, found = make(m, optimizer), []
    for step in range(steps):
        optimizer.step()
        found.append([(g["lr"], g["betas"][0] if kind == "Adam" else g["momentum"]) for g in optimizer.param_groups])
        (first if first and step < 5 else schedule).step()
        if step == 7:
            schedule.load_state_dict(pickle.loads(pickle.dumps(schedule.state_dict())))
    return np.array(found, dtype="float64")


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("options", [
    {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 4},
    {"base_lr": [0.01, 0.02], "max_lr": [0.1, 0.3], "step_size_up": 4, "step_size_down": 7, "mode": "triangular2"},
    {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 5, "mode": "exp_range", "gamma": 0.9, "base_momentum": [0.5, 0.6]},
    {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "scale_fn": lambda x: 1 / (5 ** (x * 0.0001)), "scale_mode": "iterations"},
])  # fmt: skip
def test_cyclic_rates_are_torchs(kind, options):
    ours, theirs = (rates(m, lambda m, o: m.optim.lr_scheduler.CyclicLR(o, **options), kind) for m in (hw, torch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("options", [{}, {"anneal_epochs": 4, "anneal_strategy": "linear"}, {"anneal_epochs": 0}, {"anneal_epochs": 1}])
@pytest.mark.parametrize("after", [False, True])
def test_swa_rates_are_torchs(options, after):
    other = (lambda m, o: m.optim.lr_scheduler.ExponentialLR(o, 0.9)) if after else None
    ours, theirs = (rates(m, lambda m, o: m.optim.swa_utils.SWALR(o, [0.05, 0.2], **options), "SGD", other=other) for m in (hw, torch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_bad_schedules_name_their_value():
    optimizer = hw.optim.SGD([hw.ones(1, requires_grad=True)], lr=0.1)
    for make, text in ((lambda: hw.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 1, mode="round"), "mode must be"),
                       (lambda: hw.optim.lr_scheduler.CyclicLR(optimizer, 0.1, [1, 2]), "1 param groups, but 2 values"),
                       (lambda: hw.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 1, step_size_up=0), "longer than 0"),
                       (lambda: hw.optim.swa_utils.SWALR(optimizer, 0.1, anneal_strategy="sine"), "anneal_strategy"),
                       (lambda: hw.optim.swa_utils.SWALR(optimizer, 0.1, anneal_epochs=-1), "anneal_epochs")):
        with pytest.raises(ValueError, match=text):
            make()
