"""GPT-2 against torch and transformers: scores, gradients, names and numbers of parameters."""

import dataclasses

import numpy as np
import pytest

import headwater as hw
from models.gpt2.config import TINY
from models.gpt2.model import GPT2LMHeadModel, gpt2

NO_DROPOUT = dataclasses.replace(TINY, dropout=0.0)
IDS = np.random.default_rng(0).integers(0, 128, (3, 12))


def test_scores_agree_with_torch(twins):
    twins("gpt2", "GPT2LMHeadModel", NO_DROPOUT).check(IDS)


def test_number_of_parameters_and_names(count):
    model = gpt2()
    assert count(model) == 124_439_808
    state = model.state_dict()
    assert state["transformer.h.11.attn.c_attn.weight"].shape == (768, 2304)
    assert model.lm_head.weight is model.transformer.wte.weight


def test_a_position_does_not_see_the_next_ones():
    hw.manual_seed(0)
    model = GPT2LMHeadModel(TINY).eval()
    changed = IDS.copy()
    changed[:, 6:] = 5
    a, b = model(hw.tensor(IDS)).detach().numpy(), model(hw.tensor(changed)).detach().numpy()
    np.testing.assert_allclose(a[:, :6], b[:, :6], rtol=1e-5, atol=1e-5)
    assert abs(a[:, 6:] - b[:, 6:]).max() > 1e-3


def test_transformers_weights_load():
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    config = transformers.GPT2Config(vocab_size=128, n_positions=64, n_embd=64, n_layer=2, n_head=4)
    theirs, ours = transformers.GPT2LMHeadModel(config).eval(), GPT2LMHeadModel(TINY).eval()
    state = {
        key: value for key, value in theirs.state_dict().items() if not key.endswith((".attn.bias", "masked_bias"))
    }
    ours.load_state_dict({key: hw.tensor(value.numpy()) for key, value in state.items()})
    expected = theirs(torch.tensor(IDS)).logits.detach().numpy()
    np.testing.assert_allclose(ours(hw.tensor(IDS)).detach().numpy(), expected, rtol=1e-3, atol=1e-4)


def test_learns():
    from models.gpt2.train import train

    hw.manual_seed(0)
    first, last = train(steps=40)
    assert last < 0.8 * first
