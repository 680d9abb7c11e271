"""Compiled transformers: what linear layers and attention become, that weights may change, and that results agree with eager."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import headwater as hw
import headwater.nn.functional as F
from headwater import nn
from models.bert.config import TINY
from models.bert.model import BertModel
from models.gpt2.config import TINY as TINY_GPT2
from models.gpt2.model import GPT2LMHeadModel

WIDE = dataclasses.replace(TINY, hidden_size=128, intermediate_size=256)


def ops(step) -> dict[str, int]:
    """How often each operator runs in the newest program."""
    counts: dict[str, int] = {}
    for s in step.inspect().programs[-1].steps:
        counts[s.op] = counts.get(s.op, 0) + 1
    return counts


def close(got: hw.Tensor, want: hw.Tensor) -> None:
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=2e-5, atol=2e-5)


def test_bert_packs_merges_and_copies_nothing() -> None:
    hw.manual_seed(0)
    model = BertModel(WIDE).eval()
    step = hw.compile(model)
    rng = np.random.default_rng(0)
    ids, mask = hw.tensor(rng.integers(0, 128, (3, 12))), hw.tensor(rng.integers(0, 2, (3, 12)))
    with hw.no_grad():
        got, want = step(ids, mask), model(ids, mask)
    close(got[0], want[0])
    close(got[1], want[1])
    found = ops(step)
    assert found["_linear_packed"] == 4 * WIDE.num_hidden_layers + 1  # query, key and value are one product
    assert "linear" not in found and "clone" not in found and "gelu" not in found and "tanh" not in found


def test_weights_may_change_between_calls() -> None:
    model = BertModel(WIDE).eval()
    step = hw.compile(model)
    ids = hw.tensor(np.arange(8).reshape(1, 8))
    with hw.no_grad():
        step(ids)
        for name, p in model.named_parameters():
            if "query.weight" in name or "dense.weight" in name:
                p.mul_(1.5)
        close(step(ids)[0], model(ids)[0])
        other = BertModel(WIDE)
        model.load_state_dict(other.state_dict())
        close(step(ids)[0], other.eval()(ids)[0])


def test_gpt2_agrees() -> None:
    config = dataclasses.replace(TINY_GPT2, n_embd=128)
    model = GPT2LMHeadModel(config).eval()
    step = hw.compile(model)
    ids = hw.tensor(np.random.default_rng(0).integers(0, 128, (2, 9)))
    with hw.no_grad():
        close(step(ids), model(ids))
    found = ops(step)
    assert found["_linear_packed"] == 4 * config.n_layer + 1 and "clone" not in found


def by_hand(q: hw.Tensor, k: hw.Tensor, v: hw.Tensor, mask: hw.Tensor | None = None) -> hw.Tensor:
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask, -math.inf) if mask.dtype == hw.bool else scores + mask
    return F.softmax(scores, dim=-1) @ v


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("kind", ["none", "added", "causal"])
def test_attention_by_hand_keeps_no_scores(batch: int, kind: str) -> None:
    rng = np.random.default_rng(1)
    length = 70

    def heads() -> hw.Tensor:  # as a linear layer makes them
        return hw.tensor(rng.standard_normal((batch, length, 4, 16)).astype("float32")).transpose(1, 2)

    q, k, v = heads(), heads(), heads()
    mask = None
    if kind == "added":
        mask = hw.tensor(np.where(rng.random((batch, 1, 1, length)) < 0.3, -np.inf, 0.0).astype("float32"))
    if kind == "causal":
        mask = hw.ones(length, length).tril() == 0
    step = hw.compile(by_hand)
    with hw.no_grad():
        close(step(q, k, v, mask), by_hand(q, k, v, mask))
    assert "softmax" not in ops(step) and ops(step)["_attention"] == 1


def test_a_row_that_sees_nothing_is_nan_as_in_softmax() -> None:
    q = hw.ones(1, 2, 3, 8)
    mask = hw.tensor([[True, True, True], [False, True, True], [False, False, True]])
    step = hw.compile(by_hand)
    got, want = step(q, q, q, mask).numpy(), by_hand(q, q, q, mask).numpy()
    assert np.isnan(want[..., 0, :]).all() and (np.isnan(got) == np.isnan(want)).all()


def test_a_small_layer_keeps_its_bits() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    step = hw.compile(model)
    x = hw.randn(1, 8)
    with hw.no_grad():
        assert (step(x).numpy() == model(x).numpy()).all()
    assert "_linear_packed" not in ops(step)


def test_attention_lies_as_its_query_does() -> None:
    made = hw.randn(2, 5, 3, 8).transpose(1, 2).requires_grad_()
    y = F.scaled_dot_product_attention(made, made, made)
    assert y.transpose(1, 2).is_contiguous()
    plain = made.detach().contiguous()
    assert F.scaled_dot_product_attention(plain, plain, plain).is_contiguous()
    (gradient,) = hw.autograd.grad(y.sum(), [made])
    assert gradient.shape == made.shape
