"""Recurrent networks over sequences: values and gradients against torch, second order, and errors."""
import numpy as np
import pytest
import torch

import headwater as hw
from harness import Sample, op_test, randn

CELLS = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def lstm_layer(projected, w_hh, h, c, reverse=False):
    """The recurrence in NumPy: h, c and gates of all steps."""
    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    steps, hidden = len(projected), h.shape[1]
    outputs = [np.empty((steps, len(h), n)) for n in (hidden, hidden, 4 * hidden)]
    for t in range(steps)[:: -1 if reverse else 1]:
        i, f, g, o = np.split(projected[t] + h @ w_hh.T, 4, axis=1)
        i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
        c = f * c + i * g
        h = o * np.tanh(c)
        for output, value in zip(outputs, (h, c, np.concatenate([i, f, g, o], axis=1)), strict=True):
            output[t] = value
    return tuple(outputs)


op_test("_lstm_layer", function=hw._C.op_function_of("_lstm_layer"), numpy=lstm_layer, dtypes=("float32", "float64"), grad=True,
        grad2=True, tol={"float32": 1e-5, "float64": 1e-12},
        samples=lambda: [Sample(randn(3, 2, 8), randn(8, 2), randn(2, 2), randn(2, 2)),
                         Sample(randn(2, 4, 12), randn(12, 3), randn(4, 3), randn(4, 3), reverse=True),
                         Sample(randn(1, 1, 76), randn(76, 19), randn(1, 19), randn(1, 19), sample_grad=False),
                         Sample(randn(2, 0, 8), randn(8, 2), randn(0, 2), randn(0, 2))],
        errors=[(lambda hw: hw._C.op_function_of("_lstm_layer")(hw.zeros(3, 2, 8), hw.zeros(8, 3), hw.zeros(2, 2), hw.zeros(2, 2)),
                 RuntimeError, "w_hh"),
                (lambda hw: hw._C.op_function_of("_lstm_layer")(hw.zeros(3, 2, 8), hw.zeros(8, 2), hw.zeros(1, 2), hw.zeros(2, 2)),
                 RuntimeError, "h0 must be")])


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


@pytest.mark.parametrize(("layers", "bidirectional", "bias", "batch_first"), [(1, False, True, False), (2, True, True, True), (2, True, False, False)])
def test_projected_lstm(layers, bidirectional, bias, batch_first):
    torch.manual_seed(0)
    options = {"num_layers": layers, "bias": bias, "batch_first": batch_first, "bidirectional": bidirectional, "proj_size": 2}
    theirs, ours = torch.nn.LSTM(3, 5, **options).double(), hw.nn.LSTM(3, 5, **options).double()
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()] and repr(ours) == repr(theirs)
    ours.load_state_dict({k: hw.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    x = randn(4, 3, 3)
    results = []
    for m, net in ((hw, ours), (torch, theirs)):
        data = m.tensor(x).requires_grad_()
        y, (h, c) = net(data)
        again = net(data, (h, c))[0]
        (y.sum() + (again * again).sum() + (c * c).sum()).backward()
        results.append([t.detach().numpy() for t in (y, h, c, again, data.grad, *(p.grad for p in net.parameters()))])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="proj_size"):
        hw.nn.LSTM(3, 5, proj_size=5)


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


def lstm_gradients(rng, length, batch, features, hidden, dtype, off=""):
    """Outputs and gradients of a bidirectional LSTM whose input is transposed and whose states all get gradients."""
    def leaf(*shape):
        return hw.tensor(rng.standard_normal(shape).astype(dtype) * 0.5, requires_grad=True)

    leaves = [leaf(features, batch, length), leaf(2, batch, hidden), leaf(2, batch, hidden)]
    leaves += [leaf(*s) for _ in range(2) for s in ((4 * hidden, features), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,))]
    hw._C.set_kernels_off(off)
    try:
        out = hw.lstm(leaves[0].permute(2, 1, 0), leaves[1:3], leaves[3:], True, 1, 0.0, False, True, False)
        sum((o * (k + 1)).sum() for k, o in enumerate(out)).backward()
    finally:
        hw._C.set_kernels_off("")
    return [o.detach().numpy() for o in out] + [x.grad.numpy() for x in leaves]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(1, 1, 3, 5), (7, 33, 5, 19), (4, 1, 3, 300), (3, 0, 2, 4)], ids=str)
def test_lstm_kernel_against_the_reference(sizes, dtype):
    ours, reference = (lstm_gradients(np.random.default_rng(5), *sizes, dtype, off) for off in ("", "simd,onednn"))
    for a, b in zip(ours, reference, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=(1e-5 if dtype == "float32" else 1e-13) * (1 + np.abs(b).max(initial=0)))


def test_lstm_threads_do_not_change_the_numbers():
    before = hw.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            hw.set_num_threads(threads)
            results.append(lstm_gradients(np.random.default_rng(6), 12, 40, 16, 64, "float64"))
    finally:
        hw.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_lstm_second_order_of_all_arguments_in_both_directions():
    leaves = [hw.tensor(a) for a in arguments("lstm", 1, True, True, False)]
    for x in leaves:
        x.requires_grad_()

    def f(*a):
        output, h, c = hw.lstm(a[0], a[1:3], list(a[3:]), True, 1, 0.0, False, True, False)
        return output, c * h

    assert hw.autograd.gradcheck(f, tuple(leaves)) and hw.autograd.gradgradcheck(f, tuple(leaves), atol=1e-4)


def test_lstm_third_order():
    leaves = [hw.tensor(a) for a in arguments("lstm", 1, False, False, False)]
    leaves[0].requires_grad_()

    def slope(x):
        y = hw.lstm(x, leaves[1:3], leaves[3:], False, 1, 0.0, False, False, False)[0].sum()
        return hw.autograd.grad((y,), (x,), create_graph=True)[0]

    assert hw.autograd.gradgradcheck(slope, (leaves[0],), atol=1e-4)
