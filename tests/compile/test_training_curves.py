"""Training ResNet-18, BERT, an LSTM and DLRM, small: the losses and what is learned are the same bits compiled as eager."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from same import assert_same, frozen

import headwater as hw
import headwater.nn.functional as F
from headwater import nn
from models.bert.config import Config as BertConfig
from models.bert.model import BertForMaskedLM
from models.dlrm.config import TINY as DLRM_TINY
from models.dlrm.model import DLRM
from models.lstm.config import Config as LSTMConfig
from models.lstm.model import LSTMModel
from models.resnet.config import Config as ResNetConfig
from models.resnet.model import ResNet

# model, optimiser, schedule; the step's loss of a batch; batches
Setting = tuple[nn.Module, Any, Any, Callable[..., hw.Tensor], Iterator[tuple[hw.Tensor, ...]]]


def resnet18() -> Setting:
    model = ResNet(ResNetConfig(width=4, classes=10))
    optimiser = hw.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4, nesterov=True)
    rng = np.random.default_rng(0)

    def batches() -> Iterator[tuple[hw.Tensor, ...]]:
        while True:
            labels = rng.integers(0, 10, 8)
            images = rng.standard_normal((8, 3, 24, 24)) + labels[:, None, None, None] * 0.3 - 1.5
            yield hw.tensor(images, dtype=hw.float32), hw.tensor(labels)

    schedule = hw.optim.lr_scheduler.CosineAnnealingLR(optimiser, 200)
    return model, optimiser, schedule, lambda x, y: F.cross_entropy(model(x), y), batches()


def sentences(shape: tuple[int, int], vocabulary: int) -> Iterator[np.ndarray]:
    """One word each, again and again."""
    rng = np.random.default_rng(0)
    while True:
        yield np.repeat(rng.integers(0, vocabulary, (shape[0], 1)), shape[1], 1)


def bert() -> Setting:
    config = BertConfig(16, 32, 2, 4, 64, 32)  # dropout 0.1
    model = BertForMaskedLM(config)
    optimiser = hw.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = hw.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=1e-2, total_steps=200)

    def loss(ids: hw.Tensor) -> hw.Tensor:
        hidden = hw.rand(*ids.shape) < 0.2
        scores = model(ids.masked_fill(hidden, 1))
        return F.cross_entropy(scores.reshape(-1, 16), ids.masked_fill(~hidden, -100).reshape(-1))

    return model, optimiser, schedule, loss, ((hw.tensor(s),) for s in sentences((8, 16), 16))


def lstm() -> Setting:
    model = LSTMModel(LSTMConfig(vocab_size=64, embedding=24, hidden=32, layers=2, dropout=0.2))
    optimiser = hw.optim.Adam(model.parameters(), lr=4e-3)

    def loss(ids: hw.Tensor) -> hw.Tensor:
        return F.cross_entropy(model(ids[:-1]).reshape(-1, 64), ids[1:].reshape(-1))

    return model, optimiser, None, loss, ((hw.tensor(np.ascontiguousarray(s.T)),) for s in sentences((8, 13), 64))


def dlrm() -> Setting:
    model = DLRM(DLRM_TINY)
    optimiser = hw.optim.Adagrad(model.parameters(), lr=0.02)
    rng = np.random.default_rng(0)

    def batches() -> Iterator[tuple[hw.Tensor, ...]]:
        while True:
            dense = rng.standard_normal((64, DLRM_TINY.dense))
            ids = np.stack([rng.integers(0, rows, (64, 2)) for rows in DLRM_TINY.tables])
            clicks = (np.sin(ids[0]).sum(1) + dense[:, 0] > 0).astype(np.float32)
            yield hw.tensor(dense, dtype=hw.float32), hw.tensor(ids), hw.tensor(clicks[:, None])

    return model, optimiser, None, lambda x, ids, y: F.binary_cross_entropy(model(x, ids), y), batches()


NETWORKS = {"resnet18": resnet18, "bert": bert, "lstm": lstm, "dlrm": dlrm}


def curve(name: str, steps: int, compiled: bool) -> tuple[list[float], Any]:
    """The losses, and what holds at the end."""
    hw.manual_seed(5)
    model, optimiser, schedule, loss_of, batches = NETWORKS[name]()

    def step(*batch: hw.Tensor) -> hw.Tensor:
        optimiser.zero_grad()
        loss = loss_of(*batch)
        loss.backward()
        if name == "lstm":
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if schedule is not None:
            schedule.step()
        return loss.detach()

    run = hw.compile(step) if compiled else step
    losses = [float(run(*next(batches))) for _ in range(steps)]
    assert not compiled or run.captures <= 2, run.last_reason  # the second: gradients are there
    return losses, [frozen(model), frozen(optimiser), hw.get_rng_state().tolist()]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("steps", [8, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", list(NETWORKS))
def test_the_curve_is_that_of_eager_mode(name, steps):
    want, wanted_state = curve(name, steps, compiled=False)
    got, state = curve(name, steps, compiled=True)
    assert got == want
    assert_same(state, wanted_state, name)
    if steps > 100:
        assert np.mean(want[-10:]) < 0.8 * np.mean(want[:3]), "it does not learn"
