"""The packed Winograd convolution against torch in float64: paddings, sizes, channels, layouts, threads, instruction sets."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headwater as hw
from checks import isas
from convert import to_hw, to_numpy

BOUND = {(2, 1): 3e-6, (4, 1): 2e-5, (4, 2): 6e-6}  # by tile and stride, of the largest result; kernels/conv/winograd.h


def winograd(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, padding: tuple[int, int], way: tuple[int, int], relu: bool = False, residual: np.ndarray | None = None) -> np.ndarray:
    tile, stride = way
    packed = hw._C.run_op("_winograd_pack_weight", [to_hw(w, "float32")], {"tile": tile, "stride": stride})[0]
    inputs = [to_hw(x, "float32"), packed, *(None if t is None else to_hw(t, "float32") for t in (bias, residual))]
    attributes = {"out_channels": w.shape[0], "tile": tile, "padding": padding, "low": 0.0 if relu else -np.inf, "stride": stride}
    return to_numpy(hw._C.run_op("_conv2d_winograd", inputs, attributes)[0])


def exact(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, padding: tuple[int, int], stride: int = 1) -> np.ndarray:
    x, w, b = (None if a is None else torch.from_numpy(a.astype("float32").astype("float64")) for a in (x, w, bias))
    return torch.nn.functional.conv2d(x, w, b, stride, padding).numpy()


def arrays(batch: int, channels: int, out: int, h: int, w: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r = np.random.default_rng(seed)
    return r.standard_normal((batch, channels, h, w)), r.standard_normal((out, channels, 3, 3)), r.standard_normal(out)


def assert_within(got: np.ndarray, want: np.ndarray, way: tuple[int, int]) -> None:
    assert got.shape == want.shape
    if want.size:
        assert np.abs(got - want).max() <= BOUND[way] * np.abs(want).max()


@pytest.mark.parametrize("way", BOUND)
@pytest.mark.parametrize("case", [(1, 64, 64, 14, 14, (1, 1)), (2, 30, 21, 11, 9, (0, 2)), (3, 3, 5, 3, 40, (4, 0)), (1, 128, 40, 7, 7, (1, 1)), (0, 4, 4, 8, 8, (1, 1))])
def test_error_stays_within_the_stated_bound(way: tuple[int, int], case: tuple) -> None:
    *sizes, padding = case
    x, w, b = arrays(*sizes)
    before, threads = hw._C.isa(), hw.get_num_threads()
    try:
        for isa in isas():
            hw._C.set_isa(isa)
            for count in (1, 2):
                hw.set_num_threads(count)
                assert_within(winograd(x, w, b, padding, way), exact(x, w, b, padding, way[1]), way)
                want = exact(x, w, None, padding, way[1])
                more = np.random.default_rng(1).standard_normal(want.shape).astype("float32")
                assert_within(winograd(x, w, None, padding, way, True, more), np.maximum(want + more, 0), way)
    finally:
        hw._C.set_isa(before)
        hw.set_num_threads(threads)


@pytest.mark.parametrize("block", [8, 16])
def test_blocked_images(block: int) -> None:
    x, w, b = arrays(2, 48, 32, 10, 9)
    blocked = x.reshape(2, 48 // block, block, 10, 9).transpose(0, 1, 3, 4, 2)
    for way in BOUND:
        want = exact(x, w, b, (1, 1), way[1])
        got = winograd(np.ascontiguousarray(blocked), w, b, (1, 1), way)
        assert_within(got.transpose(0, 1, 4, 2, 3).reshape(want.shape), want, way)


def test_packed_weights_do_not_depend_on_the_instruction_set() -> None:
    x, w, b = arrays(1, 32, 32, 12, 12)
    before = hw._C.isa()
    packed = []
    try:
        for isa in isas():
            hw._C.set_isa(isa)
            packed.append(to_numpy(hw._C.run_op("_winograd_pack_weight", [to_hw(w, "float32")], {"tile": 4})[0]))
    finally:
        hw._C.set_isa(before)
    for p in packed[1:]:
        np.testing.assert_allclose(p, packed[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape, out, tile, padding, text", [
    ((1, 4, 8, 8), 5, 3, (1, 1), "tile must be 2 or 4"), ((1, 8, 8, 8), 5, 4, (1, 1), "needs [1, 36, 8, 16]"),
    ((1, 4, 1, 8), 5, 4, (0, 0), "smaller than the kernel"), ((1, 4, 8, 8), 40, 4, (1, 1), "needs [3, 36, 4, 16]"),
    ((4, 8, 8), 5, 4, (1, 1), "input must be"), ((1, 1, 8, 8, 8), 5, 4, (1, 1), "multiple of 8")])
def test_messages(shape: tuple, out: int, tile: int, padding: tuple, text: str) -> None:
    packed = hw._C.run_op("_winograd_pack_weight", [hw.zeros((5, 4, 3, 3))], {"tile": 4})[0]
    with pytest.raises(RuntimeError) as caught:
        hw._C.run_op("_conv2d_winograd", [hw.zeros(shape), packed, None], {"out_channels": out, "tile": tile, "padding": padding})
    assert text in str(caught.value)


def test_a_stride_needs_the_large_tile() -> None:
    for tile, stride in ((2, 2), (4, 3)):
        with pytest.raises(RuntimeError, match=f"stride must be 1, or 2 with tile=4; got {stride} with tile={tile}"):
            hw._C.run_op("_winograd_pack_weight", [hw.zeros((5, 4, 3, 3))], {"tile": tile, "stride": stride})


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"must be \[out_channels, channels, 3, 3\]"):
        hw._C.run_op("_winograd_pack_weight", [hw.zeros((5, 4, 3, 2))], {"tile": 4})
