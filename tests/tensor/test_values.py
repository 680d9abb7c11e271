"""Tensors beside NumPy arrays and Python numbers: operators, indices, numbers that do not fit, attributes."""

import os

import numpy as np
import pytest
import torch

import headwater as hw


def test_operators_with_arrays():
    t, a = hw.tensor([1.0, 2.0]), np.array([3.0, 5.0])
    for got, want in (
        (t + a, [4, 7]), (a + t, [4, 7]), (a - t, [2, 3]), (t * a, [3, 10]), (a / t, [3, 2.5]), (t == a, [False, False]),
        (a > t, [True, True]), (t ** a, [1, 32]), (t - np.float64(1), [0, 1]), (np.float32(1) - t, [0, -1]),
        (t + a[::-1], [6, 5]),
    ):  # fmt: skip
        assert isinstance(got, hw.Tensor)
        assert got.tolist() == want
    t += a
    assert t.tolist() == [4, 7]
    assert (hw.tensor([1, 2]) == None) is False  # noqa: E711
    with pytest.raises(TypeError):
        t + np.array(["a", "b"])


def test_masks_without_axes():
    for shape in ((2, 3), ()):
        x, y = hw.arange(6).reshape(2, 3), torch.arange(6).reshape(2, 3)
        if not shape:
            x, y = x[1, 2], y[1, 2]
        for truth in (True, False):
            assert x[hw.tensor(truth)].shape == tuple(y[torch.tensor(truth)].shape)
            assert x[np.bool_(truth)].shape == x[hw.tensor(truth)].shape
            assert x[..., hw.tensor(truth)].shape == tuple(y[..., torch.tensor(truth)].shape)
    x = hw.tensor(5)
    x[x > 3] = 1
    assert x.item() == 1


def test_masks_as_lists_and_arrays_behind_an_ellipsis():
    x, y = hw.arange(24).reshape(2, 3, 4), np.arange(24).reshape(2, 3, 4)
    mask = [[True, False, True, False], [False] * 4, [True] * 4]
    for key in ((..., np.array(mask)), (slice(None), np.array(mask)), (0, np.array(mask))):
        assert x[key].tolist() == y[key].tolist()
    assert x[..., mask].tolist() == y[..., np.array(mask)].tolist()
    assert x[range(1)].tolist() == y[[0]].tolist()


def test_values_with_leading_axes_of_size_one():
    x = hw.zeros(3)
    x[[0, 1]] = hw.tensor([[1.0, 2.0]])
    x[2] = hw.tensor([[5.0]])
    assert x.tolist() == [1, 2, 5]
    with pytest.raises(RuntimeError):
        x[[0, 1]] = hw.ones(2, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: hw.tensor(300, dtype=hw.int8),
        lambda: hw.tensor([1, 300], dtype=hw.uint8),
        lambda: hw.tensor([-(2**31) - 1], dtype=hw.int32),
        lambda: hw.tensor([float("nan")], dtype=hw.int64),
        lambda: hw.tensor([1e300], dtype=hw.int64),
        lambda: hw.tensor([[1j]], dtype=hw.float32),
        lambda: hw.tensor(1j, dtype=hw.float32),
        lambda: hw.full((2,), 300, dtype=hw.int8),
        lambda: hw.full((2,), -256, dtype=hw.uint8),
        lambda: hw.full((2,), 1e300),
        lambda: hw.full((2,), 70000.0, dtype=hw.float16),
        lambda: hw.full_like(hw.ones(2, dtype=hw.int8), 128),
        lambda: hw.zeros(3).__setitem__(0, 1j),
    ],
)
def test_numbers_that_do_not_fit(call):
    with pytest.raises((RuntimeError, TypeError), match="fit|cannot be stored"):
        call()


@pytest.mark.parametrize(
    "data, error, message",
    [
        ([[1, 2], [3]], ValueError, r"data\[1\] has 1 elements, the first list at this depth has 2"),
        ([[[1], [2]], [[3]]], ValueError, r"data\[1\] has 1 elements"),
        ([[], [1]], ValueError, r"data\[1\] has 1 elements"),
        ([[1, [2]]], ValueError, r"data\[0\]\[1\] is a list"),
        (([1, 2], 3), ValueError, r"data\[1\] is a number, where others are lists"),
        ([1, "a"], TypeError, r"data\[1\] is of type str"),
        ([[1.0], [None]], TypeError, r"data\[1\]\[0\] is of type NoneType"),
        ([2**63], OverflowError, r"data\[0\], a Python integer, does not fit in 64 bits"),
        ([0, -(2**63) - 1], OverflowError, r"data\[1\]"),
        ([1.5, 2**70], OverflowError, r"data\[1\]"),
    ],
)
def test_lists_of_which_no_tensor_can_be_made(data, error, message):
    with pytest.raises(error, match=message):
        hw.tensor(data)


@pytest.mark.parametrize("make", [
    lambda m: m.tensor([2.0, m.tensor(5.0, dtype=m.float64)]),
    lambda m: m.tensor([1, m.tensor(2.0, dtype=m.float16)]),
    lambda m: m.tensor([2.0, m.tensor(2.0, dtype=m.bfloat16)]),
    lambda m: m.tensor([m.tensor([1], dtype=m.int16), 127]),
    lambda m: m.tensor([[1, 2], [3, m.tensor([[2.5]])]]),
    lambda m: m.tensor([[m.tensor(1), 2.5], [m.tensor(True), 1]]),
    lambda m: m.tensor([m.tensor(1), 2.75], dtype=m.int32),
])
def test_tensors_in_lists_count_with_their_dtype(make):
    got, want = make(hw), make(torch)
    assert str(got.dtype)[len("headwater."):] == str(want.dtype)[len("torch."):] and got.tolist() == want.tolist()


def test_tensors_in_lists_that_do_not_fit():
    with pytest.raises(ValueError, match=r"a list holds i64\[1\], its first element is i64\[2\]"):
        hw.tensor([hw.tensor([1, 2]), hw.tensor([1])])
    with pytest.raises(RuntimeError, match=r"tensor\(\): 300 does not fit u8. Choose a wider dtype"):
        hw.tensor([1, hw.tensor(300)], dtype=hw.uint8)


def test_a_list_that_holds_itself():
    data = []
    data.append(data)
    with pytest.raises(ValueError, match="nested"):
        hw.tensor(data)


def test_numbers_that_fit():
    assert hw.tensor([-128, 127], dtype=hw.int8).tolist() == [-128, 127]
    assert hw.tensor(-1, dtype=hw.uint8).item() == torch.tensor(-1, dtype=torch.uint8).item() == 255
    assert hw.tensor([1.7, -1.7], dtype=hw.int64).tolist() == [1, -1]
    assert hw.full((1,), float("inf"), dtype=hw.float16).item() == float("inf")
    assert hw.full((1,), -(2**63), dtype=hw.int64).item() == -(2**63)
    assert hw.tensor([2, 0], dtype=hw.bool).tolist() == [True, False]
    assert hw.tensor([1, 2], dtype=hw.complex64).tolist() == [1, 2]
    x = hw.zeros(2)
    x[0] = 2 + 0j
    assert x.tolist() == [2, 0]


def test_parts_of_complex_tensors_are_views():
    x = hw.tensor([1 + 2j, 3 - 4j])
    assert x.real.tolist() == [1, 3] and x.imag.tolist() == [2, -4]
    x.imag.mul_(2)
    x.real = hw.tensor([7.0, 8.0])
    assert x.tolist() == [7 + 4j, 8 - 8j]
    x.imag = 0
    assert x.tolist() == [7, 8]
    y = hw.ones(2)
    assert y.real is y
    with pytest.raises(RuntimeError, match="imaginary"):
        y.imag  # noqa: B018
    z = hw.tensor([1 + 2j, 3 - 4j], requires_grad=True)
    w = torch.tensor([1 + 2j, 3 - 4j], requires_grad=True)
    (z.real * z.imag).sum().backward()
    (w.real * w.imag).sum().backward()
    assert z.grad.tolist() == w.grad.tolist()


def test_device_of_a_tensor():
    x = hw.ones(2)
    assert x.device == "cpu" == str(x.device)
    assert x.device.type == "cpu"
    assert x.device.index is None
    assert x.to(x.device) is x
    assert hw.zeros(2, device=x.device).device == hw.device("cpu")


def test_out_without_elements_becomes_the_result():
    y = hw.empty(0)
    z = hw.add(hw.arange(4.0), 1, out=y)
    assert z is y
    assert y.tolist() == [1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="out has shape"):
        hw.add(hw.ones(4), 1, out=hw.empty(7))
    with pytest.raises(TypeError, match="out is not taken"):
        hw.ones(4).add_(1, out=y)


def test_einsum_with_numbered_axes():
    a, b = hw.arange(6.0).reshape(2, 3), hw.arange(12.0).reshape(3, 4)
    want = (a @ b).tolist()
    assert hw.einsum(a, [0, 1], b, [1, 2], [0, 2]).tolist() == want
    assert hw.einsum(a, [5, 30], b, [30, 51]).tolist() == want
    assert hw.einsum(a, [..., 1], [1, ...]).tolist() == a.t().tolist()
    with pytest.raises(TypeError, match="axes must be"):
        hw.einsum(a, [0, 99])
    with pytest.raises(TypeError, match="axes must be"):
        hw.einsum(a, 5)


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="the heap is the sanitizer's")
def test_empty_cache_gives_small_blocks_back():
    def resident():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * 4096

    many = [hw.zeros(5000) for _ in range(5000)]  # 95 MiB of blocks that come from the heap
    full = resident()
    del many
    hw.memory.empty_cache()
    assert full - resident() > 60 << 20


@pytest.mark.parametrize("dtype", [hw.uint8, hw.int8, hw.int32, hw.bool], ids=str)
def test_lists_of_narrow_integers_in_a_compiled_function(dtype):
    """Whether the numbers fit is asked outside of the capture."""
    assert hw.compile(lambda x: x + hw.tensor([1, 0], dtype=dtype))(hw.ones(2)).tolist() == [2.0, 1.0]
    with pytest.raises(RuntimeError, match="300 does not fit u8"):
        hw.compile(lambda x: x + hw.tensor([1, 300], dtype=hw.uint8))(hw.ones(2))
