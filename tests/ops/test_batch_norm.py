"""Batch and instance normalisation against torch."""
import numpy as np
import pytest
import torch

import headwater as hw
from harness import FLOATS, Sample, op_test, randn, uniform

F = torch.nn.functional

op_test("batch_norm", torch=lambda x, m, v, w, b, **k: F.batch_norm(x, m.clone(), v.clone(), w, b, **k), dtypes=FLOATS, grad=True, grad2=True,
        samples=lambda: [Sample(randn(4, 3, 5), randn(3), uniform(0.5, 2, 3), randn(3), randn(3), training=False),
                         Sample(randn(4, 3), randn(3), uniform(0.5, 2, 3), randn(3), randn(3), training=False)],
        tol={"float16": 2e-2, "bfloat16": 6e-2},
        errors=[(lambda h: h.batch_norm(h.ones(2, 3), h.ones(2), h.ones(3)), RuntimeError, "must have shape"),
                (lambda h: h.batch_norm(h.ones(2, 3)), RuntimeError, "running_mean and running_var are needed"),
                (lambda h: h.batch_norm(h.ones(1, 3), training=True), ValueError, "more than one value per channel")])
op_test("instance_norm", torch=lambda x, m, v, w, b, **k: F.instance_norm(x, m.clone(), v.clone(), w, b, **k), dtypes=("float32", "float64"),
        grad=True, samples=lambda: [Sample(randn(2, 3, 5), randn(3), uniform(0.5, 2, 3), randn(3), randn(3), use_input_stats=False)],
        errors=[(lambda h: h.instance_norm(h.ones(2, 3)), ValueError, "at least one axis after C")])


def run(m, f, x, w, b, mean, var, seed_grad, **options):
    leaves = [None if a is None else m.tensor(a).requires_grad_() for a in (x, w, b)]
    stats = [None if a is None else m.tensor(a) for a in (mean, var)]
    y = f(leaves[0], *stats, leaves[1], leaves[2], **options)
    (y * m.tensor(seed_grad)).sum().backward()
    return [np.array(y.tolist())] + [np.array(t.grad.tolist()) for t in leaves if t is not None] + \
        [np.array(s.tolist()) for s in stats if s is not None]


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 7), (2, 5, 4, 4), (2, 3, 2, 3, 2), (3, 70, 5)])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_training(shape, affine, dtype):
    rng = np.random.default_rng(2)
    make = lambda *s: rng.standard_normal(s).astype(dtype)  # noqa: E731
    c = shape[1]
    x, g = make(*shape) * 3 + 1, make(*shape)
    w, b = (make(c), make(c)) if affine else (None, None)
    mean, var = make(c), np.abs(make(c)) + 0.5
    ours = run(hw, hw.batch_norm, x, w, b, mean, var, g, training=True, momentum=0.3, eps=1e-3)
    theirs = run(torch, F.batch_norm, x, w, b, mean, var, g, training=True, momentum=0.3, eps=1e-3)
    for a, t in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, t, rtol=1e-4 if dtype == "float32" else 1e-9, atol=2e-5 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("stats", [True, False])
def test_instance_norm_training(affine, stats):
    rng = np.random.default_rng(2)
    x, g = rng.standard_normal((3, 4, 5, 2)), rng.standard_normal((3, 4, 5, 2))
    w, b = (rng.standard_normal(4), rng.standard_normal(4)) if affine else (None, None)
    mean, var = (rng.standard_normal(4), rng.uniform(0.5, 2, 4)) if stats else (None, None)
    for use in (True, False) if stats else (True,):
        ours = run(hw, hw.instance_norm, x, w, b, mean, var, g, use_input_stats=use, momentum=0.3)
        theirs = run(torch, F.instance_norm, x, w, b, mean, var, g, use_input_stats=use, momentum=0.3)
        for a, t in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, t, rtol=1e-9, atol=1e-9)


def test_layouts_agree_with_the_reference():
    x = hw.randn(4, 6, 6, 5)
    w, b = hw.randn(5), hw.randn(5)
    for view in (x.permute(0, 3, 1, 2), x[:, ::2].permute(0, 3, 1, 2), x.permute(3, 0, 1, 2)[:, :, 1:]):
        weights = (w, b) if view.shape[1] == 5 else (None, None)
        fast = hw._C.run_op("_batch_norm", [view, *weights], {"eps": 1e-5})
        plain = hw._C.run_op("_batch_norm", [view.contiguous(), *weights], {"eps": 1e-5})
        for a, t in zip(fast, plain, strict=True):
            assert hw.allclose(a, t, atol=1e-5)


def test_a_gradient_of_another_layout_gives_the_bits_of_a_dense_one():
    x, row = hw.randn(4, 6, 9, 5), hw.randn(4, 6, 1, 1)
    cases = [(x, row.expand(4, 6, 9, 5)), (x, row[:1, :1].expand(4, 6, 9, 5)), (x, hw.randn(4, 9, 5, 6).permute(0, 3, 1, 2)),
             (x, hw.randn(9, 5, 6, 4).permute(3, 2, 0, 1)), (hw.randn(4, 6), row[:, :1, 0, 0].expand(4, 6)),
             (x[:, :, 0, 0], row[:, :, 0, 0]), (x.permute(0, 2, 1, 3)[..., 0], hw.randn(4, 1, 6).expand(4, 9, 6))]  # fmt: skip
    for dtype in (hw.float32, hw.bfloat16, hw.float64):
        for view, dy in cases:
            view, dy = view.to(dtype), dy.to(dtype)
            wide = hw.float64 if dtype is hw.float64 else hw.float32
            rest = [hw.randn(view.shape[1]).to(wide), hw.rand(view.shape[1]).to(wide) + 0.5, None]
            dense = hw.empty_like(view).copy_(dy)  # in x's layout, where that has no gaps
            got = hw._C.run_op("_batch_norm_grad", [dy, view, *rest], {})
            for a, t in zip(got, hw._C.run_op("_batch_norm_grad", [dense, view, *rest], {}), strict=True):
                assert (a == t).all()


def test_half_precision_keeps_statistics_in_f32():
    for name in ("float16", "bfloat16"):
        x = hw.randn(8, 3, 9).to(getattr(hw, name))
        mean, var = hw.zeros(3), hw.ones(3)
        y = hw.batch_norm(x, mean, var, hw.ones(3), hw.zeros(3), training=True)
        assert y.dtype is x.dtype and mean.dtype is hw.float32
        assert hw.allclose(y.float().mean((0, 2)), hw.zeros(3), atol=2e-2)


def test_second_order():
    x, w, b = hw.randn(3, 2, 4, dtype=hw.float64).requires_grad_(), hw.randn(2, dtype=hw.float64).requires_grad_(), hw.randn(2, dtype=hw.float64).requires_grad_()
    f = lambda x, w, b: hw.batch_norm(x, None, None, w, b, training=True)  # noqa: E731
    assert hw.autograd.gradcheck(f, (x, w, b)) and hw.autograd.gradgradcheck(f, (x, w, b), atol=1e-4)


op_test("group_norm", torch=F.group_norm, dtypes=FLOATS, grad=True, grad2=True, tol={"float16": 1e-2, "bfloat16": 6e-2},
        samples=lambda: [Sample(randn(2, 6, 5), 3, randn(6), randn(6)), Sample(randn(2, 4), 2), Sample(randn(3, 4, 2, 2), 1, randn(4))],
        errors=[(lambda h: h.group_norm(h.ones(2, 6), 4), RuntimeError, "6 channels cannot be divided into 4 groups")])
