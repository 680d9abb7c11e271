"""Recurrent networks over sequences: values and gradients against torch, second order, and errors."""
import numpy as np
import pytest
import torch

import headwater as hw

CELLS = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def arguments(cell, layers, bidirectional, biases, batch_first, dtype="float64"):
    rng = np.random.default_rng(3)
    length, batch, features, hidden = 5, 3, 4, 2
    directions = 2 if bidirectional else 1
    shape = (batch, length, features) if batch_first else (length, batch, features)
    arrays = [rng.standard_normal(shape)]
    arrays += [rng.standard_normal((layers * directions, batch, hidden)) for _ in range(2 if cell == "lstm" else 1)]
    gates = CELLS[cell]
    for layer in range(layers):
        for _ in range(directions):
            inputs = features if layer == 0 else hidden * directions
            arrays += [rng.standard_normal((gates * hidden, inputs)), rng.standard_normal((gates * hidden, hidden))]
            if biases:
                arrays += [rng.standard_normal(gates * hidden) for _ in range(2)]
    return [a.astype(dtype) for a in arrays]


def run(m, cell, arrays, layers, bidirectional, biases, batch_first):
    leaves = [m.tensor(a).requires_grad_() for a in arrays]
    states = 2 if cell == "lstm" else 1
    hx = tuple(leaves[1:3]) if states == 2 else leaves[1]
    out = getattr(m, cell)(leaves[0], hx, leaves[1 + states:], biases, layers, 0.0, False, bidirectional, batch_first)
    sum((o * o).sum() for o in out).backward()
    return [o.detach().tolist() for o in out] + [x.grad.tolist() for x in leaves]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("layers", "bidirectional", "biases", "batch_first"),
                         [(1, False, True, False), (2, True, True, True), (1, True, False, False), (3, False, True, True)])
def test_against_torch(cell, layers, bidirectional, biases, batch_first):
    arrays = arguments(cell, layers, bidirectional, biases, batch_first)
    ours = run(hw, cell, arrays, layers, bidirectional, biases, batch_first)
    theirs = run(torch, cell, arrays, layers, bidirectional, biases, batch_first)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.array(a), np.array(b), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("cell", CELLS)
def test_second_order(cell):
    arrays = arguments(cell, 1, False, True, False)
    leaves = [hw.tensor(a) for a in arrays]
    leaves[0].requires_grad_()
    states = 2 if cell == "lstm" else 1

    def f(x):
        hx = tuple(leaves[1:3]) if states == 2 else leaves[1]
        return getattr(hw, cell)(x, hx, leaves[1 + states:], True, 1, 0.0, False, False, False)[0]

    assert hw.autograd.gradcheck(f, (leaves[0],)) and hw.autograd.gradgradcheck(f, (leaves[0],), atol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_dtypes(dtype):
    arrays = [hw.tensor(a).to(getattr(hw, dtype)) for a in arguments("lstm", 1, False, True, False, "float32")]
    output, h, c = hw.lstm(arrays[0], arrays[1:3], arrays[3:], True, 1, 0.0, False, False, False)
    assert output.dtype is h.dtype is c.dtype is getattr(hw, dtype)


def test_dropout_between_layers_only_in_training():
    arrays = [hw.tensor(a) for a in arguments("gru", 2, False, True, False)]
    call = lambda train: hw.gru(arrays[0], arrays[1], arrays[2:], True, 2, 0.5, train, False, False)[0]  # noqa: E731
    assert call(False).tolist() == call(False).tolist()
    assert call(True).tolist() != call(True).tolist()


def test_errors():
    a = [hw.tensor(x) for x in arguments("lstm", 1, False, True, False)]
    with pytest.raises(RuntimeError, match="expected 4 weights"):
        hw.lstm(a[0], a[1:3], a[3:6], True, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="state must be"):
        hw.lstm(a[0], (a[1][:, :2], a[2]), a[3:], True, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="3 axes"):
        hw.lstm(a[0][0], a[1:3], a[3:], True, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="h_0"):
        hw.lstm(a[0], a[1:2], a[3:], True, 1, 0.0, False, False, False)
