"""Groups, hooks, closures, state dicts and errors of optimisers."""

import copy
import pickle

import numpy as np
import pytest
import torch

import headwater as hw
from headwater.optim import optimizer as base


def params(n=2):
    out = [hw.ones(3).requires_grad_() for _ in range(n)]
    for p in out:
        p.grad = hw.ones(3)
    return out


def test_groups_take_defaults_and_their_own_options():
    a, b = params()
    optimizer = hw.optim.SGD([{"params": [a], "lr": 1.0}, {"params": b}], lr=0.5)
    optimizer.step()
    assert a.tolist() == [0.0] * 3
    assert b.tolist() == [0.5] * 3
    assert [g["lr"] for g in optimizer.param_groups] == [1.0, 0.5]
    assert optimizer.param_groups[0]["momentum"] == 0
    (c,) = params(1)
    optimizer.add_param_group({"params": c, "lr": 0.25})
    optimizer.step()
    assert c.tolist() == [0.75] * 3
    assert "Parameter Group 2" in repr(optimizer)


def test_generators_and_names():
    optimizer = hw.optim.SGD(((name, p) for name, p in zip("ab", params())), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]


def test_zero_grad():
    a, b = params()
    optimizer = hw.optim.SGD([a, b], lr=1.0)
    optimizer.zero_grad(set_to_none=False)
    assert a.grad.tolist() == [0.0] * 3
    optimizer.zero_grad()
    assert a.grad is None
    optimizer.step()  # nothing to do
    assert a.tolist() == [1.0] * 3


def test_closure_runs_with_gradients_and_gives_the_loss():
    p = hw.tensor([2.0]).requires_grad_()
    optimizer = hw.optim.SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with hw.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 4.0
    np.testing.assert_allclose(p.tolist(), [1.6], rtol=1e-6)


def test_step_hooks():
    (p,) = params(1)
    optimizer = hw.optim.SGD([p], lr=1.0)
    seen = []
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("pre")),
        optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("post")),
        base.register_optimizer_step_pre_hook(lambda o, args, kwargs: seen.append("global pre")),
        base.register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append("global post")),
    ]
    optimizer.step()
    assert seen == ["global pre", "pre", "post", "global post"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(seen) == 4


def test_state_dict_hooks():
    optimizer = hw.optim.SGD(params(), lr=1.0)
    optimizer.register_state_dict_post_hook(lambda o, d: {**d, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, d: {k: v for k, v in d.items() if k != "extra"})
    done = []
    optimizer.register_load_state_dict_post_hook(done.append)
    saved = optimizer.state_dict()
    assert saved["extra"] == 1
    optimizer.load_state_dict(saved)
    assert done == [optimizer]


OPTIMIZERS = [
    (hw.optim.SGD, {"momentum": 0.9}), (hw.optim.Adam, {"amsgrad": True}), (hw.optim.AdamW, {}),
    (hw.optim.RMSprop, {"momentum": 0.9, "centered": True}), (hw.optim.Adagrad, {}), (hw.optim.LAMB, {}),
]  # fmt: skip


@pytest.mark.parametrize(("cls", "options"), OPTIMIZERS, ids=lambda v: getattr(v, "__name__", ""))
@pytest.mark.parametrize("through", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))], ids=["copy", "pickle"])
def test_a_loaded_optimizer_goes_on_in_the_same_way(cls, options, through):
    rng = np.random.default_rng(0)
    grads = [rng.standard_normal((2, 3)).astype(np.float32) for _ in range(8)]

    def steps(ps, optimizer, part):
        for grad in part:
            for p, g in zip(ps, grad):
                p.grad = hw.tensor(g)
            optimizer.step()

    whole = params()
    optimizer = cls(whole, lr=0.1, **options)
    steps(whole, optimizer, grads)

    first = params()
    optimizer = cls(first, lr=0.1, **options)
    steps(first, optimizer, grads[:4])
    saved = through(optimizer.state_dict())
    second = [p.detach().clone().requires_grad_() for p in first]
    optimizer = cls(second, lr=0.7, **options)
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["lr"] == 0.1
    steps(second, optimizer, grads[4:])
    for a, b in zip(whole, second):
        assert a.tolist() == b.tolist()


def test_a_state_dict_of_torch_can_be_loaded():
    theirs = torch.ones(3, requires_grad=True)
    theirs.grad = torch.full((3,), 0.5)
    other = torch.optim.Adam([theirs], lr=0.1)
    other.step()
    saved = other.state_dict()
    state = {
        0: {k: v.item() if k == "step" else hw.tensor(v.numpy()) for k, v in saved["state"][0].items()},
    }
    p = hw.tensor(theirs.detach().numpy()).requires_grad_()
    optimizer = hw.optim.Adam([p])
    optimizer.load_state_dict({"state": state, "param_groups": saved["param_groups"]})
    p.grad = hw.full((3,), 0.25)
    theirs.grad = torch.full((3,), 0.25)
    optimizer.step()
    other.step()
    np.testing.assert_allclose(p.detach().numpy(), theirs.detach().numpy(), rtol=1e-6)


def test_loading_casts_to_the_dtype_of_the_parameter():
    (p,) = params(1)
    optimizer = hw.optim.SGD([p], lr=0.1, momentum=0.9)
    optimizer.step()
    q = hw.ones(3, dtype=hw.float64).requires_grad_()
    other = hw.optim.SGD([q], lr=0.1, momentum=0.9)
    other.load_state_dict(optimizer.state_dict())
    assert other.state[q]["momentum_buffer"].dtype == hw.float64


def test_loading_the_wrong_number_of_parameters():
    optimizer, other = hw.optim.SGD(params(2), lr=0.1), hw.optim.SGD(params(3), lr=0.1)
    with pytest.raises(ValueError, match=r"2 parameters.*3"):
        other.load_state_dict(optimizer.state_dict())
    with pytest.raises(ValueError, match="param groups"):
        other.load_state_dict({"state": {}, "param_groups": []})


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: hw.optim.SGD([], lr=1.0), ValueError, "empty"),
        (lambda: hw.optim.SGD(hw.ones(3), lr=1.0), TypeError, "single tensor"),
        (lambda: hw.optim.SGD({hw.ones(3).requires_grad_()}, lr=1.0), TypeError, "a set has none"),
        (lambda: hw.optim.SGD([3.0], lr=1.0), TypeError, "takes tensors, got float"),
        (lambda: hw.optim.SGD([hw.ones(3).requires_grad_() * 2], lr=1.0), ValueError, "non-leaf"),
        (lambda: hw.optim.SGD([hw.ones(3, dtype=hw.int64)], lr=1.0), TypeError, "floating"),
        (lambda: hw.optim.SGD(params(), lr=-1.0), ValueError, "lr.*-1.0"),
        (lambda: hw.optim.SGD(params(), lr=float("nan")), ValueError, "lr"),
        (lambda: hw.optim.SGD(params(), lr=1.0, nesterov=True), ValueError, "nesterov"),
        (lambda: hw.optim.Adam(params(), betas=(0.9, 1.0)), ValueError, r"betas\[1\].*1.0"),
        (lambda: hw.optim.Adam(params(), betas=(0.9,)), ValueError, "two"),
        (lambda: hw.optim.Adam(params(), foreach=True, fused=True), RuntimeError, "foreach and fused"),
        (lambda: hw.optim.Adam(params(), differentiable=True), NotImplementedError, "differentiable"),
        (lambda: hw.optim.SGD(params(1) * 2, lr=1.0), ValueError, "more than once"),
        (lambda: hw.optim.RMSprop(params(), alpha=-1), ValueError, "alpha"),
        (lambda: hw.optim.Adagrad(params(), lr_decay=-1), ValueError, "lr_decay"),
        (lambda: hw.optim.LAMB(params(), eps=-1), ValueError, "eps"),
    ],
)
def test_errors(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_gradient_of_another_dtype_is_refused():
    (p,) = params(1)
    state = hw.zeros(3, dtype=hw.float64)
    with pytest.raises(TypeError, match="grad is f64"):
        hw._C.optimizer_step("sgd_step", [p], [state], None, 0.1, 0, 0, 0, False, False, False)
    with pytest.raises(ValueError, match="1 parameters, but 0 of grad"):
        hw._C.optimizer_step("sgd_step", [p], [], None, 0.1, 0, 0, 0, False, False, False)


def test_a_subclass_gets_hooks_too():
    class Plain(hw.optim.Optimizer):
        def step(self, closure=None):
            with hw.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        p.sub_(p.grad * group["lr"])

    (p,) = params(1)
    optimizer = Plain([p], {"lr": 0.5})
    seen = []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(o))
    optimizer.step()
    assert seen == [optimizer]
    assert p.tolist() == [0.5] * 3
