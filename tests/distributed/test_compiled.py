"""hw.compile of functions and training steps on global tensors: the bits of eager mode, and what cannot be captured."""
from __future__ import annotations

import numpy as np
import pytest

import headwater as hw
from headwater import nn
from models.gpt2.config import Config as GPTConfig
from models.gpt2.model import GPT2LMHeadModel

S, B, P = hw.split, hw.broadcast, hw.partial_sum
LINE = hw.mesh("cpu", 2)


def same(a, b):
    """Equal bits, and equal placement."""
    assert a.is_global == b.is_global
    if a.is_global:
        assert a.mesh == b.mesh and a.sbp == b.sbp, (a.sbp, b.sbp)
        a, b = a.full(), b.full()
    np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def leaves(tree):
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    return [leaf for t in tree for leaf in leaves(t)] if isinstance(tree, tuple) else [tree]


def check(f, *args):
    """A compiled call, a second one, and an eager one agree."""
    compiled = hw.compile(f)
    want = f(*args)
    for _ in range(2):
        got = compiled(*args)
        for a, b in zip(leaves(got), leaves(want), strict=True):
            same(a, b)
    assert compiled.captures == 1
    return compiled


def mlp():
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))


def trained(mesh, plan, optimizer, compiled, model=mlp, steps=4, dropout=False):
    """Losses and final parameters of a few steps."""
    hw.manual_seed(3)
    net = model()
    if dropout:
        net.insert(2, nn.Dropout(0.3))
    net = hw.parallelize(net, mesh, plan)
    opt = optimizer(net.parameters())

    def step(x, y):
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    run = hw.compile(step) if compiled else step
    losses = []
    for _ in range(steps):
        x = hw.randn(12, 8)
        y = hw.distributed.place_batch(net, hw.randn(12, 4))
        losses.append(run(x, y).item())
    if compiled:
        assert run.captures == 1, run.last_reason
    return losses, list(net.parameters()), opt


SGD = lambda p: hw.optim.SGD(p, lr=0.1, momentum=0.9)  # noqa: E731
ADAMW = lambda p: hw.optim.AdamW(p, lr=0.01)  # noqa: E731
BY_TENSOR = {"0.*": S(0), "2.weight": S(1)}


@pytest.mark.parametrize("optimizer", [SGD, ADAMW], ids=["sgd", "adamw"])
@pytest.mark.parametrize("plan", ["data", "zero1", "zero2", "zero3", BY_TENSOR], ids=str)
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_training_step_has_the_bits_of_eager_mode(ranks, plan, optimizer):
    mesh = hw.mesh("cpu", ranks, names=("model" if isinstance(plan, dict) else "data",))
    eager, compiled = (trained(mesh, plan, optimizer, c) for c in (False, True))
    assert eager[0] == compiled[0]
    for a, b in zip(eager[1], compiled[1], strict=True):
        same(a, b)
        same(a.grad, b.grad)
        for key, value in eager[2].state[a].items():
            if isinstance(value, hw.Tensor):
                same(value, compiled[2].state[b][key])


def test_plans_of_two_axes_and_random_numbers():
    mesh = hw.mesh("cpu", (2, 2), names=("data", "model"))
    eager, compiled = (trained(mesh, ["zero1", BY_TENSOR], ADAMW, c, dropout=False) for c in (False, True))
    assert eager[0] == compiled[0]
    eager, compiled = (trained(LINE, "data", SGD, c, dropout=True) for c in (False, True))
    assert eager[0] == compiled[0] and len(set(eager[0])) == 4


def test_forward_passes_and_results_of_all_kinds():
    w, b = hw.randn(5, 4).to_global(LINE, B), hw.randn(5).to_global(LINE, B)
    x = hw.randn(7, 4).to_global(LINE, S(0))  # uneven
    check(lambda x: nn.functional.linear(x, w, b).relu(), x)
    check(lambda x: (x.sum(0), x.sum(0).relu(), x.t(), {"whole": x.full()}), x)
    check(lambda x: x.to_global(LINE, B).reshape(2, 14), hw.randn(7, 4).to_global(LINE, S(1)))
    check(lambda x: x[1:5].softmax(0), x)
    check(lambda x: hw.distribute(x, LINE, S(1)) * 2 + 1, hw.randn(3, 4))
    check(lambda x, y: x @ y, hw.randn(4, 6).to_global(LINE, S(1)), hw.randn(6, 4).to_global(LINE, S(0)))
    check(lambda x: x.to_global(LINE, P).sum(1), hw.randn(4, 6))
    check(lambda x: hw.zeros_like(x) + hw.ones_like(x), x)


def test_an_argument_or_state_that_is_returned_is_itself():
    w, x = hw.randn(5, 4).to_global(LINE, S(0)), hw.randn(5, 4).to_global(LINE, S(0))
    same_tensors = hw.compile(lambda x: (x, w, x[:, 1:]))
    for _ in range(2):
        a, b, view = same_tensors(x)
        assert a is x and b is w
    version = x._version
    view.zero_()
    assert x._version > version and x.full().numpy()[:, 1:].sum() == 0


def test_writes_in_place():
    x, total = hw.randn(6, 4).to_global(LINE, S(0)), hw.zeros(6, 4).to_global(LINE, S(0))
    row = hw.zeros(4).to_global(LINE, B)

    def f(x):
        total.add_(x)
        row.copy_(x.sum(0))  # of another placement
        total[:, 1].mul_(2)
        return total.sum()

    twin = total.full(), row.full()
    compiled, version = hw.compile(f), total._version
    for _ in range(3):
        compiled(x)
        twin[0].add_(x.full())
        twin[0][:, 1].mul_(2)
    np.testing.assert_allclose(total.full().numpy(), twin[0].numpy(), rtol=1e-6)
    np.testing.assert_allclose(row.full().numpy(), x.full().numpy().sum(0), rtol=1e-5)
    assert total._version >= version + 3 and compiled.captures == 1


def test_gradients_flow_through_a_compiled_function():
    found = []
    for wrap in (lambda f: f, hw.compile):
        hw.manual_seed(1)
        net = mlp().to_global(LINE, {"0.*": S(0), "2.weight": S(1)})
        x = hw.randn(6, 8).to_global(LINE, B).requires_grad_()
        forward = wrap(lambda t, net=net: net(t))
        for _ in range(2):
            forward(x).square().mean().backward()
        found.append([x.grad, *(p.grad for p in net.parameters())])
    for a, b in zip(*found, strict=True):
        same(a, b)


def test_batch_norm_and_gradients_that_accumulate():
    found = []
    for wrap in (lambda f: f, hw.compile):
        hw.manual_seed(1)
        net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 1)).to_global(LINE, B)

        def accumulate(x, net=net):
            net(x).square().sum().backward()

        run = wrap(accumulate)
        for _ in range(3):
            run(hw.randn(8, 4).to_global(LINE, S(0)))
        found.append([*net.parameters(), *net.buffers(), *(p.grad for p in net.parameters())])
    for a, b in zip(*found, strict=True):
        same(a, b)


def test_another_placement_is_another_program():
    w = hw.randn(4, 4).to_global(LINE, B)
    f = hw.compile(lambda x: x @ w)
    x = hw.randn(4, 4)
    for sbp in (B, S(0), S(1), S(0)):
        y = x.to_global(LINE, sbp)
        same(f(y), y @ w)
    assert f.captures == 3
    w.data = w.to_global(LINE, S(1))
    same(f(x.to_global(LINE, B)), x.to_global(LINE, B) @ w)
    assert f.captures == 4 and "lies as cpu[axis0=2] [S(1)] now" in f.last_reason, f.last_reason
    four = hw.mesh("cpu", 4)
    w.data = w.to_global(four, B)
    same(f(x.to_global(four, S(0))), x.to_global(four, S(0)) @ w)
    w.data = w.full()
    same(f(x), x @ w)


def test_sizes_that_change_are_captured_each():
    f = hw.compile(lambda x: x.softmax(1))
    for n in (4, 5, 6, 4):
        x = hw.randn(n, 3).to_global(LINE, S(0))
        same(f(x), x.softmax(1))
    assert f.captures == 3
    g = hw.compile(lambda x: hw.distribute(x, LINE, S(0)).sum(1))
    for n in (4, 5, 6, 7):
        x = hw.randn(n, 3)
        same(g(x), hw.distribute(x, LINE, S(0)).sum(1))


def test_what_cannot_be_captured_says_so_and_leaves_things_as_they_were():
    x = hw.randn(4, 4).to_global(LINE, S(0))
    flag = hw.tensor(True)
    with pytest.raises(hw.CompileError, match="hw.cond and hw.while_loop .*take no global tensors.*hw.where"):
        hw.compile(lambda x: hw.cond(flag, lambda t: t + 1, lambda t: t - 1, (x,)))(x)
    with pytest.raises(hw.CompileError, match="inside hw.cond or hw.while_loop.*hw.where"):
        hw.compile(lambda f: hw.cond(f, lambda: x + 1, lambda: x - 1))(flag)
    with pytest.raises(hw.CompileError, match="item.* needs the value"):
        hw.compile(lambda x: x.sum().item())(x)
    row = x[0]  # its axis is split: the view is of moved parts
    with pytest.raises(hw.CompileError, match="whose parts had to be moved for it was made outside.*make it inside"):
        hw.compile(lambda: row + 1)()
    with pytest.raises(hw.CompileError, match="returns a view.*return clone"):
        hw.compile(lambda x: x[0])(x)
    same(hw.compile(lambda x: x[0].clone())(x), x[0])
    kept = []
    with pytest.raises(hw.CompileError, match="still held outside"):
        hw.compile(lambda x: kept.append(x * 2))(x)
    same(row + 1, x[0] + 1)


def test_micro_batches_of_stages_and_samples_of_classes_are_called_outside():
    net = hw.parallelize(mlp(), hw.mesh("cpu", 2, names=("pipe",)), "data")
    x, y = hw.randn(4, 8), hw.randn(4, 4)
    step = hw.compile(lambda x, y: hw.accumulate(net, nn.functional.mse_loss, x, y, micro_batches=2))
    with pytest.raises(hw.CompileError, match="with stages works inside hw.compile as a plain call.*outside of the compiled function"):
        step(x, y)
    same(hw.compile(lambda x: net(x))(x), net(x))
    classes = nn.PartialFC(8, 50, sample_rate=0.5).to_global(LINE, S(0))
    with pytest.raises(hw.CompileError, match="how many classes a sample has.*outside of the compiled function.*sample_rate=1"):
        hw.compile(lambda x, y: classes(x, y))(x.to_global(LINE, B), hw.randint(0, 50, (4,)).to_global(LINE, B))


def test_a_capture_that_fails_leaves_parameters_and_gradients():
    hw.manual_seed(0)
    net = hw.parallelize(mlp(), hw.mesh("cpu", 2, names=("data",)), "zero2")
    opt = hw.optim.AdamW(net.parameters(), lr=0.1)
    before = [p.detach().full().numpy().copy() for p in net.parameters()]

    def step(x):
        loss = net(x).sum()
        loss.backward()
        opt.step()
        return float(loss)

    with pytest.raises(hw.CompileError, match="needs the value"):
        hw.compile(step)(hw.randn(4, 8))
    assert all(p.grad is None for p in net.parameters()) and not any(opt.state.values())
    for p, b in zip(net.parameters(), before, strict=True):
        np.testing.assert_array_equal(p.detach().full().numpy(), b)
    step(hw.randn(4, 8))
    assert not np.array_equal(net[0].weight.full().detach().numpy(), before[0])


@pytest.mark.parametrize("plan", ["data", "tensor"])
def test_a_small_gpt(plan):
    losses = []
    for wrap in (lambda f: f, hw.compile):
        hw.manual_seed(0)
        net = GPT2LMHeadModel(GPTConfig(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=4, dropout=0.1))
        net = hw.parallelize(net, LINE, plan)
        opt = hw.optim.AdamW(net.parameters(), lr=1e-3)
        ids = hw.randint(0, 64, (4, 16))
        targets = hw.distributed.place_batch(net, ids)

        def step(ids, targets, net=net, opt=opt):
            loss = nn.functional.cross_entropy(net(ids).flatten(0, 1), targets.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss

        run_step = wrap(step)
        losses.append([run_step(ids, targets).item() for _ in range(3)])
    assert losses[0] == losses[1] and len(set(losses[0])) == 3
