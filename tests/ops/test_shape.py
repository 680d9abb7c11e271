"""Ops that move elements: views, joining, splitting, padding."""

import numpy as np
import torch

from harness import COMPLEX, Sample, fixed, integers, op_test, randn

NUMBERS = ("float32", "bfloat16", "float64", "int64", "bool", "complex64")
MOVED = {"dtypes": NUMBERS, "grad": True, "grad2": True}


def shaped(name, oracle, samples, **options):
    op_test(name, torch=oracle, samples=samples, **{**MOVED, **options})


shaped(
    "permute",
    torch.permute,
    lambda: [
        Sample(randn(2, 3, 4), (2, 0, 1)),
        Sample(randn(3, 4), (-1, 0)),
        Sample(randn(), ()),
        Sample(randn(0, 3), (1, 0)),
    ],
    errors=[
        (lambda hw: hw.permute(hw.ones(2, 3), (0, 0)), RuntimeError, "twice"),
        (lambda hw: hw.permute(hw.ones(2, 3), (0,)), RuntimeError, "axes"),
        (lambda hw: hw.permute(hw.ones(2, 3), (0, 5)), IndexError, "axis 5"),
    ],
)
shaped(
    "transpose",
    torch.transpose,
    lambda: [
        Sample(randn(2, 3, 4), 0, -1),
        Sample(randn(3, 4), 1, 0),
        Sample(randn(), 0, -1),
        Sample(randn(0, 3), 0, 1),
    ],
    errors=[(lambda hw: hw.transpose(hw.ones(2), 0, 1), IndexError, "axis 1")],
)
shaped(
    "t",
    torch.t,
    lambda: [Sample(randn(2, 3)), Sample(randn(3)), Sample(randn())],
    errors=[(lambda hw: hw.t(hw.ones(2, 2, 2)), RuntimeError, "two axes")],
)
shaped("adjoint", torch.adjoint, lambda: [Sample(randn(2, 3)), Sample(randn(2, 3, 4))])
shaped(
    "movedim",
    torch.movedim,
    lambda: [Sample(randn(2, 3, 4), 0, 2), Sample(randn(2, 3, 4), (0, 1), (-1, 0)), Sample(randn(2), 0, 0)],
    errors=[(lambda hw: hw.movedim(hw.ones(2, 3), (0, 0), (0, 1)), RuntimeError, "twice")],
)
shaped(
    "expand",
    torch.Tensor.expand,
    lambda: [
        Sample(randn(3, 1), (-1, 4)),
        Sample(randn(1), (2, 3)),
        Sample(randn(), (2,)),
        Sample(randn(2, 3), (4, -1, -1)),
        Sample(randn(1, 3), (0, 3)),
    ],
    errors=[
        (lambda hw: hw.expand(hw.ones(3), (2,)), RuntimeError, "size 2"),
        (lambda hw: hw.expand(hw.ones(3), (-1, 3)), RuntimeError, "new axis"),
    ],
)
shaped("expand_as", torch.Tensor.expand_as, lambda: [Sample(randn(3, 1), randn(3, 4))], grad_args=(0,))
shaped("view_as", torch.Tensor.view_as, lambda: [Sample(randn(2, 6), randn(3, 4))], grad_args=(0,), strided=False)
shaped("reshape_as", torch.Tensor.reshape_as, lambda: [Sample(randn(2, 6), randn(3, 4))], grad_args=(0,))
shaped("broadcast_to", torch.broadcast_to, lambda: [Sample(randn(3, 1), (2, 3, 4)), Sample(randn(), (2,))])
shaped("broadcast_tensors", torch.broadcast_tensors, lambda: [Sample(randn(3, 1), randn(4)), Sample(randn(), randn(2))])
shaped(
    "unsqueeze",
    torch.unsqueeze,
    lambda: [
        Sample(randn(2, 3), 0),
        Sample(randn(2, 3), -1),
        Sample(randn(2, 3), 1),
        Sample(randn(), 0),
        Sample(randn(0), 1),
    ],
    errors=[(lambda hw: hw.unsqueeze(hw.ones(2), 3), IndexError, "axis 3")],
)
shaped(
    "squeeze",
    torch.squeeze,
    lambda: [
        Sample(randn(1, 3, 1)),
        Sample(randn(1, 3, 1), 0),
        Sample(randn(1, 3, 1), 1),
        Sample(randn(1, 3, 1), (0, -1)),
        Sample(randn()),
        Sample(randn(), 0),
    ],
)
shaped(
    "reshape",
    torch.reshape,
    lambda: [
        Sample(randn(2, 6), (3, -1)),
        Sample(randn(), (1, 1)),
        Sample(randn(0, 3), (3, 0)),
        Sample(randn(4), (2, 2)),
    ],
    errors=[
        (lambda hw: hw.reshape(hw.ones(6), (4, 2)), RuntimeError, "6"),
        (lambda hw: hw.reshape(hw.ones(6), (-1, -1)), RuntimeError, "only one size"),
    ],
)
op_test(
    "view",
    torch=torch.Tensor.view,
    samples=lambda: [Sample(randn(2, 6), (3, -1)), Sample(randn(4), (2, 2)), Sample(randn(), (1,))],
    **MOVED,
    strided=False,
)
shaped(
    "flatten",
    torch.flatten,
    lambda: [Sample(randn(2, 3, 4)), Sample(randn(2, 3, 4), 1), Sample(randn(2, 3, 4), 0, 1), Sample(randn())],
    errors=[(lambda hw: hw.flatten(hw.ones(2, 3), 1, 0), RuntimeError, "start_dim")],
)
shaped("unflatten", torch.unflatten, lambda: [Sample(randn(2, 6), 1, (2, 3)), Sample(randn(6, 2), 0, (-1, 2))])
shaped("ravel", torch.ravel, lambda: [Sample(randn(2, 3)), Sample(randn())])
shaped("contiguous", torch.Tensor.contiguous, lambda: [Sample(randn(2, 3)), Sample(randn())])
shaped(
    "narrow",
    torch.narrow,
    lambda: [Sample(randn(4, 3), 0, 1, 2), Sample(randn(4, 3), 1, -2, 2), Sample(randn(4), 0, 4, 0)],
    errors=[
        (lambda hw: hw.narrow(hw.ones(4), 0, 2, 3), RuntimeError, "exceeds"),
        (lambda hw: hw.narrow(hw.ones(4), 0, 5, 0), IndexError, "start 5"),
    ],
)
shaped(
    "select",
    torch.select,
    lambda: [Sample(randn(4, 3), 0, 1), Sample(randn(4, 3), -1, -1), Sample(randn(3), 0, 2)],
    errors=[(lambda hw: hw.select(hw.ones(4), 0, 4), IndexError, "index 4 is out of range for axis 0 with size 4")],
)
shaped(
    "as_strided",
    torch.as_strided,
    lambda: [
        Sample(randn(12), (3, 2), (4, 1), 1),
        Sample(randn(3, 4), (2, 2), (1, 1)),
        Sample(randn(12), (2, 0), (1, 1)),
    ],
    strided=False,
    errors=[(lambda hw: hw.as_strided(hw.ones(4), (5,), (1,)), ValueError, "beyond")],
)
shaped(
    "diagonal",
    torch.diagonal,
    lambda: [
        Sample(randn(3, 4)),
        Sample(randn(3, 4), 1),
        Sample(randn(3, 4), -1),
        Sample(randn(2, 3, 4), 0, 1, 2),
        Sample(randn(2, 3, 4), 1, -1, 0),
        Sample(randn(3, 4), 7),
    ],
    errors=[
        (lambda hw: hw.diagonal(hw.ones(3)), IndexError, "two axes"),
        (lambda hw: hw.diagonal(hw.ones(3, 3), 0, 1, 1), RuntimeError, "differ"),
    ],
)
shaped(
    "unfold",
    torch.Tensor.unfold,
    lambda: [
        Sample(randn(7), 0, 3, 2),
        Sample(randn(2, 6), 1, 2, 1),
        Sample(randn(6, 2), 0, 2, 3),
        Sample(randn(4), 0, 4, 1),
    ],
    errors=[
        (lambda hw: hw.unfold(hw.ones(4), 0, 5, 1), RuntimeError, "size 5"),
        (lambda hw: hw.unfold(hw.ones(4), 0, 2, 0), RuntimeError, "step"),
    ],
)
op_test(
    "view_as_real", torch=torch.view_as_real, samples=lambda: [Sample(randn(2, 3)), Sample(randn())], dtypes=COMPLEX
)
op_test(
    "view_as_complex",
    torch=torch.view_as_complex,
    samples=lambda: [Sample(randn(3, 2)), Sample(randn(2))],
    dtypes=("float32", "float64"),
    strided=False,
    errors=[(lambda hw: hw.view_as_complex(hw.ones(3)), RuntimeError, "size 2")],
)
shaped(
    "cat",
    lambda tensors, dim=0: torch.cat(tensors, dim),
    lambda: [
        Sample([randn(2, 3), randn(4, 3)]),
        Sample([randn(2, 3), randn(2, 1), randn(2, 2)], 1),
        Sample([randn(2)]),
        Sample([randn(0), randn(2, 3)]),
        Sample([randn(2, 3), randn(0, 3)]),
        Sample([randn(2, 3, 2), randn(2, 1, 2)], -2),
    ],
    errors=[
        (lambda hw: hw.cat([]), RuntimeError, "empty"),
        (lambda hw: hw.cat([hw.ones(2, 3), hw.ones(3, 2)]), RuntimeError, "size 2"),
        (lambda hw: hw.cat([hw.ones(())]), RuntimeError, "stack"),
        (lambda hw: hw.cat(hw.ones(2)), TypeError, "list"),
    ],
)
shaped(
    "stack",
    lambda tensors, dim=0: torch.stack(tensors, dim),
    lambda: [Sample([randn(2, 3), randn(2, 3)]), Sample([randn(2), randn(2)], -1), Sample([randn(), randn(), randn()])],
    errors=[(lambda hw: hw.stack([hw.ones(2), hw.ones(3)]), RuntimeError, "one shape")],
)
for _name in ("hstack", "vstack", "dstack", "column_stack"):
    shaped(
        _name,
        lambda tensors, _f=getattr(torch, _name): _f(tensors),
        lambda: [Sample([randn(2, 3), randn(2, 3)]), Sample([randn(3), randn(3)]), Sample([randn(), randn()])],
    )
shaped(
    "flip",
    torch.flip,
    lambda: [
        Sample(randn(2, 3), (0,)),
        Sample(randn(2, 3, 4), (0, -1)),
        Sample(randn(2), ()),
        Sample(randn(), ()),
        Sample(randn(0, 2), (0,)),
    ],
    errors=[(lambda hw: hw.flip(hw.ones(2, 2), (0, 0)), RuntimeError, "twice")],
)
shaped("fliplr", torch.fliplr, lambda: [Sample(randn(2, 3))])
shaped("flipud", torch.flipud, lambda: [Sample(randn(2, 3))])
shaped(
    "rot90",
    torch.rot90,
    lambda: [
        Sample(randn(2, 3), 1),
        Sample(randn(2, 3), 2),
        Sample(randn(2, 3, 2), -1, (1, 2)),
        Sample(randn(2, 3), 4),
    ],
)
shaped(
    "roll",
    torch.roll,
    lambda: [
        Sample(randn(2, 3), 1),
        Sample(randn(2, 3), (1, -2), (0, 1)),
        Sample(randn(5), -7, 0),
        Sample(randn(0), 1),
    ],
)
shaped(
    "repeat",
    torch.Tensor.repeat,
    lambda: [
        Sample(randn(2, 3), (2, 2)),
        Sample(randn(3), (2, 1, 3)),
        Sample(randn(), (2,)),
        Sample(randn(2), (0,)),
        Sample(randn(2), (1,)),
    ],
    errors=[(lambda hw: hw.repeat(hw.ones(2, 2), (2,)), RuntimeError, "fewer")],
)
shaped("tile", torch.tile, lambda: [Sample(randn(2, 3), (2,)), Sample(randn(2), (2, 2))])
shaped(
    "repeat_interleave",
    lambda x, n, dim=None: torch.repeat_interleave(x, n, dim),
    lambda: [Sample(randn(2, 3), 2), Sample(randn(2, 3), 2, 1), Sample(randn(3), fixed(np.array([1, 0, 2])), 0, sample_captured=False)],
    grad_args=(0,),
)
shaped(
    "split",
    torch.split,
    lambda: [Sample(randn(5, 2), 2), Sample(randn(5, 2), [1, 4]), Sample(randn(2, 5), 3, 1), Sample(randn(0), 2)],
    errors=[(lambda hw: hw.split(hw.ones(5), [1, 2]), RuntimeError, "sum to 3")],
)
shaped("split_with_sizes", torch.split_with_sizes, lambda: [Sample(randn(5, 2), [1, 4])])
shaped("chunk", torch.chunk, lambda: [Sample(randn(5, 2), 2), Sample(randn(2, 6), 3, 1), Sample(randn(0), 2)])
shaped(
    "tensor_split",
    torch.tensor_split,
    lambda: [Sample(randn(5), 3), Sample(randn(5, 2), (1, 3)), Sample(randn(2, 5), 2, 1)],
)
shaped("hsplit", torch.hsplit, lambda: [Sample(randn(2, 4), 2), Sample(randn(5), (1, 3)), Sample(randn(2, 5, 2), [2])],
       errors=[(lambda hw: hw.hsplit(hw.ones(2, 3), 2), RuntimeError, "equal pieces"), (lambda hw: hw.hsplit(hw.tensor(1), 2), RuntimeError, "at least 1")])
shaped("vsplit", torch.vsplit, lambda: [Sample(randn(4, 2), 2), Sample(randn(5, 1), (1, 3))],
       errors=[(lambda hw: hw.vsplit(hw.ones(2, 3), 1.5), TypeError, "int or a list")])
shaped("dsplit", torch.dsplit, lambda: [Sample(randn(1, 2, 4), 2), Sample(randn(2, 1, 5), (1, 3))])
shaped("unbind", torch.unbind, lambda: [Sample(randn(3, 2)), Sample(randn(3, 2), 1)])
shaped("atleast_1d", torch.atleast_1d, lambda: [Sample(randn()), Sample(randn(2))])
shaped("atleast_2d", torch.atleast_2d, lambda: [Sample(randn()), Sample(randn(2)), Sample(randn(2, 3))])
shaped("atleast_3d", torch.atleast_3d, lambda: [Sample(randn()), Sample(randn(2)), Sample(randn(2, 3))])
shaped(
    "tril",
    torch.tril,
    lambda: [
        Sample(randn(3, 4)),
        Sample(randn(4, 3), 1),
        Sample(randn(2, 3, 3), -1),
        Sample(randn(2, 2), 9),
        Sample(randn(0, 3)),
    ],
    errors=[(lambda hw: hw.tril(hw.ones(3)), RuntimeError, "two axes")],
)
shaped(
    "triu",
    torch.triu,
    lambda: [
        Sample(randn(3, 4)),
        Sample(randn(4, 3), 1),
        Sample(randn(2, 3, 3), -1),
        Sample(randn(2, 2), 9),
        Sample(randn(0, 3)),
    ],
)
shaped(
    "diag", torch.diag, lambda: [Sample(randn(3)), Sample(randn(3), 1), Sample(randn(3, 4)), Sample(randn(3, 4), -1)]
)
shaped("diag_embed", torch.diag_embed, lambda: [Sample(randn(3)), Sample(randn(2, 3), 1), Sample(randn(2, 3), 0, 0, 2)])
shaped("diagflat", torch.diagflat, lambda: [Sample(randn(2, 2)), Sample(randn(3), -1)])
shaped(
    "meshgrid",
    torch.meshgrid,
    lambda: [Sample(randn(2), randn(3), indexing="ij"), Sample(randn(2), randn(3), indexing="xy")],
)
shaped("cartesian_prod", torch.cartesian_prod, lambda: [Sample(randn(2), randn(3)), Sample(randn(2))])
shaped("block_diag", torch.block_diag, lambda: [Sample(randn(2, 3), randn(1, 2)), Sample(randn(2, 2), randn(2))])
shaped(
    "pad",
    torch.nn.functional.pad,
    lambda: [
        Sample(randn(2, 3), (1, 2)),
        Sample(randn(2, 3), (1, 0, 0, 2), "constant", 1.0),
        Sample(randn(3, 4), (-1, 1)),
        Sample(randn(0, 2), (1, 1)),
    ],
    grad2=True,
    errors=[
        (lambda hw: hw.pad(hw.ones(3), (1,)), RuntimeError, "two numbers"),
        (lambda hw: hw.pad(hw.ones(3), (3, 0), "reflect"), RuntimeError, "at most 2"),
    ],
)
op_test(
    "one_hot",
    torch=torch.nn.functional.one_hot,
    samples=lambda: [Sample(integers(0, 4, 3), sample_captured=False), Sample(integers(0, 4, 2, 3), 5)],
    dtypes=("int64",),
    errors=[(lambda hw: hw.one_hot(hw.tensor([3]), 2), RuntimeError, "class numbers")],
)


def test_pad_modes() -> None:
    import headwater as hw

    for mode in ("reflect", "replicate", "circular"):
        for shape, pad in (((1, 2, 5), (2, 3)), ((1, 2, 4, 5), (1, 2, 3, 0)), ((1, 1, 3, 4, 3), (1, 1, 2, 0, 1, 2))):
            x = np.random.default_rng(0).standard_normal(shape)
            t, h = torch.tensor(x, requires_grad=True), hw.tensor(x, requires_grad=True)
            want, got = torch.nn.functional.pad(t, pad, mode), hw.pad(h, pad, mode)
            np.testing.assert_array_equal(got.detach().numpy(), want.detach().numpy())
            weight = np.random.default_rng(1).standard_normal(want.shape)
            (want * torch.tensor(weight)).sum().backward()
            (got * hw.tensor(weight)).sum().backward()
            np.testing.assert_allclose(h.grad.numpy(), t.grad.numpy(), rtol=1e-12)


def test_views_share_memory() -> None:
    import headwater as hw

    x = hw.zeros(3, 4)
    for view in (
        x.permute(1, 0),
        x.transpose(0, 1),
        x.unsqueeze(0),
        x.narrow(0, 1, 1),
        x.select(0, 1),
        x.diagonal(),
        x.view(4, 3),
        x.reshape(-1),
        x.unfold(1, 2, 1),
        x.split(2)[0],
        x.view(hw.int32),
        x.flatten(),
    ):
        view.zero_() if view.dtype is hw.int32 else view.copy_(hw.full((), 2.0))
        assert (x.numpy() != 0).any() == (view.dtype is not hw.int32)
        x.zero_()
    x.select(0, 1).copy_(hw.ones(4))
    assert x.tolist()[1] == [1.0] * 4
    assert x.contiguous() is x
    assert x.transpose(0, 1).contiguous() is not x


def test_view_dtype() -> None:
    import headwater as hw

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for d in ("int32", "uint8", "int16", "float64"):
        got, want = hw.tensor(x).view(getattr(hw, d)), torch.tensor(x).view(getattr(torch, d))
        np.testing.assert_array_equal(got.numpy(), want.numpy())
    assert hw.tensor(x).view(dtype=hw.int32).dtype is hw.int32

op_test("slice_scatter", torch=torch.slice_scatter, dtypes=("float32", "bfloat16", "float64", "int64", "bool"), grad=True, grad2=True, samples=lambda: [
    Sample(randn(4, 3), randn(2, 3), 0, 1, 3), Sample(randn(4, 6), randn(4, 2), 1, -5, None, 3), Sample(randn(4, 3), randn(4, 3)),
    Sample(randn(4), randn(0), 0, 3, 1), Sample(randn(4), randn(1), start=3, end=90)],
    errors=[(lambda hw: hw.slice_scatter(hw.ones(4), hw.ones(3), 0, 1, 3), RuntimeError, "src has shape [3], the slice [2]"),
            (lambda hw: hw.slice_scatter(hw.ones(4), hw.ones(4), step=0), RuntimeError, "step must be positive")])
op_test("select_scatter", torch=torch.select_scatter, dtypes=("float32", "bfloat16", "float64", "int64", "bool"), grad=True, grad2=True,
        samples=lambda: [Sample(randn(4, 3), randn(3), 0, 1), Sample(randn(2, 4, 3), randn(2, 4), -1, -2), Sample(randn(3), randn(), 0, 0)],
        errors=[(lambda hw: hw.select_scatter(hw.ones(4, 3), hw.ones(3), 0, 4), IndexError, "index 4 is out of range for axis 0 of size 4"),
                (lambda hw: hw.select_scatter(hw.ones(4, 3), hw.ones(4), 0, 1), RuntimeError, "src has shape [4]")])
op_test("diagonal_scatter", torch=torch.diagonal_scatter, dtypes=("float32", "bfloat16", "float64", "int64", "bool"), grad=True, grad2=True,
        samples=lambda: [Sample(randn(3, 3), randn(3)), Sample(randn(3, 4), randn(2), 2), Sample(randn(2, 3, 4), randn(3, 2), -1, 2, 0)],
        errors=[(lambda hw: hw.diagonal_scatter(hw.ones(3, 3), hw.ones(2)), RuntimeError, "src has shape [2], the diagonal [3]")])
