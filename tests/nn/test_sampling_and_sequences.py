"""Functions that are compositions: grid_sample, affine_grid, unpooling, power pooling, adaptive sizes, ctc_loss. Torch is the oracle."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as TF

import headwater as hw
import headwater.nn.functional as F


def pair(*shape, seed=0, low=-1.5, high=1.5):
    x = np.random.default_rng(seed).uniform(low, high, shape)
    return hw.from_numpy(x).requires_grad_(), torch.tensor(x, requires_grad=True)


def same(ours, theirs, *leaves):
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-9)
    (ours * ours).sum().backward()
    (theirs * theirs).sum().backward()
    for a, b in leaves:
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [True, False])
def test_grid_sample(mode, padding, corners):
    for shape, grid in (((2, 3, 5, 4), (2, 6, 7, 2)), ((1, 2, 1, 3), (1, 2, 2, 2)), ((1, 2, 3, 4, 5), (1, 2, 3, 4, 3))):
        if mode == "bicubic" and len(shape) == 5:
            continue
        x, g = pair(*shape, seed=1), pair(*grid, seed=2)
        options = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        same(F.grid_sample(x[0], g[0], **options), TF.grid_sample(x[1], g[1], **options), x)
        if mode != "nearest":
            np.testing.assert_allclose(g[0].grad.numpy(), g[1].grad.numpy(), rtol=1e-7, atol=1e-8)


def test_grid_sample_refuses():
    x, g = hw.ones(1, 1, 2, 2), hw.zeros(1, 2, 2, 2)
    for call, error in (
        (lambda: F.grid_sample(x, g, "cubic"), ValueError),
        (lambda: F.grid_sample(x, g, padding_mode="same"), ValueError),
        (lambda: F.grid_sample(x, hw.zeros(1, 2, 2, 3)), RuntimeError),
        (lambda: F.grid_sample(x, hw.zeros(2, 2, 2, 2)), RuntimeError),
        (lambda: F.affine_grid(hw.ones(1, 2, 2), (1, 1, 2, 2)), ValueError),
    ):
        with pytest.raises(error):
            call()
    F.grid_sample(x, hw.full((1, 2, 2, 2), float("nan")))  # no value, but no crash


@pytest.mark.parametrize("corners", [True, False])
def test_affine_grid(corners):
    for theta, size in (((2, 2, 3), (2, 1, 3, 4)), ((2, 3, 4), (2, 1, 2, 3, 4)), ((1, 2, 3), (1, 1, 1, 5))):
        t = pair(*theta)
        same(F.affine_grid(t[0], size, corners), TF.affine_grid(t[1], size, corners), t)


def test_unpooling():
    for n, shape in ((1, (2, 3, 8)), (2, (2, 3, 6, 8)), (3, (1, 2, 4, 4, 6)), (2, (3, 7, 9))):
        x = pair(*shape)
        results = []
        for lib, t in ((F, x[0]), (TF, x[1])):
            y, at = getattr(lib, f"max_pool{n}d")(t, 2, 2, return_indices=True)
            results.append(getattr(lib, f"max_unpool{n}d")(y, at, 2, 2, output_size=list(shape[-n:])))
        same(*results, x)
    with pytest.raises(ValueError):
        F.max_unpool2d(hw.ones(1, 1, 2, 2), hw.zeros(1, 1, 2, 2, dtype=hw.int64), 2, output_size=(9, 9))
    with pytest.raises((RuntimeError, IndexError)):
        F.max_unpool2d(hw.ones(1, 1, 2, 2), hw.full((1, 1, 2, 2), 99), 2)
    layer = hw.nn.MaxUnpool2d(2, 3, 1)
    assert repr(layer) == repr(torch.nn.MaxUnpool2d(2, 3, 1))


def test_power_pooling():
    for n, shape in ((1, (2, 3, 8)), (2, (2, 3, 6, 8)), (3, (1, 2, 4, 4, 6))):
        x = pair(*shape, low=0.1)
        same(getattr(F, f"lp_pool{n}d")(x[0], 3.0, 2), getattr(TF, f"lp_pool{n}d")(x[1], 3.0, 2), x)
        ours, theirs = (getattr(m, f"LPPool{n}d")(2, 3, stride=2, ceil_mode=True) for m in (hw.nn, torch.nn))
        assert repr(ours) == repr(theirs)
        np.testing.assert_allclose(ours(x[0]).detach().numpy(), theirs(x[1]).detach().numpy(), rtol=1e-9)


def test_adaptive_sizes():
    x = pair(2, 3, 5, 6)
    same(F.adaptive_avg_pool2d(x[0], (None, 2)), TF.adaptive_avg_pool2d(x[1], (None, 2)), x)
    y, at = F.adaptive_max_pool2d(x[0], (2, None), True)
    w, there = TF.adaptive_max_pool2d(x[1], (2, None), True)
    assert y.tolist() == w.tolist() and at.tolist() == there.tolist()
    for size in (-1, (2, -1)):
        with pytest.raises(RuntimeError, match="negative"):
            F.adaptive_avg_pool2d(x[0], size)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ctc_loss(reduction):
    for seed, (blank, concatenated) in enumerate(itertools.product((0, 3), (False, True))):
        r = np.random.default_rng(seed)
        x = pair(9, 4, 5, seed=seed)
        lengths = np.array([4, 0, 3, 2])
        labels = r.choice([c for c in range(5) if c != blank], (4, 4))
        labels[0, 1] = labels[0, 0]  # a repetition needs a blank between
        given = np.concatenate([row[:n] for row, n in zip(labels, lengths)]) if concatenated else labels
        inputs = np.array([9, 9, 7, 5])
        ours = F.ctc_loss(
            hw.log_softmax(x[0], 2), hw.tensor(given), hw.tensor(inputs), hw.tensor(lengths), blank, reduction
        )
        theirs = TF.ctc_loss(
            torch.log_softmax(x[1], 2), torch.tensor(given), torch.tensor(inputs), torch.tensor(lengths), blank, reduction
        )
        same(ours, theirs, x)


def test_ctc_loss_without_a_path():
    x = pair(2, 1, 3)
    arguments = ([[1, 1, 2]], [2], [3])
    for zero in (False, True):
        ours = hw.nn.CTCLoss(reduction="sum", zero_infinity=zero)(hw.log_softmax(x[0], 2), *map(hw.tensor, arguments))
        theirs = torch.nn.CTCLoss(reduction="sum", zero_infinity=zero)(
            torch.log_softmax(x[1], 2), *map(torch.tensor, arguments)
        )
        assert ours.item() == theirs.item()
    single = F.ctc_loss(hw.log_softmax(x[0], 2)[:, 0], hw.tensor([1]), hw.tensor(2), hw.tensor(1), reduction="none")
    assert single.shape == ()
    for bad in (
        lambda: F.ctc_loss(x[0], hw.tensor([[1]]), hw.tensor([3]), hw.tensor([1])),
        lambda: F.ctc_loss(x[0], hw.tensor([[1]]), hw.tensor([2]), hw.tensor([2])),
        lambda: F.ctc_loss(x[0], hw.tensor([[7]]), hw.tensor([2]), hw.tensor([1])),
        lambda: F.ctc_loss(x[0], hw.tensor([[1]]), hw.tensor([2]), hw.tensor([1]), blank=3),
        lambda: F.ctc_loss(x[0], hw.tensor([[1.0]]), hw.tensor([2]), hw.tensor([1])),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            bad()
