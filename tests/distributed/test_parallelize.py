"""hw.parallelize: each plan on each mesh gives the losses of one device, and puts things where it says."""

import copy

import numpy as np
import pytest

import headwater as hw
import headwater.nn.functional as F
from headwater import nn
from headwater.distributed import place_batch
from models.bert.config import Config as BertConfig
from models.bert.model import BertModel
from models.gpt2.config import Config as GPTConfig
from models.gpt2.model import GPT2LMHeadModel

B, S = hw.broadcast, hw.split
MESHES = {"2": hw.mesh("cpu", 2), "3": hw.mesh("cpu", 3, names=["data"]), "2x2": hw.mesh("cpu", (2, 2), names=("data", "model")),
          "1x2": hw.mesh("cpu", (1, 2), names=("data", "model")), "2x1": hw.mesh("cpu", (2, 1), names=("data", "model"))}
GPT = GPTConfig(vocab_size=40, n_positions=16, n_embd=16, n_layer=1, n_head=4, dropout=0.1)
IDS = hw.tensor(np.random.default_rng(1).integers(0, 40, (6, 9)))


def losses(model, steps=3, optimizer=None, accumulate=1, clip=None):
    """The losses of a training script that knows no meshes but for place_batch."""
    hw.manual_seed(5)
    opt = (optimizer or (lambda p: hw.optim.AdamW(p, lr=1e-2)))(model.parameters())
    ids = place_batch(model, IDS) if "_batch_place" in model.__dict__ else IDS
    found = []
    for _ in range(steps):
        opt.zero_grad()
        for _ in range(accumulate):
            scores = model(ids[:, :-1])
            loss = F.cross_entropy(scores.reshape(-1, scores.shape[-1]), ids[:, 1:].reshape(-1)) / accumulate
            loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        opt.step()
        found.append(loss.item())
    return found


@pytest.fixture(scope="module")
def gpt():
    hw.manual_seed(0)
    return GPT2LMHeadModel(GPT)


@pytest.fixture(scope="module")
def alone(gpt):
    return losses(copy.deepcopy(gpt))


PLANS = [("2", "data"), ("3", "data"), ("2", "zero1"), ("3", "zero2"), ("2", "zero3"), ("2", "tensor"), ("1x2", "tensor"),
         ("2x1", "zero3"),
         *[("2x2", p) for p in ("data", "tensor", "tensor+data", "tensor+zero1", "tensor+zero2", "tensor+zero3", "zero3")]]


@pytest.mark.parametrize(("mesh", "plan"), PLANS)
def test_losses_are_those_of_one_device(gpt, alone, mesh, plan):
    model = hw.parallelize(copy.deepcopy(gpt), MESHES[mesh], plan)
    np.testing.assert_allclose(losses(model), alone, rtol=3e-4)


@pytest.mark.parametrize("plan", ["data", "zero1", "zero3", "tensor+zero2"])
def test_with_accumulation_and_clipping(gpt, plan):
    how = {"accumulate": 2, "clip": 0.5}
    want = losses(copy.deepcopy(gpt), **how)
    np.testing.assert_allclose(losses(hw.parallelize(copy.deepcopy(gpt), MESHES["2x2"], plan), **how), want, rtol=3e-4)


@pytest.mark.parametrize("name", ["SGD", "RMSprop", "Adagrad", "LAMB"])
@pytest.mark.parametrize("plan", ["zero1", "zero2"])
def test_other_optimisers(gpt, plan, name):
    def make(p):
        return getattr(hw.optim, name)(p, lr=1e-3, **({"momentum": 0.9} if name == "SGD" else {}))

    if not hasattr(hw.optim, name):
        pytest.skip(f"no optimiser {name}")
    want = losses(copy.deepcopy(gpt), optimizer=make)
    np.testing.assert_allclose(losses(hw.parallelize(copy.deepcopy(gpt), MESHES["2"], plan), optimizer=make), want, rtol=3e-4)


def test_where_things_lie():
    mesh = MESHES["2x2"]
    for plan, weight, grad, state in (("data", [B, B], [B, B], [B, B]), ("zero1", [B, B], [B, B], [S(0), B]),
                                      ("zero2", [B, B], [S(0), B], [S(0), B]), ("zero3", [S(0), B], [S(0), B], [S(0), B])):
        model = hw.parallelize(nn.Linear(4, 6), mesh, plan)
        opt = hw.optim.Adam(model.parameters())
        for _ in range(2):
            opt.zero_grad()
            out = model(hw.ones(8, 4))
            out.sum().backward()
            opt.step()
        assert model.weight.sbp == weight and model.weight.grad.sbp == grad
        assert opt.state[model.weight]["exp_avg"].sbp == state
    assert hw.parallelize(nn.Linear(4, 6), mesh, [{"weight": S(0), "bias": S(0)}, "zero1"]).weight.sbp == [B, S(0)]


def test_bert_by_its_tensor_plan():
    config = BertConfig(vocab_size=40, max_position_embeddings=16, hidden_size=16, num_hidden_layers=1, num_attention_heads=4,
                        intermediate_size=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    hw.manual_seed(0)
    model = BertModel(config)
    want = model(IDS)[1].detach().numpy()
    placed = hw.parallelize(model, MESHES["2x2"], "tensor+data")
    assert model.encoder.layer[0].intermediate.dense.weight.sbp == [B, S(0)]
    np.testing.assert_allclose(placed(IDS)[1].detach().full().numpy(), want, rtol=1e-4, atol=1e-5)


def test_batches():
    model = hw.parallelize(nn.Linear(4, 2), MESHES["2x2"], "data")
    x, y = place_batch(model, hw.ones(6, 4), [hw.ones(6), hw.tensor(1.0)])
    assert x.sbp == [S(0), B] and y[0].sbp == [S(0), B] and not y[1].is_global
    assert place_batch(model, x) is x
    with pytest.raises(ValueError, match="Linear was not placed by hw.parallelize"):
        place_batch(nn.Linear(4, 2), hw.ones(6, 4))


def test_refusals():
    model = nn.Linear(4, 2)
    with pytest.raises(ValueError, match="there is no plan 'dta'; the plans are data, zero1"):
        hw.parallelize(model, MESHES["2"], "dta")
    with pytest.raises(ValueError, match="no axis named 'model'"):
        hw.parallelize(model, MESHES["3"], {"weight": S(0)})
    with pytest.raises(ValueError, match="one axis for two plans"):
        hw.parallelize(model, MESHES["2"], ["data", {"weight": S(0)}])
    with pytest.raises(ValueError, match="Linear has no tensor_plan"):
        hw.parallelize(model, MESHES["2"], "tensor")
    with pytest.raises(ValueError, match="has a name like 'wieght'"):
        hw.parallelize(model, MESHES["2"], {"wieght": S(0)})
