"""Pooling against torch."""
from __future__ import annotations

import numpy as np
import torch

import headwater as hw
from harness import Sample, integers, op_test, permutation, randn

F = torch.nn.functional


def z(*shape: int) -> hw.Tensor:
    return hw.full(shape, 0.0)


def spread(*shape: int) -> np.ndarray:
    """Values that are all different, also in 16 bits."""
    return permutation(*shape)


MAX = {
    1: lambda: [Sample(spread(2, 3, 10), 3), Sample(spread(2, 3, 10), 3, 2, 1), Sample(spread(3, 11), 2, 3, 1, ceil_mode=True),
                Sample(spread(1, 2, 12), 3, 2, 1, 2), Sample(integers(-9, 9, 2, 3, 8), 2, sample_dtypes=("int64",), sample_grad=False)],
    2: lambda: [Sample(spread(2, 3, 7, 6), 3, 2, 1), Sample(spread(3, 7, 6), (2, 3), (2, 1), (1, 0), ceil_mode=True),
                Sample(spread(1, 2, 9, 8), 2, dilation=(2, 3), stride=1), Sample(np.zeros((0, 3, 6, 6)), 2)],
    3: lambda: [Sample(spread(1, 2, 5, 4, 6), 2), Sample(spread(2, 5, 4, 6), (2, 3, 2), 1, 1, ceil_mode=True)],
}
AVG = {
    1: lambda: [Sample(randn(2, 3, 10), 3), Sample(randn(2, 3, 10), 3, 2, 1), Sample(randn(3, 11), 2, 3, 1, True, False)],
    2: lambda: [Sample(randn(2, 3, 7, 6), 3, 2, 1), Sample(randn(3, 7, 6), (2, 3), (2, 1), (1, 0), True, False),
                Sample(randn(1, 2, 6, 6), 2, divisor_override=3), Sample(randn(1, 2, 7, 7), 3, 2, 1, ceil_mode=True), Sample(randn(0, 3, 6, 6), 2)],
    3: lambda: [Sample(randn(1, 2, 5, 4, 6), 2), Sample(randn(2, 5, 4, 6), (2, 3, 2), 1, 1, True, False)],
}
SIZES = {1: [4, 1, 7], 2: [(1, 1), (3, 2), 5], 3: [1, (2, 3, 2)]}
SHAPES = {1: (2, 3, 7), 2: (2, 2, 7, 5), 3: (1, 2, 5, 4, 6)}

for n in (1, 2, 3):
    op_test(f"max_pool{n}d", torch=getattr(F, f"max_pool{n}d"), samples=MAX[n], grad=True, grad2=True,
            errors=[(lambda hw: hw.max_pool2d(z(1, 3, 6, 6), 3, padding=2), RuntimeError, "padding must be between 0 and half the kernel"),
                    (lambda hw: hw.max_pool2d(z(1, 3, 6, 6), 0), RuntimeError, "must be positive"),
                    (lambda hw: hw.max_pool2d(z(1, 3, 2, 2), 3), RuntimeError, "too small"),
                    (lambda hw: hw.max_pool2d(z(6, 6), 3), RuntimeError, "input must have 4 axes")] if n == 2 else ())
    op_test(f"avg_pool{n}d", torch=getattr(F, f"avg_pool{n}d"), samples=AVG[n], grad=True, grad2=True,
            errors=[(lambda hw: hw.avg_pool2d(z(1, 3, 6, 6), 2, divisor_override=0), RuntimeError, "divisor_override must not be zero")] if n == 2 else ())
    op_test(f"adaptive_avg_pool{n}d", torch=getattr(F, f"adaptive_avg_pool{n}d"), grad=True, grad2=True,
            samples=lambda n=n: [Sample(randn(*SHAPES[n]), s) for s in SIZES[n]] + [Sample(randn(*SHAPES[n][1:]), SIZES[n][0])],
            errors=[(lambda hw: hw.adaptive_avg_pool2d(z(1, 3, 6, 6), -2), RuntimeError, "output_size must not be negative")] if n == 2 else ())
    op_test(f"adaptive_max_pool{n}d", torch=getattr(F, f"adaptive_max_pool{n}d"), grad=True, grad2=True,
            samples=lambda n=n: [Sample(spread(*SHAPES[n]), s) for s in SIZES[n]])


def test_indices_are_flat_in_the_plane() -> None:
    x = permutation(2, 3, 6, 7).astype(np.float32)
    y, i = hw.max_pool2d(hw.tensor(x), 3, 2, 1, return_indices=True)
    want_y, want_i = F.max_pool2d(torch.tensor(x), 3, 2, 1, return_indices=True)
    np.testing.assert_array_equal(y.numpy(), want_y.numpy())
    np.testing.assert_array_equal(i.numpy(), want_i.numpy())
    y, i = hw.adaptive_max_pool2d(hw.tensor(x), (2, 3), return_indices=True)
    np.testing.assert_array_equal(i.numpy(), F.adaptive_max_pool2d(torch.tensor(x), (2, 3), return_indices=True)[1].numpy())


def test_nan_wins() -> None:
    x = np.array([[[1.0, np.nan, 3.0, 2.0]]], dtype=np.float32)
    assert np.isnan(hw.max_pool1d(hw.tensor(x), 2).numpy()).tolist() == [[[True, False]]]
