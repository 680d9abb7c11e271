"""The optimisers written with operators against torch, for 20 steps on the same gradients."""

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
        tolerance = 1e-6 if name == "NAdam" else 1e-9  # torch keeps NAdam's product of momenta in float32
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=tolerance, atol=tolerance)


def test_a_compiled_step_is_refused():
    w = hw.ones(3).requires_grad_()
    optimizer = hw.optim.RAdam([w])

    @hw.compile
    def train(x):
        (w * x).sum().backward()
        optimizer.step()

    with pytest.raises(Exception, match=r"RAdam.step\(\) cannot be compiled"):
        train(hw.ones(3))


def test_bad_options_name_their_value():
    w = [hw.ones(3)]
    for make, text in ((lambda: hw.optim.Adadelta(w, rho=2), "rho must be in"), (lambda: hw.optim.Rprop(w, etas=(1.5, 2)), "etas must lie"),
                       (lambda: hw.optim.NAdam(w, momentum_decay=-1), "momentum_decay must be"),
                       (lambda: hw.optim.Adamax(w, betas=(1, 0)), "betas")):
        with pytest.raises(ValueError, match=text):
            make()
