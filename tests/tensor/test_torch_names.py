"""Names that torch has beside its operators: constants, settings, functions of nn.functional, in-place forms, questions."""
import math

import numpy as np
import pytest
import torch

import headwater as hw


def both(*arrays):
    return [hw.tensor(a) for a in arrays], [torch.tensor(a) for a in arrays]


def close(got, want):
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-6, atol=1e-6)
    assert str(got.dtype).split(".")[-1] == str(want.dtype).split(".")[-1]


def rand(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def test_constants():
    assert (hw.e, hw.pi, hw.inf, hw.newaxis) == (math.e, math.pi, math.inf, None) and math.isnan(hw.nan)
    assert hw.ones(3)[:, hw.newaxis].shape == (3, 1)


def test_settings_say_what_they_were_told():
    hw.set_default_device("cpu")
    hw.set_default_device(None)
    assert hw.get_default_device() == hw.device("cpu")
    with pytest.raises(RuntimeError, match="not available"):
        hw.set_default_device("cuda")
    assert hw.get_float32_matmul_precision() == "highest"
    hw.set_float32_matmul_precision("high")
    assert hw.get_float32_matmul_precision() == "high"
    hw.set_float32_matmul_precision("highest")
    with pytest.raises(ValueError, match="'highest', 'high' or 'medium', got 'low'"):
        hw.set_float32_matmul_precision("low")
    assert not hw.are_deterministic_algorithms_enabled()
    hw.use_deterministic_algorithms(True, warn_only=True)
    assert hw.are_deterministic_algorithms_enabled() and hw.is_deterministic_algorithms_warn_only_enabled()
    hw.use_deterministic_algorithms(False)
    with pytest.raises(TypeError, match="mode must be a bool, got str"):
        hw.use_deterministic_algorithms("yes")


def test_in_place_methods_are_functions_too():
    names = [n for n in torch.__all__ if n.endswith("_") and not hasattr(hw, n)]
    assert set(names) <= {"alpha_dropout_", "as_strided_", "conj_physical_", "dropout_", "embedding_renorm_", "feature_alpha_dropout_",
                          "feature_dropout_", "i0_", "resize_as_", "resize_as_sparse_", "rrelu_"}
    for name in ("relu_", "exp_", "arcsin_", "clamp_min_", "zero_"):
        x = hw.tensor([-0.5, 0.5])
        args = (0.1,) if name == "clamp_min_" else ()
        assert getattr(hw, name)(x, *args) is x
        np.testing.assert_allclose(x.numpy(), getattr(torch, name)(torch.tensor([-0.5, 0.5]), *args).numpy(), rtol=1e-6)
    x = hw.ones(3, requires_grad=True) * 2
    assert hw.detach_(x) is x and not x.requires_grad


def test_functions_of_nn_functional():
    a, b = rand(3, 5), rand(3, 5)[::-1].copy()
    (x, y), (tx, ty) = both(a, b)
    close(hw.cosine_similarity(x, y), torch.cosine_similarity(tx, ty))
    close(hw.pairwise_distance(x, y, 1.0), torch.pairwise_distance(tx, ty, 1.0))
    close(hw.pdist(x), torch.pdist(tx))
    (image,), (timage,) = both(rand(2, 8, 4, 4))
    close(hw.pixel_shuffle(image, 2), torch.pixel_shuffle(timage, 2))
    close(hw.pixel_unshuffle(image, 2), torch.pixel_unshuffle(timage, 2))
    close(hw.channel_shuffle(image, 4), torch.channel_shuffle(timage, 4))
    signs = np.array([1.0, -1.0, 1.0])
    (s,), (ts,) = both(signs)
    close(hw.cosine_embedding_loss(x, y, s), torch.nn.functional.cosine_embedding_loss(tx, ty, ts))
    close(hw.margin_ranking_loss(x[:, 0], y[:, 0], s), torch.nn.functional.margin_ranking_loss(tx[:, 0], ty[:, 0], ts))
    close(hw.hinge_embedding_loss(x[:, 0], s), torch.nn.functional.hinge_embedding_loss(tx[:, 0], ts))
    close(hw.triplet_margin_loss(x, y, x + y), torch.nn.functional.triplet_margin_loss(tx, ty, tx + ty))
    close(hw.poisson_nll_loss(x, y.abs()), torch.nn.functional.poisson_nll_loss(tx, ty.abs()))
    assert {"pixel_shuffle", "ctc_loss"} <= set(dir(hw))


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_combinations(count, repeated):
    (x,), (tx,) = both(rand(4))
    got, want = hw.combinations(x, count, repeated), torch.combinations(tx, count, repeated)
    assert got.shape == want.shape
    close(got, want)


def test_combinations_have_a_gradient_and_are_captured():
    x = hw.tensor(rand(4), requires_grad=True)
    y = hw.compile(lambda v: hw.combinations(v, 2).prod(1))(x)
    tx = torch.tensor(rand(4), requires_grad=True)
    ty = torch.combinations(tx, 2).prod(1)
    close(y, ty)
    y.sum().backward()
    ty.sum().backward()
    close(x.grad, tx.grad)
    with pytest.raises(RuntimeError, match="1-d tensor"):
        hw.combinations(hw.ones(2, 2))


def test_addmm_in_place():
    a, b, c = rand(2, 3), rand(2, 4), rand(4, 3)
    for name, extra in (("addmm_", ()), ("baddbmm_", (None,))):
        (x, y, z), (tx, ty, tz) = ([t[extra] for t in ts] if extra else ts for ts in both(a, b, c))
        z.requires_grad_()
        tz.requires_grad_()
        x, tx = x.clone(), tx.clone()
        assert getattr(x, name)(y, z, beta=0.5, alpha=2) is x
        close(x, getattr(tx, name)(ty, tz, beta=0.5, alpha=2))
        close(hw.autograd.grad(x.sum(), z)[0], torch.autograd.grad(tx.sum(), tz)[0])
    with pytest.raises(RuntimeError, match="the result has shape"):
        hw.ones(3).addmm_(hw.ones(2, 4), hw.ones(4, 3))


@pytest.mark.parametrize(("shape", "wrap"), [((3, 4), False), ((4, 3), False), ((8, 3), True), ((3, 3, 3), False), ((7, 2), True)])
def test_fill_diagonal(shape, wrap):
    (x,), (tx,) = both(rand(*shape))
    close(x.fill_diagonal_(7.0, wrap), tx.fill_diagonal_(7.0, wrap))
    close(x.transpose(0, 1).fill_diagonal_(8.0), tx.transpose(0, 1).fill_diagonal_(8.0))
    compiled = hw.compile(lambda v: v.clone().fill_diagonal_(5.0, wrap))(x)
    close(compiled, tx.clone().fill_diagonal_(5.0, wrap))
    v, tv = x.clone().requires_grad_(), tx.clone().requires_grad_()
    (v * v).fill_diagonal_(1.0).sum().backward()
    (tv * tv).fill_diagonal_(1.0).sum().backward()
    close(v.grad, tv.grad)


def test_fill_diagonal_wants_a_matrix():
    with pytest.raises(RuntimeError, match=r"got shape \[2, 2, 3\]"):
        hw.ones(2, 2, 3).fill_diagonal_(1.0)


def test_sum_to_size():
    (x,), (tx,) = both(rand(2, 3, 4))
    for size in ((3, 4), (2, 1, 4), (1,), (), (2, 3, 4)):
        close(x.sum_to_size(size), tx.sum_to_size(size))
    assert x.sum_to_size(3, 1).shape == (3, 1)
    with pytest.raises(RuntimeError, match=r"size \[2, 4\] does not broadcast"):
        x.sum_to_size(2, 4)


def test_questions():
    assert hw.is_signed(hw.ones(1)) and not hw.ones(1, dtype=hw.uint8).is_signed() and not hw.ones(1, dtype=hw.bool).is_signed()
    assert hw.is_nonzero(hw.tensor([2])) and not hw.tensor(0.0).is_nonzero()
    with pytest.raises(RuntimeError, match="expected one element"):
        hw.ones(2).is_nonzero()
    x = hw.ones(2, 3)
    assert x.get_device() == hw.get_device(x) == -1 and x.ndimension() == 2 and x.is_cpu and not x.is_meta
    assert x.is_same_size(hw.zeros(2, 3)) and not hw.is_same_size(x, hw.ones(3, 2))
