"""Scaled dot-product attention against torch."""
from __future__ import annotations

import numpy as np
import torch

import headwater as hw
from harness import Sample, booleans, fixed, op_test, randn

F = torch.nn.functional
TOL = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 5e-5, "float64": 1e-9}


def z(*shape: int) -> hw.Tensor:
    return hw.full(shape, 0.0)


def mask(*shape: int) -> np.ndarray:
    """Random, but no row sees nothing."""
    m = booleans(*shape)
    m[..., 0] = True
    return m


op_test("scaled_dot_product_attention", torch=F.scaled_dot_product_attention, grad=True, grad2=True, tol=TOL,
        samples=lambda: [
            Sample(randn(2, 3, 5, 4), randn(2, 3, 6, 4), randn(2, 3, 6, 2)),
            Sample(randn(1, 2, 5, 4), randn(1, 2, 5, 4), randn(1, 2, 5, 4), is_causal=True),
            Sample(randn(1, 2, 3, 4), randn(1, 2, 6, 4), randn(1, 2, 6, 4), is_causal=True, scale=0.3),
            Sample(randn(2, 2, 3, 4), randn(2, 2, 5, 4), randn(2, 2, 5, 4), fixed(mask(3, 5))),
            Sample(randn(2, 2, 3, 4), randn(2, 2, 5, 4), randn(2, 2, 5, 4), randn(2, 1, 3, 5)),
            Sample(randn(3, 4), randn(5, 4), randn(5, 4)), Sample(randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 4)),
            Sample(randn(1, 4, 3, 4), randn(1, 2, 5, 4), randn(1, 2, 5, 4), enable_gqa=True),
            Sample(randn(1, 2, 70, 8), randn(1, 2, 300, 8), randn(1, 2, 300, 8), sample_grad=False),
            Sample(randn(0, 2, 3, 4), randn(0, 2, 5, 4), randn(0, 2, 5, 4))],
        errors=[(lambda hw: hw.scaled_dot_product_attention(z(2, 3), z(4, 5), z(4, 5)), RuntimeError, "query has width 3, key 5"),
                (lambda hw: hw.scaled_dot_product_attention(z(2, 3), z(4, 3), z(5, 3)), RuntimeError, "key has 4 rows, value 5"),
                (lambda hw: hw.scaled_dot_product_attention(z(2, 3), z(4, 3), z(4, 3), z(2, 4), is_causal=True), RuntimeError, "exclude each other"),
                (lambda hw: hw.scaled_dot_product_attention(z(2, 3), z(4, 3), z(4, 3), z(3, 4)), (RuntimeError, ValueError), "broadcast")])


def test_long_sequences_forward_and_backward() -> None:
    """Several blocks of rows and columns, causal and masked."""
    rng = np.random.default_rng(3)
    for kwargs in ({}, {"is_causal": True}, {"attn_mask": rng.random((150, 600)) < 0.8}):
        q, k, v = (rng.standard_normal(s).astype(np.float32) for s in ((2, 4, 150, 32), (2, 2, 600, 32), (2, 2, 600, 24)))
        ours = [hw.tensor(x, requires_grad=True) for x in (q, k, v)]
        theirs = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
        y = hw.scaled_dot_product_attention(*ours, **{n: hw.tensor(m) if n == "attn_mask" else m for n, m in kwargs.items()}, enable_gqa=True)
        w = F.scaled_dot_product_attention(*theirs, **{n: torch.tensor(m) if n == "attn_mask" else m for n, m in kwargs.items()}, enable_gqa=True)
        np.testing.assert_allclose(y.detach().numpy(), w.detach().numpy(), atol=2e-5)
        weight = rng.standard_normal(w.shape).astype(np.float32)
        (y * hw.tensor(weight)).sum().backward()
        (w * torch.tensor(weight)).sum().backward()
        for a, b in zip(ours, theirs):
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), atol=2e-4)


def test_a_row_that_sees_nothing_is_zero() -> None:
    q = hw.tensor(np.ones((1, 1, 2, 4), np.float32), requires_grad=True)
    seen = hw.tensor(np.array([[True, True, False], [False, False, False]]))
    y = hw.scaled_dot_product_attention(q, hw.full((1, 1, 3, 4), 1.0), hw.full((1, 1, 3, 4), 2.0), seen)
    np.testing.assert_array_equal(y.detach().numpy()[0, 0], [[2, 2, 2, 2], [0, 0, 0, 0]])
    y.sum().backward()
    assert np.isfinite(q.grad.numpy()).all()


def test_dropout_keeps_the_mean() -> None:
    hw.manual_seed(0)
    q, k = hw.randn(1, 8, 64, 16), hw.randn(1, 8, 64, 16)
    y = hw.scaled_dot_product_attention(q, k, hw.full((1, 8, 64, 16), 1.0), dropout_p=0.5)
    assert abs(float(y.mean()) - 1) < 0.05
    assert float(y.std()) > 0.01
