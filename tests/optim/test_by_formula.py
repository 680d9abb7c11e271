"""Adadelta, Adamax, NAdam, RAdam and Rprop against torch, for 20 steps on the same gradients."""

import copy

import numpy as np
import pytest
import torch

import headwater as hw

CASES = [
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "eps": 1e-4, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.1, "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 4, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.1, "momentum_decay": 0.1}),
    ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.01}),
    ("RAdam", {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.1, "maximize": True}),
    ("RAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.2), "maximize": True}),
]


def steps(ours, theirs, mine, torchs, count, seed):
    rng = np.random.default_rng(seed)
    for step in range(count):
        for index, (p, q) in enumerate(zip(ours, theirs)):
            grad = np.asarray(rng.standard_normal(p.shape))
            p.grad, q.grad = (None, None) if step == 3 and index == 0 else (hw.tensor(grad), torch.tensor(grad))
        mine.step()
        torchs.step()


@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda v: v if isinstance(v, str) else "-".join(v))
def test_same_as_torch_and_resumes(name, options):
    rng = np.random.default_rng(0)
    values = [np.asarray(rng.standard_normal(shape)) for shape in ((7, 5), (), (0, 3), (40,))]
    ours, theirs = [hw.tensor(v).requires_grad_() for v in values], [torch.tensor(v, requires_grad=True) for v in values]
    mine = getattr(hw.optim, name)(ours, **options)
    torchs = getattr(torch.optim, name)(theirs, **options, foreach=False)
    steps(ours, theirs, mine, torchs, 10, 1)
    resumed = getattr(hw.optim, name)(ours, **options)
    resumed.load_state_dict(copy.deepcopy(mine.state_dict()))
    steps(ours, theirs, resumed, torchs, 10, 2)
    for p, q in zip(ours, theirs):
        tolerance = 1e-6 if name in ("NAdam", "ASGD") else 1e-9  # torch keeps NAdam's product of momenta in float32, and ASGD's rates
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=tolerance, atol=tolerance)


def test_products_of_momenta_that_differ_are_kept_apart():
    """Two parameters that have seen equally many steps, but not with the same beta."""
    ours, theirs = [hw.ones(3).requires_grad_() for _ in range(2)], [torch.ones(3, requires_grad=True) for _ in range(2)]
    found = []
    for make, params, tensor in ((hw.optim.NAdam, ours, hw.tensor), (torch.optim.NAdam, theirs, torch.tensor)):
        optimizer = make(params, lr=0.1)
        for step in range(6):
            optimizer.param_groups[0]["betas"] = (0.9 if step % 2 else 0.5, 0.999)
            for i, p in enumerate(params):
                p.grad = tensor([1.0, -2.0, 0.5 * step]) if step % 2 == i or step > 3 else None
            optimizer.step()
        found.append([p.detach().numpy() for p in params])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
    assert not np.allclose(found[0][0], found[0][1], rtol=1e-4)


def test_bad_options_name_their_value():
    w = [hw.ones(3)]
    for make, text in ((lambda: hw.optim.Adadelta(w, rho=2), "rho must be in"), (lambda: hw.optim.Rprop(w, etas=(1.5, 2)), "etas must lie"),
                       (lambda: hw.optim.NAdam(w, momentum_decay=-1), "momentum_decay must be"),
                       (lambda: hw.optim.Adamax(w, betas=(1, 0)), "betas")):
        with pytest.raises(ValueError, match=text):
            make()


MATRIX_CASES = [
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.3, "beta2_decay": -0.5, "eps": (1e-6, 0.1), "d": 1.5, "weight_decay": 0.1, "maximize": True}),
    ("Muon", {}),
    ("Muon", {"lr": 0.05, "weight_decay": 0.3, "momentum": 0.8, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}),
    ("Muon", {"lr": 0.05, "ns_steps": 3, "adjust_lr_fn": "spectral_unclamped"}),
]


@pytest.mark.parametrize(("name", "options"), MATRIX_CASES, ids=lambda v: v if isinstance(v, str) else "-".join(v))
def test_matrix_optimisers_are_torchs(name, options):
    rng = np.random.default_rng(0)
    shapes = ((7, 5), (3, 9)) if name == "Muon" else ((7, 5), (), (40,), (2, 3, 4))
    values = [np.asarray(rng.standard_normal(shape)) for shape in shapes]
    ours, theirs = [hw.tensor(v).requires_grad_() for v in values], [torch.tensor(v, requires_grad=True) for v in values]
    mine, torchs = getattr(hw.optim, name)(ours, **options), getattr(torch.optim, name)(theirs, **options)
    steps(ours, theirs, mine, torchs, 10, 1)
    resumed = getattr(hw.optim, name)(ours, **options)
    resumed.load_state_dict(copy.deepcopy(mine.state_dict()))
    steps(ours, theirs, resumed, torchs, 10, 2)
    # Muon's directions are bfloat16; Adafactor's factors have dtype float32 in torch where the parameter is float64.
    tolerance = 2e-2 if name == "Muon" else 1e-6
    for p, q in zip(ours, theirs):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=tolerance, atol=tolerance)


def test_muon_makes_steps_orthogonal_and_refuses_vectors():
    w = hw.tensor(np.random.default_rng(0).standard_normal((6, 4))).float().requires_grad_()
    before = w.detach().clone()
    w.grad = hw.tensor(np.random.default_rng(1).standard_normal((6, 4))).float()
    hw.optim.Muon([w], lr=1.0, weight_decay=0).step()
    singular = np.linalg.svd((before - w.detach()).numpy())[1] / np.sqrt(6 / 4)
    assert 0.6 < singular.min() and singular.max() < 1.3
    with pytest.raises(ValueError, match=r"2-d parameters, got one of shape \[3\]"):
        hw.optim.Muon([hw.ones(3, requires_grad=True)])
    with pytest.raises(ValueError, match="adjust_lr_fn must be one of"):
        hw.optim.Muon([w], adjust_lr_fn="best")
