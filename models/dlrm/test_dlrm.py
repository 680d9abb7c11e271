"""DLRM against torch: probabilities, gradients, names and numbers of parameters."""

import numpy as np

import headwater as hw
from models.dlrm.config import TINY
from models.dlrm.model import DLRM


def test_agrees_with_torch(twins):
    rng = np.random.default_rng(0)
    categories = np.stack([rng.integers(0, rows, (6, 3)) for rows in TINY.tables])
    twins("dlrm", "DLRM", TINY).check(rng.standard_normal((6, 4)).astype(np.float32), categories)


def test_names_and_numbers(count):
    model = DLRM(TINY)
    names = list(model.state_dict())
    assert names[:4] == ["emb_l.0.weight", "emb_l.1.weight", "emb_l.2.weight", "bot_l.0.weight"]
    assert "top_l.2.bias" in names
    bottom = (4 * 16 + 16) + (16 * 8 + 8)
    top = (14 * 16 + 16) + (16 + 1)  # 8 values of the dense part and 6 products of 4 vectors
    assert count(model) == 100 * 8 + bottom + top


def test_learns_a_hidden_rule():
    from models.dlrm.train import train

    hw.manual_seed(0)
    assert train(steps=300, lr=0.05) > 0.8
