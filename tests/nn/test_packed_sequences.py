"""Packed sequences against torch: packing, unpacking, and every recurrent layer over them."""

import numpy as np
import pytest
import torch
import torch.nn.utils.rnn as TR

import headwater as hw
import headwater.nn.utils.rnn as R

LENGTHS = [3, 5, 1, 5, 2]


def data(seed=0):
    x = np.random.default_rng(seed).normal(size=(6, 5, 4))
    return hw.from_numpy(x).requires_grad_(), torch.tensor(x, requires_grad=True)


def same(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-8, atol=1e-10)


def test_pack_and_pad():
    x, y = data()
    for lengths, is_sorted in ((LENGTHS, False), (sorted(LENGTHS, reverse=True), True)):
        p = R.pack_padded_sequence(x, lengths, enforce_sorted=is_sorted)
        q = TR.pack_padded_sequence(y, lengths, enforce_sorted=is_sorted)
        assert p.batch_sizes.tolist() == q.batch_sizes.tolist()
        a, n = R.pad_packed_sequence(p, batch_first=True, padding_value=7.0, total_length=8)
        b, m = TR.pad_packed_sequence(q, batch_first=True, padding_value=7.0, total_length=8)
        same(a, b)
        assert n.tolist() == m.tolist() == lengths
    (a * a).sum().backward()
    (b * b).sum().backward()
    same(x.grad, y.grad)
    parts = [x.detach()[:n, i] for i, n in enumerate(LENGTHS)]
    back = R.unpack_sequence(R.pack_sequence(parts, enforce_sorted=False))
    assert [t.tolist() for t in back] == [t.tolist() for t in parts]
    assert R.invert_permutation(hw.tensor([2, 0, 1])).tolist() == [1, 2, 0]


def test_packing_refuses():
    x, _ = data()
    for lengths, options in (([1, 2, 1, 1, 1], {}), ([1, 1], {}), ([9, 1, 1, 1, 1], {}), ([1, 1, 1, 1, 0], {})):
        with pytest.raises(RuntimeError, match="pack_padded_sequence"):
            R.pack_padded_sequence(x, lengths, **options)
    with pytest.raises(ValueError, match="total_length"):
        R.pad_packed_sequence(R.pack_padded_sequence(x, [5] * 5), total_length=2)


@pytest.mark.parametrize("layer", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}, {"batch_first": True, "bias": False}])
def test_recurrent_layers(layer, options):
    torch.manual_seed(0)
    theirs = getattr(torch.nn, layer)(4, 3, dtype=torch.float64, **options)
    ours = getattr(hw.nn, layer)(4, 3, dtype=hw.float64, **options)
    ours.load_state_dict({k: hw.from_numpy(v.detach().numpy().copy()) for k, v in theirs.state_dict().items()})
    x, y = data(1)
    states = (1 + (layer == "LSTM"), options.get("num_layers", 1) * (1 + options.get("bidirectional", False)), 5, 3)
    start = np.random.default_rng(2).normal(size=states)
    for given in (False, True):
        hx, gx = [hw.from_numpy(s) for s in start], [torch.tensor(s) for s in start]
        hx, gx = (tuple(hx), tuple(gx)) if layer == "LSTM" else (hx[0], gx[0])
        p, h = ours(R.pack_padded_sequence(x, LENGTHS, enforce_sorted=False), hx if given else None)
        q, g = theirs(TR.pack_padded_sequence(y, LENGTHS, enforce_sorted=False), gx if given else None)
        same(p.data, q.data)
        for a, b in zip(*((h, g) if layer == "LSTM" else ((h,), (g,)))):
            same(a, b)
    (p.data * p.data).sum().backward()
    (q.data * q.data).sum().backward()
    same(x.grad, y.grad)
    for (name, a), (_, b) in zip(ours.named_parameters(), theirs.named_parameters()):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-7, atol=1e-9, err_msg=name)
