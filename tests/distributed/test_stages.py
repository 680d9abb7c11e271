"""Stages with micro-batches: the losses of one rank on every mesh, the order of work, and what is kept in memory."""

import copy
import weakref

import numpy as np
import pytest

import headwater as hw
import headwater.nn.functional as F
from headwater import nn
from headwater.distributed.schedule import needed_by, one_forward_one_backward, stage_order
from headwater.distributed.stages import balanced
from models.gpt2.config import Config as GPTConfig
from models.gpt2.model import GPT2LMHeadModel

GPT = GPTConfig(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=4, dropout=0.1)
IDS = hw.tensor(np.random.default_rng(1).integers(0, 40, (7, 9)))


def loss_of(scores, targets):
    return F.cross_entropy(scores.reshape(-1, scores.shape[-1]), targets.reshape(-1))


def losses(model, steps=2, clip=None, scaler=None, micro_batches=3, twice=False):
    """7 rows: micro-batches of 3, 2 and 2."""
    hw.manual_seed(5)
    opt = hw.optim.AdamW(model.parameters(), lr=1e-2)
    found = []
    for _ in range(steps):
        opt.zero_grad()
        for _ in range(1 + twice):
            loss = hw.accumulate(model, loss_of, IDS[:, :-1], IDS[:, 1:], micro_batches=micro_batches, scaler=scaler)
        if clip:
            found.append(nn.utils.clip_grad_norm_(model.parameters(), clip).item())
        if scaler:
            scaler.step(opt)
            scaler.update()
        else:
            opt.step()
        found.append(loss.item())
    return [*found, hw.rand(1).item()]


@pytest.fixture(scope="module")
def gpt():
    hw.manual_seed(0)
    return GPT2LMHeadModel(GPT)


@pytest.fixture(scope="module")
def alone(gpt):
    return losses(copy.deepcopy(gpt))


def mesh(**axes):
    return hw.mesh("cpu", tuple(axes.values()), names=tuple(axes))


MESHES = {"p1": mesh(pipe=1), "p2": mesh(pipe=2), "p4": mesh(pipe=4), "p2d2": mesh(pipe=2, data=2), "d2p2": mesh(data=2, pipe=2),
          "p2m2": mesh(pipe=2, model=2), "p2d2m2": mesh(pipe=2, data=2, model=2)}
PLANS = [("p1", "data"), ("p2", "data"), ("p4", "data"), ("p2", "recompute"), ("p2m2", "tensor"), ("p2m2", "tensor+sequence+recompute"),
         *[(m, p) for m in ("p2d2", "d2p2") for p in ("data", "zero1", "zero2", "zero3")],
         *[("p2d2m2", f"tensor+{p}") for p in ("data", "zero1", "zero2", "zero3", "data+sequence", "zero2+sequence+recompute")]]


@pytest.mark.parametrize(("mesh", "plan"), PLANS)
def test_losses_are_those_of_one_device(gpt, alone, mesh, plan):
    model = hw.parallelize(copy.deepcopy(gpt), MESHES[mesh], plan)
    np.testing.assert_allclose(losses(model), alone, rtol=3e-4)


@pytest.mark.parametrize("plan", ["data", "zero2"])
@pytest.mark.parametrize("how", [{"clip": 0.5}, {"scaler": 64.0}, {"twice": True}, {"micro_batches": 7}], ids=lambda h: next(iter(h)))
def test_clipping_scaling_accumulating(gpt, plan, how):
    def options():
        return how | ({"scaler": hw.amp.GradScaler(init_scale=how["scaler"])} if "scaler" in how else {})

    want = losses(copy.deepcopy(gpt), **options())
    got = losses(hw.parallelize(copy.deepcopy(gpt), MESHES["p2d2"], plan), **options())
    np.testing.assert_allclose(got, want, rtol=3e-4)


def test_micro_batches_are_the_batch(gpt):
    """Without dropout: gradients and loss of uneven micro-batches are those of the batch at once."""
    model = copy.deepcopy(gpt).eval()
    loss = loss_of(model(IDS[:, :-1]), IDS[:, 1:])
    loss.backward()
    for on in (None, "p2", "p2d2"):
        other = copy.deepcopy(gpt).eval()
        if on:
            hw.parallelize(other, MESHES[on])
        got = hw.accumulate(other, loss_of, IDS[:, :-1], IDS[:, 1:], micro_batches=3)
        np.testing.assert_allclose(got.item(), loss.item(), rtol=1e-6)
        for (name, p), q in zip(model.named_parameters(), other.parameters(), strict=True):
            np.testing.assert_allclose(q.grad.full().numpy(), p.grad.numpy(), rtol=1e-3, atol=1e-6, err_msg=name)


def test_the_model_can_be_called(gpt):
    """Plain calls of a model with stages: scores, and gradients through the tied weights."""
    model = copy.deepcopy(gpt).eval()
    want = model(IDS)
    want.sum().backward()
    staged = hw.parallelize(copy.deepcopy(gpt).eval(), MESHES["p2d2"])
    got = staged(IDS)
    got.sum().backward()
    np.testing.assert_allclose(got.detach().full().numpy(), want.detach().numpy(), rtol=1e-4, atol=1e-5)
    for name, p in staged.named_parameters():
        assert p.grad is not None, name
    wte, other = model.transformer.wte.weight, staged.transformer.wte.weight
    assert staged.lm_head.weight is other and other.mesh == MESHES["p2d2"].part("pipe", 0)
    np.testing.assert_allclose(other.grad.full().numpy(), wte.grad.numpy(), rtol=1e-3, atol=1e-5)
    assert staged.transformer.h[-1].ln_1.weight.mesh == MESHES["p2d2"].part("pipe", 1)


def test_sequence_splits_what_lies_between(gpt):
    """Norms and dropout see a part of the length, the split layers all of it; scores are those of one device."""
    model = hw.parallelize(copy.deepcopy(gpt).eval(), mesh(data=2, model=2), "tensor+data+sequence")
    seen = {}
    for name in ("ln_1", "ln_2", "attn", "mlp.c_fc", "mlp.dropout"):
        module = model.transformer.h[0].get_submodule(name)
        module.register_forward_pre_hook(lambda m, args, name=name: seen.update({name: args[0].sbp}), prepend=name == "mlp.c_fc")
    scores = model(IDS)
    S = hw.split
    assert seen == {name: [S(0), S(1)] for name in seen} and len(seen) == 5
    block, x = model.transformer.h[0], hw.ones(4, 6, 16).to_global(scores.mesh, [S(0), S(1)])
    assert block.mlp.c_fc(block.ln_2(x)).sbp == [S(0), S(2)]
    np.testing.assert_allclose(scores.detach().full().numpy(), copy.deepcopy(gpt).eval()(IDS).detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [1, 2, 4, 9])
@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_order(stages, count, ahead):
    order = one_forward_one_backward(stages, count, ahead)
    for s in range(stages):
        mine = [t for t in order if t.stage == s]
        assert mine == stage_order(s, stages, count, ahead) and len(mine) == 2 * count
        in_flight = [sum(-1 if t.backward else 1 for t in mine[:n]) for n in range(len(mine) + 1)]
        assert max(in_flight) == min((1 + ahead) * (stages - s - 1) + 1, count) and in_flight[-1] == 0
    for i, task in enumerate(order):
        needs = needed_by(task, stages)
        assert needs is None or needs in order[:i]


def test_stages_that_are_ahead_change_no_number():
    found = []
    for ahead in (0, 1, 5):
        hw.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 8), nn.Linear(8, 4))
        model = hw.parallelize(model, MESHES["p4"])
        loss = hw.accumulate(model, F.mse_loss, hw.randn(12, 4), hw.randn(12, 4), micro_batches=6, ahead=ahead)
        found.append([loss.full(), *(p.grad.full() for p in model.parameters())])
    for other in found[1:]:
        assert all(hw.equal(a, b) for a, b in zip(found[0], other, strict=True))
    with pytest.raises(ValueError, match="ahead must be at least 0, got -1"):
        hw.accumulate(model, F.mse_loss, hw.randn(12, 4), hw.randn(12, 4), ahead=-1)


@pytest.mark.parametrize("ahead, kept", [(0, [4, 3, 2]), (1, [7, 5, 3])])
def test_memory_is_bounded_by_the_stages(ahead, kept):
    """What a stage made is alive for as many micro-batches as stages follow, however many there are; `ahead` is for each of them."""
    living, most = {}, {}

    class Watched(nn.Module):
        def __init__(self, name):
            super().__init__()
            self.name, self.linear = name, nn.Linear(4, 4)

        def forward(self, x):
            y = self.linear(x).exp()
            refs = living.setdefault(self.name, [])
            refs.append(weakref.ref(y))
            most[self.name] = max(most.get(self.name, 0), sum(r() is not None for r in refs))
            return y

    hw.manual_seed(0)
    model = hw.parallelize(nn.Sequential(*(Watched(i) for i in range(4))), MESHES["p4"])
    hw.accumulate(model, F.mse_loss, hw.randn(12, 4), hw.randn(12, 4), micro_batches=12, ahead=ahead)
    assert [most[i] for i in range(3)] == kept and len(living[0]) == 12


def test_balanced():
    assert balanced([1, 1, 1, 1], 2) == [2, 2] and balanced([9, 1, 1, 1], 2) == [1, 3] and balanced([1, 1, 1, 9], 3) == [1, 2, 1]


def test_refusals(gpt):
    p2 = MESHES["p2"]
    with pytest.raises(ValueError, match="does not say of which layers it consists"):
        hw.parallelize(nn.Linear(2, 2), p2)
    with pytest.raises(ValueError, match="has 1 layers, too few for 2 stages"):
        hw.parallelize(nn.Sequential(nn.Linear(2, 2)), p2)
    with pytest.raises(ValueError, match=r"2 positive numbers whose sum is the 4 layers of GPT2LMHeadModel, got \[1, 1\]"):
        hw.parallelize(copy.deepcopy(gpt), p2, stages=[1, 1])
    with pytest.raises(ValueError, match="no axis named 'pipe'"):
        hw.parallelize(nn.Linear(2, 2), hw.mesh("cpu", 2), stages=[1])
    with pytest.raises(ValueError, match="Linear has no sequence_plan"):
        hw.parallelize(nn.Linear(2, 2), hw.mesh("cpu", 2), "sequence")
    with pytest.raises(ValueError, match="sparse=True"):
        hw.parallelize(nn.Sequential(nn.Embedding(4, 2, sparse=True), nn.Linear(2, 2)), p2)
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model.pipeline_layers = lambda: [model[0], nn.ReLU()]
    with pytest.raises(ValueError, match="'1.weight' belongs to none of the modules"):
        hw.parallelize(model, p2)
    for x, parts, message in ((hw.ones(3, 2), 4, "3 rows cannot be cut into 4"), (hw.ones(4, 2), 2, r"one number of rows, got \[3, 4\]")):
        with pytest.raises(ValueError, match=message):
            hw.accumulate(nn.Linear(2, 2), F.mse_loss, x, hw.ones(3, 2), micro_batches=parts)
    with pytest.raises(TypeError, match="a tensor without axes"):
        hw.accumulate(nn.Linear(2, 2), lambda y, t: y - t, hw.ones(3, 2), hw.ones(3, 2))
