"""_conv2d_packed and _max_pool2d_blocked against torch in float64: layouts, strides, groups, what follows the sum."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headwater as hw
from convert import to_hw, to_numpy


def blocked(x: np.ndarray, block: int) -> np.ndarray:
    n, c, h, w = x.shape
    return np.ascontiguousarray(x.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2))


def plain(x: np.ndarray) -> np.ndarray:
    n, c, h, w, block = x.shape
    return x.transpose(0, 1, 4, 2, 3).reshape(n, c * block, h, w)


def packed(w: np.ndarray, groups: int, block_in: int, block: int) -> np.ndarray:
    out, inner, kh, kw = w.shape
    if groups > 1 and inner == 1:
        return np.ascontiguousarray(w.reshape(out // block, block, kh, kw).transpose(0, 2, 3, 1))
    if block_in == 1:
        return np.ascontiguousarray(w.reshape(out // block, block, inner, kh, kw).transpose(0, 3, 4, 2, 1))
    split = w.reshape(groups, out // groups // block, block, inner // block, block, kh, kw).transpose(0, 1, 3, 5, 6, 4, 2)
    return np.ascontiguousarray(split if groups > 1 else split[0])


ACTIVATIONS = {"none": lambda x: x, "relu": torch.relu, "clamp": lambda x: x.clamp(-0.25, 2), "sigmoid": torch.sigmoid, "silu": torch.nn.functional.silu,
               "hardswish": torch.nn.functional.hardswish}
CASES = [(16, 24, 1, 1, 1, 1, 0), (16, 8, 3, 1, 1, 1, 1), (8, 16, 3, 1, 2, 1, 1), (8, 16, 3, 1, 1, 2, 2), (3, 16, 7, 1, 2, 1, 3), (16, 16, 3, 16, 1, 1, 1),
         (16, 16, 5, 16, 2, 1, 2), (32, 16, 3, 2, 1, 1, 1)]


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_against_torch(case: tuple[int, ...], reference: bool) -> None:
    channels, out, kernel, groups, stride, dilation, padding = case
    r = np.random.default_rng(0)
    x, w, b = r.standard_normal((2, channels, 13, 12)), r.standard_normal((out, channels // groups, kernel, kernel)), r.standard_normal(out)
    block_in = 1 if channels < 8 else 8
    y = torch.nn.functional.conv2d(*(torch.from_numpy(a.astype("float32").astype("float64")) for a in (x, w, b)), stride, padding, dilation, groups)
    more = r.standard_normal(y.shape).astype("float32")
    image = to_hw(x if block_in == 1 else blocked(x, 8), "float32")
    weight = to_hw(packed(w, groups, block_in, 8), "float32")
    try:
        if reference:
            hw._C.set_kernels_off("onednn")
        for name, f in ACTIVATIONS.items():
            for residual in (None, more):
                attributes = {"stride": (stride,), "padding": (padding,), "dilation": (dilation,), "activation": name, "low": -0.25, "high": 2.0}
                inputs = [image, weight, to_hw(b, "float32"), None if residual is None else to_hw(blocked(residual, 8), "float32")]
                got = plain(to_numpy(hw._C.run_op("_conv2d_packed", inputs, attributes)[0]))
                want = f(y if residual is None else y + torch.from_numpy(residual)).numpy()
                np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5 * np.abs(y.numpy()).max())
    finally:
        hw._C.set_kernels_off("")


@pytest.mark.parametrize("case", [(3, 2, 1, 1, False), (2, 2, 0, 1, False), (3, 2, 0, 1, True), (3, 1, 1, 2, False)])
@pytest.mark.parametrize("block", [8, 16])
def test_blocked_pooling(case: tuple, block: int) -> None:
    kernel, stride, padding, dilation, ceil = case
    x = np.random.default_rng(0).standard_normal((2, 32, 12, 13)).astype("float32")
    x[0, 3, 4, 5] = np.nan
    x[1, 2] = -np.inf
    want = torch.nn.functional.max_pool2d(torch.from_numpy(x), kernel, stride, padding, dilation, ceil).numpy()
    attributes = {"kernel_size": (kernel,), "stride": (stride,), "padding": (padding,), "dilation": (dilation,), "ceil_mode": ceil}
    got = hw._C.run_op("_max_pool2d_blocked", [hw.tensor(blocked(x, block))], attributes)[0]
    np.testing.assert_array_equal(plain(to_numpy(got)), want)


@pytest.mark.parametrize("x, w, text", [
    ((1, 8, 4, 4), (1, 1, 3, 3, 8, 8), "does not fit the weight"), ((1, 2, 4, 4, 8), (1, 1, 3, 3, 8, 8), "does not fit the weight"),
    ((1, 1, 4, 4, 8), (1, 1, 5, 5, 8, 8), "smaller than the kernel"), ((1, 1, 4, 4, 8), (1, 1, 3, 3, 8, 4), "blocks are 8 or 16"),
    ((1, 4, 4), (1, 1, 3, 3, 8, 8), "input must be")])
def test_messages(x: tuple, w: tuple, text: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        hw._C.run_op("_conv2d_packed", [hw.zeros(x), hw.zeros(w), None, None], {})
    assert text in str(caught.value)
