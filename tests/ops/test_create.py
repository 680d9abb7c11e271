"""Making tensors without data."""

import numpy as np
import torch

import headwater as hw
from harness import Sample, op_test, randn

MADE = {"dtypes": ("float32",), "sbp": False}


def made(name, samples, oracle=None, **options):
    def torch_dtype(kwargs):
        return {k: getattr(torch, v.name) if isinstance(v, hw.dtype) else v for k, v in kwargs.items()}

    oracle = oracle or getattr(torch, name)
    op_test(name, torch=lambda *a, **k: oracle(*a, **torch_dtype(k)), samples=samples, **{**MADE, **options})


made(
    "zeros",
    lambda: [Sample((2, 3)), Sample(2, 3), Sample(()), Sample(0, dtype=hw.int64)],
    errors=[(lambda hw: hw.zeros(-1), RuntimeError, "negative"), (lambda hw: hw.zeros("a"), TypeError, "size")],
)
made(
    "ones",
    lambda: [Sample((2, 3)), Sample(2, 3, dtype=hw.bool), Sample(2, dtype=hw.complex64), Sample(2, dtype=hw.bfloat16)],
)
made(
    "full",
    lambda: [
        Sample((2, 3), 1.5),
        Sample((2,), 3),
        Sample((), True),
        Sample((2,), 1 + 2j),
        Sample((3,), 1.5, dtype=hw.int32),
    ],
)
made("zeros_like", lambda: [Sample(randn(2, 3)), Sample(randn(2), dtype=hw.int64)], dtypes=("float32", "int64", "bool"))
made("ones_like", lambda: [Sample(randn(2, 3)), Sample(randn(2), dtype=hw.int64)], dtypes=("float32", "int64", "bool"))
made("full_like", lambda: [Sample(randn(2, 3), 2.5), Sample(randn(2), 3, dtype=hw.int64)], dtypes=("float32", "int64"))
for _name in ("new_zeros", "new_ones"):
    made(
        _name,
        lambda: [Sample(randn(2), (2, 3)), Sample(randn(2), (2,), dtype=hw.int64)],
        oracle=getattr(torch.Tensor, _name),
        dtypes=("float32", "int64"),
    )
made("new_full", lambda: [Sample(randn(2), (2, 3), 7)], oracle=torch.Tensor.new_full, dtypes=("float32", "int64"))
made("scalar_tensor", lambda: [Sample(3), Sample(2.5, dtype=hw.float64), Sample(3, dtype=hw.int64)])
made(
    "arange",
    lambda: [
        Sample(5),
        Sample(1, 4),
        Sample(1, 2, 0.25),
        Sample(5, 0, -2),
        Sample(0),
        Sample(1, 4, dtype=hw.float32),
        Sample(2.5),
        Sample(0, 1, 0.1, dtype=hw.float64),
        Sample(end=4),
    ],
    errors=[
        (lambda hw: hw.arange(0, 5, 0), RuntimeError, "zero"),
        (lambda hw: hw.arange(0, 5, -1), RuntimeError, "leads away"),
        (lambda hw: hw.arange(0, float("inf")), RuntimeError, "finite"),
    ],
)
made(
    "linspace",
    lambda: [
        Sample(0, 1, 5),
        Sample(-1, 2, 4, dtype=hw.float64),
        Sample(3, 3, 1),
        Sample(0, 1, 0),
        Sample(0, 10, 5, dtype=hw.int64),
    ],
    errors=[(lambda hw: hw.linspace(0, 1, -1), RuntimeError, "steps")],
)
made("logspace", lambda: [Sample(0, 2, 3), Sample(0, 3, 4, 2.0, dtype=hw.float64)], tol=1e-5)
made(
    "eye",
    lambda: [Sample(3), Sample(2, 3), Sample(3, 2, dtype=hw.int64), Sample(0)],
    errors=[(lambda hw: hw.eye(-1), RuntimeError, "negative")],
)
made("tril_indices", lambda: [Sample(3, 4), Sample(4, 3, 1), Sample(3, 3, -1), Sample(0, 3)])
made("triu_indices", lambda: [Sample(3, 4), Sample(4, 3, 1), Sample(3, 3, -1), Sample(3, 3, 1, dtype=hw.int32)])
op_test(
    "complex",
    torch=torch.complex,
    samples=lambda: [Sample(randn(2, 3), randn(2, 3)), Sample(randn(), randn())],
    dtypes=("float32", "float64"),
    errors=[(lambda hw: hw.complex(hw.ones(2), hw.ones(2, dtype=hw.float64)), RuntimeError, "alike")],
)
op_test(
    "polar",
    torch=torch.polar,
    samples=lambda: [Sample(np.abs(randn(2, 3)), randn(2, 3))],
    dtypes=("float32", "float64"),
)


op_test(
    "fill_",
    torch=lambda x, v: x.clone().fill_(v),
    function=lambda x, v: x.clone().fill_(v),
    samples=lambda: [Sample(randn(2, 3), 2), Sample(randn(), 1.5)],
    dtypes=("float32", "bfloat16", "int64", "complex64"),
)
op_test(
    "copy_",
    torch=lambda x, y: x.clone().copy_(y),
    function=lambda x, y: x.clone().copy_(y),
    samples=lambda: [Sample(randn(2, 3), randn(2, 3)), Sample(randn(2, 3), randn(3)), Sample(randn(2, 3), 2)],
    dtypes=("float32", "bfloat16", "int64", "complex64"),
    grad=True,
    errors=[(lambda hw: hw.ones(2).copy_(hw.ones(3)), RuntimeError, "sizes")],
)
op_test(
    "zero_",
    torch=lambda x: x.clone().zero_(),
    function=lambda x: x.clone().zero_(),
    samples=lambda: [Sample(randn(2, 3)), Sample(randn(0))],
    dtypes=("float32", "bool"),
)


def shape_only(name, oracle, samples):
    op_test(
        name,
        numpy=lambda *a, **k: np.zeros(oracle(*a, **k)),
        samples=samples,
        dtypes=("float32",),
        random=True,
        strided=False,
        sbp=False,
        function=lambda *a, **k: getattr(hw, name)(*a, **k) * 0,
    )


shape_only("empty", lambda size: size, lambda: [Sample((2, 3)), Sample((0,))])
shape_only("empty_like", lambda x: x.shape, lambda: [Sample(randn(2, 3))])
shape_only("new_empty", lambda x, size: size, lambda: [Sample(randn(2), (2, 3))])
shape_only("empty_strided", lambda size, stride: size, lambda: [Sample((2, 3), (1, 2))])


def test_empty_strided_has_the_strides() -> None:
    assert hw.empty_strided((2, 3), (1, 2)).stride() == (1, 2)


def test_keywords() -> None:
    assert hw.zeros(2, requires_grad=True).requires_grad
    assert hw.ones_like(hw.zeros(2), requires_grad=True).requires_grad
    assert hw.zeros(2, device="cpu").shape == (2,)
    assert hw.tensor([1.0]).new_tensor([2]).dtype is hw.float32
    assert hw.zeros(2).fill_(3).tolist() == [3, 3]
    assert hw.ones(2).zero_().tolist() == [0, 0]

op_test("vander", torch=torch.vander, dtypes=("float32", "float64", "complex64", "int64", "int32", "bool"), grad=True, grad_args=(0,), samples=lambda: [
    Sample(randn(4)), Sample(randn(3), 5), Sample(randn(3), 2, True), Sample(randn(2), 0), Sample(randn(2), 1), Sample(randn(0), 3), Sample(np.array([0.0, 2.0]), 3)],
    errors=[(lambda hw: hw.vander(hw.ones(2, 2)), RuntimeError, "must be 1-d"), (lambda hw: hw.vander(hw.ones(2), -1), RuntimeError, "N cannot be negative")])
