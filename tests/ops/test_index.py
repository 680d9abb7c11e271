"""Ops that pick and write elements by position, and advanced indexing."""

import numpy as np
import pytest
import torch

import headwater as hw
from harness import Sample, booleans, fixed, integers, op_test, permutation, randn

NUMBERS = ("float32", "bfloat16", "float64", "int32", "complex64")
PICKED = {"dtypes": NUMBERS, "grad": True, "grad2": True}


def i64(*values):
    return fixed(np.array(values, dtype=np.int64))


def picked(name, oracle, samples, **options):
    op_test(name, torch=oracle, samples=samples, **{**PICKED, **options})


picked(
    "gather",
    torch.gather,
    lambda: [
        Sample(randn(3, 4), 1, fixed(integers(0, 4, 3, 2))),
        Sample(randn(3, 4), 0, fixed(integers(0, 3, 5, 4))),
        Sample(randn(3), 0, i64(2, 2, 0)),
        Sample(randn(2, 3, 4), -2, fixed(integers(0, 3, 1, 3, 4))),
    ],
    errors=[
        (
            lambda hw: hw.gather(hw.ones(3), 0, hw.tensor([3])),
            IndexError,
            "index 3 is out of range for axis 0 with size 3",
        ),
        (lambda hw: hw.gather(hw.ones(3, 2), 0, hw.tensor([1])), RuntimeError, "as many axes"),
        (lambda hw: hw.gather(hw.ones(3), 0, hw.tensor([0.5])), TypeError, "index"),
    ],
)
picked(
    "scatter",
    torch.scatter,
    lambda: [
        Sample(randn(3, 4), 1, fixed(np.array([[0, 1], [3, 2], [1, 0]])), randn(3, 2)),
        Sample(randn(3), 0, i64(2, 0), randn(3)),
        Sample(randn(3, 4), 0, fixed(np.array([[0, 1, 2, 0]])), randn(2, 4)),
    ],
    errors=[
        (lambda hw: hw.scatter(hw.ones(3), 0, hw.tensor([0, 1]), hw.ones(1)), RuntimeError, "src"),
        (lambda hw: hw.scatter(hw.ones(3), 0, hw.tensor([-1]), hw.ones(1)), IndexError, "index -1"),
    ],
)
picked(
    "scatter_add",
    torch.scatter_add,
    lambda: [
        Sample(randn(3, 4), 1, fixed(integers(0, 4, 3, 6)), randn(3, 6)),
        Sample(randn(3), 0, i64(1, 1, 1), randn(3)),
    ],
    tol={"bfloat16": 0.05},
)
op_test(
    "scatter_reduce",
    torch=torch.scatter_reduce,
    samples=lambda: [
        Sample(randn(4), 0, i64(0, 1, 0, 1, 2), randn(5), reduce=r, include_self=s)
        for r in ("sum", "prod", "mean", "amax", "amin")
        for s in (True, False)
    ],
    dtypes=("float32", "float64"),
    grad=True,
    grad2=True,
)
picked(
    "index_select",
    torch.index_select,
    lambda: [
        Sample(randn(3, 4), 0, i64(2, 0, 2)),
        Sample(randn(3, 4), 1, i64(1)),
        Sample(randn(3, 4), -1, i64()),
        Sample(randn(3), 0, fixed(np.array(1))),
    ],
    errors=[
        (
            lambda hw: hw.index_select(hw.ones(3), 0, hw.tensor([5])),
            IndexError,
            "index 5 is out of range for axis 0 with size 3",
        ),
        (lambda hw: hw.index_select(hw.ones(3), 0, hw.ones(1, 1).to(hw.int64)), IndexError, "1-d"),
    ],
)
picked(
    "index_add",
    torch.index_add,
    lambda: [
        Sample(randn(3, 4), 0, i64(2, 0, 2), randn(3, 4)),
        Sample(randn(3, 4), 1, i64(1, 1), randn(3, 2), alpha=2),
    ],
    tol={"bfloat16": 0.05},
    errors=[(lambda hw: hw.index_add(hw.ones(3), 0, hw.tensor([0]), hw.ones(2)), RuntimeError, "index has 1")],
)
picked(
    "index_copy",
    torch.index_copy,
    lambda: [Sample(randn(3, 4), 0, i64(2, 0), randn(2, 4)), Sample(randn(3, 4), 1, i64(1), randn(3, 1))],
)
picked(
    "index_fill",
    torch.index_fill,
    lambda: [Sample(randn(3, 4), 0, i64(2, 0), 1.5), Sample(randn(3, 4), 1, i64(1), -1)],
    dtypes=("float32", "bfloat16", "float64"),
)
picked("take", torch.take, lambda: [Sample(randn(3, 4), fixed(integers(0, 12, 2, 2))), Sample(randn(3), i64(-1, 0))])
picked(
    "put",
    torch.Tensor.put,
    lambda: [Sample(randn(3, 4), i64(3, 11), randn(2)), Sample(randn(4), i64(1, 1), randn(2), True)],
    tol={"bfloat16": 0.05},
)
picked(
    "take_along_dim",
    torch.take_along_dim,
    lambda: [
        Sample(randn(3, 4), fixed(integers(0, 4, 3, 2)), 1),
        Sample(randn(3, 4), fixed(integers(0, 3, 1, 4)), 0),
        Sample(randn(3, 4), fixed(integers(0, 12, 5))),
    ],
)
picked(
    "masked_select",
    torch.masked_select,
    lambda: [
        Sample(randn(3, 4), booleans(3, 4)),
        Sample(randn(3, 4), booleans(4)),
        Sample(randn(), fixed(np.array(True))),
    ],
    strided=False,
    captured=False,
)
picked("masked_scatter", torch.masked_scatter, lambda: [Sample(randn(3, 4), booleans(3, 4), randn(12))], captured=False)
op_test(
    "nonzero",
    torch=torch.nonzero,
    samples=lambda: [Sample(integers(0, 2, 3, 4)), Sample(booleans(5)), Sample(integers(0, 2, 0)), Sample(booleans())],
    dtypes=("int64", "float32", "bool", "complex64"),
    captured=False,
)
op_test("argwhere", torch=torch.argwhere, samples=lambda: [Sample(integers(0, 2, 3, 4))], dtypes=("int64",), captured=False)
op_test(
    "embedding",
    torch=lambda i, w, p=-1, f=False: torch.nn.functional.embedding(i, w, None if p < 0 else p, scale_grad_by_freq=f),
    samples=lambda: [
        Sample(fixed(integers(0, 5, 2, 3)), randn(5, 4)),
        Sample(fixed(integers(0, 5, 6)), randn(5, 4), 2, sample_grad=False),
        Sample(fixed(np.array(1)), randn(5, 4)),
    ],
    dtypes=("float32", "bfloat16", "float16", "float64"),
    grad=True,
    grad2=True,
    grad_args=(1,),
    tol={"bfloat16": 0.02},
    errors=[
        (
            lambda hw: hw.embedding(hw.tensor([7]), hw.ones(5, 2)),
            IndexError,
            "index 7 is out of range for axis 0 with size 5",
        ),
        (lambda hw: hw.embedding(hw.tensor([0]), hw.ones(5)), RuntimeError, "two axes"),
    ],
)
op_test(
    "bincount",
    torch=torch.bincount,
    samples=lambda: [Sample(integers(0, 5, 9)), Sample(integers(0, 3, 4), None, 6)],
    dtypes=("int64", "int32"),
    captured=False,
)
op_test(
    "searchsorted",
    torch=torch.searchsorted,
    samples=lambda: [
        Sample(np.sort(randn(6)), randn(2, 3)),
        Sample(np.sort(randn(2, 6)), randn(2, 3), right=True),
        Sample(np.array([1.0, 2, 2, 3]), np.array([2.0, 0, 9]), side="right", out_int32=True),
    ],
    dtypes=("float32", "float64"),
    strided=False,
)
op_test(
    "bucketize",
    torch=torch.bucketize,
    samples=lambda: [
        Sample(randn(2, 3), np.array([-1.0, 0, 1])),
        Sample(np.array([0.0, 1]), np.array([0.0, 1]), right=True),
    ],
    dtypes=("float32",),
    strided=False,
)
op_test(
    "unique",
    torch=lambda x, **k: torch.unique(x, **k),
    samples=lambda: [
        Sample(integers(0, 4, 3, 4)),
        Sample(integers(0, 9, 7), return_inverse=True, return_counts=True),
        Sample(integers(0, 2, 5, 2), return_inverse=True, return_counts=True, dim=0),
        Sample(integers(0, 2, 2, 5), dim=1),
    ],
    dtypes=("int64", "int32", "uint8"),
    same_dtype=False,
    strided=False,
    captured=False,
)

INDICES = [
    lambda x, t: x[t([0, 2])],
    lambda x, t: x[t([[0, 1], [2, -1]])],
    lambda x, t: x[:, t([0, 0, 1])],
    lambda x, t: x[t([0, 1]), t([1, 2])],
    lambda x, t: x[t([0, 1]), :, t([1, 2])],
    lambda x, t: x[1:, None, t([1])],
    lambda x, t: x[..., t([1, 0])],
    lambda x, t: x[t([[0], [1]]), t([0, 1])],
    lambda x, t: x[0, t([1, 0])],
    lambda x, t: x[t([1, 0]), 0],
    lambda x, t: x[None, t([1])],
    lambda x, t: x[::2, t([True, False, True])],
    lambda x, t: x[t([True, False, True])],
    lambda x, t: x[True],
    lambda x, t: x[[0, 1]],
    lambda x, t: x[-1],
    lambda x, t: x[..., 0],
]


@pytest.mark.parametrize("case", range(len(INDICES)))
def test_indexing(case: int) -> None:
    x = np.random.default_rng(0).standard_normal((3, 3, 4))
    h, t = hw.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    got, want = INDICES[case](h, hw.tensor), INDICES[case](t, torch.tensor)
    np.testing.assert_array_equal(got.detach().numpy(), want.detach().numpy())
    (got * got).sum().backward()
    (want * want).sum().backward()
    np.testing.assert_allclose(h.grad.numpy(), t.grad.numpy(), rtol=1e-12)
    assert hw.autograd.gradgradcheck(lambda y: INDICES[case](y, hw.tensor).pow(2), (hw.tensor(x, requires_grad=True),))


WRITES = [
    lambda x, t: x.__setitem__(t([0, 2]), 1.0),
    lambda x, t: x.__setitem__((slice(None), t([1])), t([[5.0], [6], [7]]).double()),
    lambda x, t: x.__setitem__(t([True, False, True]), 2.0),
    lambda x, t: x.__setitem__((t([0, 1]), t([1, 2])), t([8.0, 9]).double()),
    lambda x, t: x.__setitem__(x > 0, 0.0),
    lambda x, t: x.__setitem__((0, slice(1, 3)), 4.0),
    lambda x, t: x.index_put_((t([0, 0]), t([1, 1])), t([1.0, 2]).double(), accumulate=True),
]


@pytest.mark.parametrize("case", range(len(WRITES)))
def test_writing(case: int) -> None:
    x = np.random.default_rng(0).standard_normal((3, 4))
    h, t = hw.tensor(x), torch.tensor(x)
    WRITES[case](h, hw.tensor), WRITES[case](t, torch.tensor)
    np.testing.assert_array_equal(h.numpy(), t.numpy())


def test_gradient_through_writing() -> None:
    x, v = np.ones((3, 2)), np.full(2, 2.0)
    h, hv = hw.tensor(x, requires_grad=True), hw.tensor(v, requires_grad=True)
    y = h * 1
    y[hw.tensor([1])] = hv
    (y * y).sum().backward()
    np.testing.assert_array_equal(h.grad.numpy(), [[2, 2], [0, 0], [2, 2]])
    np.testing.assert_array_equal(hv.grad.numpy(), [4, 4])


def test_overloads() -> None:
    x = hw.tensor([[0, 3], [4, 0]])
    assert [i.tolist() for i in x.nonzero(as_tuple=True)] == [[0, 1], [1, 0]]
    assert [i.tolist() for i in hw.where(x)] == [[0, 1], [1, 0]]
    assert hw.zeros(3).scatter(0, hw.tensor([1]), value=2.0).tolist() == [0, 2, 0]
    assert hw.ones(3).scatter(0, hw.tensor([1]), hw.tensor([3.0]), reduce="multiply").tolist() == [1, 3, 1]
    assert hw.zeros(3).index_put((hw.tensor([True, False, True]),), hw.tensor(1.0)).tolist() == [1, 0, 1]


def test_index_out_of_range_names_axis_and_size() -> None:
    with pytest.raises(IndexError, match="index 4 is out of range for axis 1 with size 3"):
        hw.ones(2, 3)[:, hw.tensor([0, 4])]


def test_embedding_padding_row_gets_no_gradient() -> None:
    w = hw.ones(4, 3, requires_grad=True)
    hw.embedding(hw.tensor([0, 2, 2]), w, 2).sum().backward()
    assert w.grad[:, 0].tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("threads", [1, 2])
def test_embedding_gradient_of_rows_that_occur_never_once_and_often(dtype: str, threads: int) -> None:
    rng = np.random.default_rng(0)
    before = hw.get_num_threads()
    hw.set_num_threads(threads)
    try:
        for rows, features, count in ((50, 300, 60), (3, 130, 400), (400, 1, 90), (2000, 40, 3000)):
            index, dy = rng.integers(0, rows - 1, count), rng.integers(-4, 5, (count, features)).astype(np.float64)
            want = np.zeros((rows, features))
            np.add.at(want, index, dy)
            table = hw.zeros(rows, features, dtype=getattr(hw, dtype)).requires_grad_()
            hw.embedding(hw.tensor(index), table).backward(hw.tensor(dy).to(table.dtype))
            np.testing.assert_array_equal(table.grad.to(hw.float64).numpy(), want)
    finally:
        hw.set_num_threads(before)


def test_embedding_gradient_by_frequency() -> None:
    i, w = np.array([0, 2, 2, 2]), np.random.default_rng(0).standard_normal((4, 3))
    h, t = hw.tensor(w, requires_grad=True), torch.tensor(w, requires_grad=True)
    hw.embedding(hw.tensor(i), h, -1, True).sum().backward()
    torch.nn.functional.embedding(torch.tensor(i), t, scale_grad_by_freq=True).sum().backward()
    np.testing.assert_allclose(h.grad.numpy(), t.grad.numpy())

op_test("unravel_index", torch=torch.unravel_index, dtypes=("int32", "int64"), samples=lambda: [
    Sample(integers(0, 24, 3, 4), (2, 3, 4)), Sample(integers(0, 5, 2), 5), Sample(integers(0, 60, 4), (3, 4, 5)), Sample(integers(0, 1, 0), (2, 0))],
    errors=[(lambda hw: hw.unravel_index(hw.zeros(2, dtype=hw.int64), (2, 0)), RuntimeError, "has no elements to index"),
            (lambda hw: hw.unravel_index(hw.ones(2), (2, 2)), TypeError, "indices")])
op_test("index_reduce", torch=torch.index_reduce, dtypes=("float32", "float64", "int64"), grad=True, grad_args=(0, 3), strided=False, samples=lambda: [
    Sample(permutation(3, 4), 0, np.array([2, 0, 2]), permutation(3, 4) + 0.05, how, include_self=own, sample_dtypes=("float32", "float64"))
    for how in ("mean", "amax", "amin", "prod") for own in (True, False)] + [
    Sample(integers(0, 9, 2, 5), 1, fixed(np.array([4, 1])), integers(0, 9, 2, 2), "amax", sample_dtypes=("int64",))],
    errors=[(lambda hw: hw.index_reduce(hw.ones(3), 0, hw.tensor([0]), hw.ones(1), "sum"), RuntimeError, "reduce must be"),
            (lambda hw: hw.index_reduce(hw.ones(3), 0, hw.tensor([0]), hw.ones(2), "mean"), RuntimeError, "expected [1]")])
