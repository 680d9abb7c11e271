"""L-BFGS against torch: the same points, losses and numbers of evaluations."""

import copy

import numpy as np
import pytest
import torch

import headwater as hw


def rosenbrock(m, x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def regression(m, x):
    a = m.tensor(np.random.default_rng(3).standard_normal((20, 8)))
    return ((a @ x - 1).abs() ** 1.5).mean() + 0.01 * (x * x).sum()


def trace(m, problem, options, steps, resume=False):
    x = m.tensor(np.random.default_rng(0).standard_normal(8), requires_grad=True)
    unused = m.ones(2, dtype=m.float64, requires_grad=True)
    optimizer = m.optim.LBFGS([x, unused], **options)
    losses, calls = [], 0

    def closure():
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        loss = problem(m, x) * (-1 if options.get("maximize") else 1)
        loss.backward()
        return loss

    for step in range(steps):
        if resume and step == 2:
            state = copy.deepcopy(optimizer.state_dict())
            optimizer = m.optim.LBFGS([x, unused], **options)
            optimizer.load_state_dict(state)
        losses.append(float(optimizer.step(closure).detach()))
    return x.detach().numpy(), losses, calls


CASES = [
    {"lr": 0.5, "max_iter": 4},
    {"max_iter": 6, "history_size": 3, "line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "max_eval": 12},
    {"lr": 0.01, "max_iter": 3, "maximize": True},
]


@pytest.mark.parametrize("options", CASES, ids=lambda o: "-".join(o))
@pytest.mark.parametrize("problem", [rosenbrock, regression])
def test_the_same_points_as_torch(problem, options):
    got, want = (trace(m, problem, options, 4) for m in (hw, torch))
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-5, atol=1e-9)
    assert got[2] == want[2]


def test_it_resumes_and_finds_the_minimum():
    plain, resumed = (trace(hw, rosenbrock, CASES[1], 20, resume) for resume in (False, True))
    np.testing.assert_array_equal(plain[0], resumed[0])
    np.testing.assert_allclose(plain[0], 1, atol=1e-5)


def test_what_it_refuses():
    w = hw.ones(3, requires_grad=True)
    with pytest.raises(TypeError, match="needs a closure"):
        hw.optim.LBFGS([w]).step()
    with pytest.raises(ValueError, match="one group of parameters, got 2"):
        hw.optim.LBFGS([{"params": [w]}, {"params": [hw.ones(1)]}])
    with pytest.raises(ValueError, match="strong_wolfe"):
        hw.optim.LBFGS([w], line_search_fn="backtracking")
