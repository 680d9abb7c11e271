"""The LSTM language model against torch: scores, gradients, state carried on."""

import numpy as np

import headwater as hw
from models.lstm.config import TINY
from models.lstm.model import LSTMModel

IDS = np.random.default_rng(0).integers(0, 128, (9, 4))


def test_scores_agree_with_torch(twins):
    twins("lstm", "LSTMModel", TINY).check(IDS)


def test_two_pieces_are_one_sequence():
    hw.manual_seed(0)
    model = LSTMModel(TINY).eval()
    ids = hw.tensor(IDS)
    whole = model(ids).detach().numpy()
    first, state = model.step(ids[:5], None)
    second, _ = model.step(ids[5:], state)
    parts = np.concatenate([first.detach().numpy(), second.detach().numpy()])
    np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-5)


def test_number_of_parameters(count):
    # embedding and decoder 10000 x 650 each, bias 10000; two layers of 4 (650 x 650 + 650 x 650 + 2 x 650)
    assert count(LSTMModel()) == 2 * 6_500_000 + 10_000 + 2 * 4 * (2 * 650 * 650 + 2 * 650)


def test_learns():
    from models.lstm.train import train

    hw.manual_seed(0)
    first, last = train(steps=40)
    assert last < 0.8 * first
