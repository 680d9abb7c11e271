"""Tensors of a capture that failed have no memory: whatever reads or writes them later says so, and nothing crashes. The operators
are tried by the harness (tests/ops/compiled.py)."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import headwater as hw
from headwater import nn


class GivenUp(Exception):
    pass


def left_behind(make=lambda: hw.ones(3) * 2, *given):
    """What a function computed whose capture then failed."""
    kept = []

    def fails(*args):
        kept.append(make(*args))
        raise GivenUp

    with pytest.raises(GivenUp):
        hw.compile(fails)(*given)
    return kept[0]


def says_so(call):
    with pytest.raises(RuntimeError, match="outlived the capture") as caught:
        call()
    assert len(str(caught.value)) < 400


def test_reading_in_eager_mode():
    t = left_behind()
    says_so(lambda: t + 1)
    says_so(lambda: hw.ones(3) * t)
    says_so(lambda: t.sum())
    says_so(lambda: t[1:] * 2)
    says_so(lambda: t.reshape(3, 1).expand(3, 2).contiguous())
    says_so(lambda: t.to(hw.float64))
    says_so(lambda: hw.cat([hw.ones(2), t]))
    says_so(lambda: hw.ones(3)[t > 1])
    says_so(lambda: bool(t[0]))
    says_so(lambda: t.tolist())
    says_so(lambda: t.numpy())
    says_so(lambda: np.from_dlpack(t))
    says_so(lambda: np.asarray(t))
    says_so(lambda: format(t[0]))
    says_so(lambda: t.data_ptr())
    says_so(lambda: copy.deepcopy(t))
    says_so(lambda: pickle.dumps(t))
    says_so(lambda: hw.save({"t": t}, io.BytesIO()))
    assert t.shape == (3,) and t.dtype is hw.float32  # sizes are known


def test_writing_in_eager_mode():
    t = left_behind()
    says_so(lambda: t.add_(1))
    says_so(lambda: t.copy_(hw.ones(3)))
    says_so(lambda: hw.ones(3).copy_(t))
    says_so(lambda: t.zero_())
    says_so(lambda: t.uniform_())

    def sets_item():
        t[0] = 1

    says_so(sets_item)


def test_gradients():
    w = hw.ones(3).requires_grad_()
    y = left_behind(lambda: (w * w).sin().sum())
    says_so(y.backward)
    assert w.grad is None
    x = left_behind(lambda x: x * 1, hw.ones(3)).detach().requires_grad_()
    says_so(lambda: (x * w).sum())
    says_so(lambda: hw.autograd.grad(w.sum(), w, left_behind(lambda: w.detach().sum()))[0] + 1)


def test_argument_and_state_of_another_compiled_function():
    t = left_behind()
    f = hw.compile(lambda x: x + 1)
    says_so(lambda: f(t))
    assert f(hw.ones(3)).tolist() == [2, 2, 2]
    says_so(lambda: f(t))  # by the program that is there
    with pytest.raises(RuntimeError, match="finished capture"):
        hw.compile(lambda x: x + t)(hw.ones(3))
    model = nn.Linear(3, 2)
    g = hw.compile(model)
    g(hw.ones(3))
    before = model.weight.data
    model.weight.data = left_behind(lambda: hw.ones(2, 3) * 1)
    says_so(lambda: g(hw.ones(3)))
    with hw.no_grad(), pytest.raises(RuntimeError, match="finished capture"):
        hw.compile(model)(hw.ones(1, 3))
    model.weight.data = before
    g(hw.ones(3))


def test_optimisers_and_modules():
    model = nn.Linear(3, 2)
    optimizer = hw.optim.Adam(model.parameters(), lr=0.1)
    model.weight.grad = left_behind(lambda: hw.ones(2, 3) * 1)
    says_so(optimizer.step)
    says_so(lambda: model.load_state_dict({"weight": left_behind(lambda: hw.ones(2, 3) * 1), "bias": hw.ones(2)}))
    says_so(lambda: nn.utils.clip_grad_norm_(model.parameters(), 1.0))


def test_frozen_models(tmp_path):
    model = nn.Linear(3, 2).eval()
    path = str(tmp_path / "model.hwm")
    hw.freeze(model, (hw.ones(1, 3),), path)
    session = hw.infer.load(path)
    says_so(lambda: session(left_behind(lambda: hw.ones(1, 3) * 1)))


def test_global_tensors_and_messages():
    t = left_behind(lambda: hw.ones(4) * 1)
    mesh = hw.mesh("cpu", 2)
    says_so(lambda: t.to_global(mesh, hw.split(0)))
    says_so(lambda: (t.to_global(mesh, hw.broadcast) + 1).full())
