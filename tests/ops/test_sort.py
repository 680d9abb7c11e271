"""Sorting and selection by order."""

import numpy as np
import torch

import headwater as hw
from harness import FLOATS, INTS, Sample, integers, op_test, permutation, randn

ORDERED = {"dtypes": FLOATS + INTS, "grad": True, "grad2": True}


op_test(
    "sort",
    torch=lambda x, dim=-1, descending=False: torch.sort(x, dim=dim, descending=descending, stable=True),
    samples=lambda: [
        Sample(permutation(3, 5)),
        Sample(permutation(4, 3), 0),
        Sample(permutation(3, 5), -1, True),
        Sample(randn()),
        Sample(randn(0, 3)),
        Sample(permutation(2, 3, 4), 1),
    ],
    **ORDERED,
    errors=[(lambda hw: hw.sort(hw.ones(2), 3), IndexError, "axis 3")],
)
op_test(
    "argsort",
    torch=lambda x, dim=-1, descending=False: torch.argsort(x, dim=dim, descending=descending, stable=True),
    samples=lambda: [Sample(permutation(3, 5)), Sample(permutation(4, 3), 0, True), Sample(integers(0, 3, 20))],
    dtypes=FLOATS + INTS,
)
op_test("msort", torch=torch.msort, samples=lambda: [Sample(permutation(3, 5))], **ORDERED)
op_test(
    "topk",
    torch=torch.topk,
    samples=lambda: [
        Sample(permutation(3, 5), 2),
        Sample(permutation(4, 3), 3, 0, False),
        Sample(permutation(4), 0),
        Sample(randn(), 1),
    ],
    **{**ORDERED, "dtypes": ("float32", "bfloat16", "float64")},
    errors=[(lambda hw: hw.topk(hw.ones(2), 3), RuntimeError, "k must be in [0, 2]")],
)
op_test(
    "kthvalue",
    torch=torch.kthvalue,
    samples=lambda: [Sample(permutation(3, 5), 2), Sample(permutation(4, 3), 1, 0, True)],
    **{**ORDERED, "dtypes": ("float32", "float64")},
    errors=[(lambda hw: hw.kthvalue(hw.ones(2), 0), RuntimeError, "k must be")],
)


def test_nan_is_largest_and_equal_elements_keep_their_order() -> None:
    x = np.array([2.0, np.nan, -np.inf, 0.0, -0.0, 2.0, np.inf, np.nan, 0.0])
    for dtype in ("float32", "float64"):
        h, t = hw.tensor(x.astype(dtype)), torch.tensor(x.astype(dtype))
        for descending in (False, True):
            got, want = hw.sort(h, descending=descending), torch.sort(t, descending=descending, stable=True)
            np.testing.assert_array_equal(got.indices.numpy(), want.indices.numpy())
            np.testing.assert_array_equal(got.values.numpy(), want.values.numpy())
        np.testing.assert_array_equal(hw.topk(h, 3)[0].numpy(), torch.topk(t, 3)[0].numpy())


def test_long_rows() -> None:
    for dtype in (np.float32, np.float64, np.int64, np.int32, np.uint8):
        x = (np.random.default_rng(0).standard_normal((3, 5000)) * 100).astype(dtype)
        got, want = hw.sort(hw.tensor(x)), torch.sort(torch.tensor(x), stable=True)
        np.testing.assert_array_equal(got.values.numpy(), want.values.numpy())
        np.testing.assert_array_equal(got.indices.numpy(), want.indices.numpy())


op_test(
    "isin",
    torch=torch.isin,
    samples=lambda: [
        Sample(integers(0, 9, 3, 4), integers(0, 9, 5)),
        Sample(integers(0, 9, 7), integers(0, 9, 2, 2), invert=True),
        Sample(integers(0, 9, 7), integers(0, 9, 0)),
        Sample(integers(0, 9, 7), 4, invert=True),
        Sample(integers(0, 9), integers(0, 9, 9), assume_unique=True),
        Sample(np.array([1.0, np.nan, 3.0]), np.array([np.nan, 3.0, 9.0]), sample_dtypes=FLOATS),
    ],
    dtypes=FLOATS + INTS,
)
RUNS = np.array([3, 3, 1, 1, 1, 2, 3, 3])
op_test(
    "unique_consecutive",
    torch=torch.unique_consecutive,
    samples=lambda: [
        Sample(RUNS),
        Sample(RUNS.reshape(2, 4), True, True),
        Sample(RUNS.reshape(4, 2), True, True, 0),
        Sample(RUNS.reshape(2, 4), return_counts=True, dim=1),
        Sample(integers(0, 3, 0), True, True),
        Sample(integers(0, 3)),
    ],
    dtypes=FLOATS + INTS + ("bool",),
    captured=False,
    errors=[(lambda hw: hw.unique_consecutive(hw.tensor(1), dim=0), RuntimeError, "no rows")],
)
