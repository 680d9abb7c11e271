"""BERT against torch and transformers: hidden states, scores, gradients, names and numbers of parameters."""

import dataclasses

import numpy as np
import pytest

import headwater as hw
from models.bert.config import BASE, TINY
from models.bert.model import BertForMaskedLM, bert_base

NO_DROPOUT = dataclasses.replace(TINY, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def batch():
    rng = np.random.default_rng(0)
    mask = np.ones((3, 12), dtype=np.int64)
    mask[1, 8:] = 0
    return rng.integers(1, 128, (3, 12)), mask, rng.integers(0, 2, (3, 12))


def test_masked_language_model_agrees_with_torch(twins):
    twins("bert", "BertForMaskedLM", NO_DROPOUT).check(*batch())


def test_number_of_parameters_and_names(count):
    model = bert_base()
    assert count(model) == 109_482_240
    state = model.state_dict()
    assert len(state) == 199
    assert state["encoder.layer.11.attention.self.query.weight"].shape == (768, 768)


def test_transformers_weights_load():
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    config = transformers.BertConfig(**dict(dataclasses.asdict(TINY).items()))
    theirs, ours = transformers.BertForMaskedLM(config).eval(), BertForMaskedLM(TINY).eval()
    ours.load_state_dict({key: hw.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
    ids, mask, types = batch()
    expected = theirs(torch.tensor(ids), torch.tensor(mask), torch.tensor(types)).logits.detach().numpy()
    got = ours(hw.tensor(ids), hw.tensor(mask), hw.tensor(types)).detach().numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)


def test_weights_of_embedding_and_decoder_are_one_parameter():
    model = BertForMaskedLM(TINY)
    assert model.cls.predictions.decoder.weight is model.bert.embeddings.word_embeddings.weight
    assert BASE.hidden_size == 768


def test_learns():
    from models.bert.train import train

    hw.manual_seed(0)
    first, last = train(steps=40)
    assert last < 0.8 * first
