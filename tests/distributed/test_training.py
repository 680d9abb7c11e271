"""One program on meshes of 1, 2 and 4 ranks: losses and parameters are those of one device."""

import copy

import numpy as np
import pytest

import headwater as hw
import headwater.nn.functional as F
from headwater import nn
from models.bert.config import Config as BertConfig
from models.bert.model import BertModel
from models.gpt2.config import Config as GPTConfig
from models.gpt2.model import GPT2LMHeadModel
from models.resnet.config import Config as ResNetConfig
from models.resnet.model import ResNet

B, S = hw.broadcast, hw.split
LINE1, LINE2, LINE4 = (hw.mesh("cpu", n, names=["data"]) for n in (1, 2, 4))
GRID = hw.mesh("cpu", (2, 2), names=("data", "model"))
DATA_PARALLEL = {"1": (LINE1, [B], [S(0)]), "2": (LINE2, [B], [S(0)]), "4": (LINE4, [B], [S(0)]), "2x2": (GRID, [B, B], [S(0), S(0)])}
OPTIMIZERS = {"sgd": lambda p: hw.optim.SGD(p, lr=0.05, momentum=0.9), "adam": lambda p: hw.optim.Adam(p, lr=1e-2)}


def train(model, loss_of, inputs, optimizer, steps=3):
    """Losses, and the parameters at the end. Inputs are placed already."""
    hw.manual_seed(5)
    opt = optimizer(model.parameters())
    losses = []
    for _ in range(steps):
        opt.zero_grad()
        loss = loss_of(model, *inputs)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, {n: p.detach().full().numpy() for n, p in model.state_dict().items()}


def check(make, loss_of, inputs, mesh, weights, data, optimizer, tolerance=2e-4, steps=3):
    hw.manual_seed(0)
    model = make()
    want = train(copy.deepcopy(model), loss_of, inputs, optimizer, steps)
    placed = copy.deepcopy(model).to_global(mesh, weights)
    before = {n: (p.mesh, p.sbp) for n, p in placed.named_parameters()}
    got = train(placed, loss_of, [t.to_global(mesh, data) for t in inputs], optimizer, steps)
    np.testing.assert_allclose(got[0], want[0], rtol=tolerance, atol=1e-5)
    for name, value in want[1].items():
        np.testing.assert_allclose(got[1][name], value, rtol=tolerance * 10, atol=tolerance * 10, err_msg=name)
    assert before == {n: (p.mesh, p.sbp) for n, p in placed.named_parameters()}, "a step moved a parameter"
    for p in placed.parameters():
        assert p.grad.sbp == p.sbp
    return got


def mlp():
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 10), nn.Tanh(), nn.Linear(10, 3))


def classify(model, x, y):
    return F.cross_entropy(model(x), y)


def digits(n, *shape):
    rng = np.random.default_rng(0)
    return [hw.tensor(rng.standard_normal((n, *shape)).astype("float32")), hw.tensor(rng.integers(0, 3, n))]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("case", DATA_PARALLEL)
def test_mlp_data_parallel(case, optimizer):
    check(mlp, classify, digits(10, 6), *DATA_PARALLEL[case], OPTIMIZERS[optimizer], tolerance=1e-4)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("mesh", [LINE1, LINE2, LINE4], ids=["1", "2", "4"])
def test_mlp_tensor_parallel(mesh, optimizer):
    """The first layer split by columns, the second by rows: what lies between is never whole."""
    weights = {"0.*": S(0), "3.weight": S(1)}
    got = check(mlp, classify, digits(10, 6), mesh, weights, [B], OPTIMIZERS[optimizer], tolerance=1e-4)
    assert got


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_mlp_data_and_tensor_parallel(optimizer):
    weights = {"0.*": [B, S(0)], "3.weight": [B, S(1)]}
    check(mlp, classify, digits(9, 6), GRID, weights, [S(0), B], OPTIMIZERS[optimizer], tolerance=1e-4)


def test_optimiser_state_lies_where_its_parameter_does():
    model = mlp().to_global(LINE2, {"0.weight": S(0)})
    opt = hw.optim.Adam(model.parameters())
    classify(model, *(t.to_global(LINE2, S(0)) for t in digits(4, 6))).backward()
    opt.step()
    state = opt.state[model[0].weight]
    assert all(v.sbp == [S(0)] for v in state.values() if isinstance(v, hw.Tensor) and v.ndim)


def small_resnet():
    return ResNet(ResNetConfig(depths=(1, 1, 1, 1), width=4, classes=3))


@pytest.mark.parametrize("case", ["2", "4", "2x2"])
def test_resnet_data_parallel(case):
    """Batch norm takes the statistics of the whole batch, whatever part of it a rank holds."""
    check(small_resnet, classify, digits(6, 3, 32, 32), *DATA_PARALLEL[case], OPTIMIZERS["sgd"], tolerance=2e-3, steps=2)


GPT = GPTConfig(vocab_size=40, n_positions=16, n_embd=16, n_layer=1, n_head=4, dropout=0.1)
GPT_TENSOR = {"*.attn.c_attn.*": S(-1), "*.attn.c_proj.weight": S(0), "*.mlp.c_fc.*": S(-1), "*.mlp.c_proj.weight": S(0),
              "*.wte.weight": S(0)}


def next_token(model, ids):
    scores = model(ids[:, :-1])
    return F.cross_entropy(scores.reshape(-1, scores.shape[-1]), ids[:, 1:].reshape(-1))


def tokens(n=4, length=9):
    return [hw.tensor(np.random.default_rng(1).integers(0, 40, (n, length)))]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("case", DATA_PARALLEL)
def test_gpt_data_parallel(case, optimizer):
    check(lambda: GPT2LMHeadModel(GPT), next_token, tokens(5), *DATA_PARALLEL[case], OPTIMIZERS[optimizer], tolerance=5e-4)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("mesh", [LINE2, LINE4], ids=["2", "4"])
def test_gpt_tensor_parallel(mesh, optimizer):
    check(lambda: GPT2LMHeadModel(GPT), next_token, tokens(), mesh, GPT_TENSOR, [B], OPTIMIZERS[optimizer], tolerance=5e-4)


def test_gpt_data_and_tensor_parallel():
    weights = {name: [B, sbp] for name, sbp in GPT_TENSOR.items()}
    check(lambda: GPT2LMHeadModel(GPT), next_token, tokens(5), GRID, weights, [S(0), B], OPTIMIZERS["adam"], tolerance=5e-4)


BERT = BertConfig(vocab_size=40, max_position_embeddings=16, hidden_size=16, num_hidden_layers=1, num_attention_heads=4,
                  intermediate_size=32)
BERT_TENSOR = {"*.self.*.weight": S(0), "*.self.*.bias": S(0), "*.attention.output.dense.weight": S(1), "*.intermediate.dense.*": S(0),
               "*.output.dense.weight": S(1)}


def embed(model, ids):
    """Of a part of each row: a whole normalised one has the mean square 1, and its gradient is rounding, which Adam enlarges."""
    hidden = model(ids)
    hidden = hidden[0] if isinstance(hidden, (tuple, list)) else hidden
    return hidden[..., :5].square().mean()


@pytest.mark.parametrize("case", ["2", "4"])
def test_bert_data_parallel(case):
    check(lambda: BertModel(BERT, False), embed, tokens(), *DATA_PARALLEL[case], OPTIMIZERS["adam"], tolerance=5e-4, steps=2)


def test_bert_tensor_parallel():
    check(lambda: BertModel(BERT, False), embed, tokens(), LINE2, BERT_TENSOR, [B], OPTIMIZERS["adam"], tolerance=5e-4, steps=2)
