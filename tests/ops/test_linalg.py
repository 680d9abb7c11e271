"""Matrix products against torch."""
from __future__ import annotations

import numpy as np
import torch

import headwater as hw
from harness import COMPLEX, FLOATS, Sample, integers, op_test, randn

TYPES = FLOATS + ("complex128", "int64")
TOL = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 1e-4, "float64": 1e-9, "complex64": 1e-4, "complex128": 1e-9, "int64": 0}


def ints(*shapes: tuple[int, ...]) -> Sample:
    return Sample(*[integers(-5, 6, *s) for s in shapes], sample_dtypes=("int64",), sample_grad=False)


def floats(*shapes: tuple[int, ...], **kwargs) -> Sample:
    return Sample(*[randn(*s) for s in shapes], sample_dtypes=FLOATS + COMPLEX, **kwargs)


op_test("mm", torch=torch.mm, dtypes=TYPES, grad=True, grad2=True, tol=TOL,
        samples=lambda: [floats((3, 4), (4, 5)), floats((1, 40), (40, 17)), floats((33, 7), (7, 1)), floats((0, 3), (3, 2)),
                         floats((2, 0), (0, 3)), ints((3, 4), (4, 5))],
        errors=[(lambda hw: hw.mm(hw.full((2, 3,), 1.0), hw.full((2, 3,), 1.0)), RuntimeError, "inner sizes differ: input has 3 columns, mat2 has 2 rows"),
                (lambda hw: hw.mm(hw.full((2, 3,), 1.0), hw.full((3,), 1.0)), RuntimeError, "must have 2 axes"),
                (lambda hw: hw.mm(hw.full((2, 3,), 1.0), hw.full((3, 2,), 1.0, dtype=hw.float64)), RuntimeError, "same dtype")])
op_test("bmm", torch=torch.bmm, dtypes=TYPES, grad=True, grad2=True, tol=TOL,
        samples=lambda: [floats((2, 3, 4), (2, 4, 5)), floats((5, 1, 20), (5, 20, 33)), floats((0, 3, 4), (0, 4, 5)),
                         floats((2, 3, 0), (2, 0, 5)), ints((2, 3, 4), (2, 4, 5))],
        errors=[(lambda hw: hw.bmm(hw.full((2, 3, 4,), 1.0), hw.full((3, 4, 5,), 1.0)), RuntimeError, "batch sizes differ")])
op_test("_bmm_batches", torch=torch.matmul, function=lambda *t: hw._C.run_op("_bmm_batches", list(t))[0], dtypes=TYPES, grad=True, grad2=True, tol=TOL,
        samples=lambda: [floats((2, 6, 3, 4), (2, 6, 4, 5)), floats((5, 1, 20), (5, 20, 33)), floats((2, 0, 3, 4), (2, 0, 4, 5)),
                         floats((2, 3, 2, 3, 4), (2, 3, 2, 4, 5)), ints((2, 3, 3, 4), (2, 3, 4, 5))])
op_test("addmm", torch=torch.addmm, dtypes=TYPES, grad=True, grad2=True, tol=TOL,
        samples=lambda: [floats((3, 5), (3, 4), (4, 5)), floats((5,), (3, 4), (4, 5), beta=0.5, alpha=2.0),
                         floats((3, 1), (3, 4), (4, 5), alpha=-1), floats((), (3, 0), (0, 5)), ints((5,), (3, 4), (4, 5))],
        errors=[(lambda hw: hw.addmm(hw.full((4,), 1.0), hw.full((2, 3,), 1.0), hw.full((3, 2,), 1.0)), (RuntimeError, ValueError), "broadcast")])
op_test("baddbmm", torch=torch.baddbmm, dtypes=TYPES, grad=True, grad2=True, tol=TOL,
        samples=lambda: [floats((2, 3, 5), (2, 3, 4), (2, 4, 5)), floats((1, 5), (2, 3, 4), (2, 4, 5), beta=0.5, alpha=2.0),
                         ints((2, 3, 5), (2, 3, 4), (2, 4, 5))])
op_test("linear", torch=torch.nn.functional.linear, dtypes=FLOATS + ("complex128",), grad=True, grad2=True, tol=TOL,
        samples=lambda: [floats((3, 4), (5, 4), (5,)), floats((2, 3, 4), (5, 4)), floats((4,), (5, 4), (5,)), floats((0, 4), (5, 4), (5,)),
                         floats((2, 2, 2, 33), (7, 33), (7,))],
        errors=[(lambda hw: hw.linear(hw.full((2, 3,), 1.0), hw.full((4, 5,), 1.0)), RuntimeError, "input has 3 features, weight takes 5"),
                (lambda hw: hw.linear(hw.full((2, 3,), 1.0), hw.full((4, 3,), 1.0), hw.full((3,), 1.0)), RuntimeError, "does not fit a weight with 4 rows")])
op_test("matmul", torch=torch.matmul, dtypes=TYPES, grad=True, grad2=True, tol=TOL,
        samples=lambda: [floats((4,), (4,)), floats((3, 4), (4,)), floats((4,), (4, 5)), floats((3, 4), (4, 5)), floats((2, 3, 4), (4, 5)),
                         floats((2, 3, 4), (4,)), floats((4,), (2, 4, 5)), floats((2, 1, 3, 4), (5, 4, 2)), floats((3, 4), (2, 4, 5)),
                         floats((0, 3, 4), (4, 5)), ints((2, 3, 4), (2, 4, 5))],
        errors=[(lambda hw: hw.matmul(hw.full((4, 3,), 1.0), hw.full((5, 2,), 1.0)), RuntimeError,
                 "matmul(input=f32[4, 3], other=f32[5, 2]): inner sizes differ"),
                (lambda hw: hw.matmul(hw.full((), 1.0), hw.full((2,), 1.0)), RuntimeError, "at least one axis")])
op_test("dot", torch=torch.dot, dtypes=TYPES, grad=True, grad2=True, tol=TOL, samples=lambda: [floats((7,), (7,)), floats((0,), (0,)), ints((7,), (7,))])
op_test("vdot", torch=torch.vdot, dtypes=TYPES, grad=True, grad2=True, tol=TOL, samples=lambda: [floats((7,), (7,)), ints((7,), (7,))])
op_test("mv", torch=torch.mv, dtypes=TYPES, grad=True, grad2=True, tol=TOL, samples=lambda: [floats((3, 7), (7,)), ints((3, 7), (7,))])
op_test("addmv", torch=torch.addmv, dtypes=TYPES, grad=True, grad2=True, tol=TOL,
        samples=lambda: [floats((3,), (3, 7), (7,)), floats((), (3, 7), (7,), beta=2, alpha=0.5), ints((3,), (3, 7), (7,))])
op_test("outer", torch=torch.outer, dtypes=TYPES, grad=True, grad2=True, tol=TOL, samples=lambda: [floats((3,), (4,)), ints((3,), (4,))])
op_test("bilinear", torch=torch.nn.functional.bilinear, grad=True, grad2=True, tol=TOL,
        samples=lambda: [floats((2, 3), (2, 4), (5, 3, 4), (5,)), floats((2, 2, 3), (2, 2, 4), (5, 3, 4))])
op_test("tensordot", torch=lambda a, b, x, y: torch.tensordot(a, b, dims=(x, y)), function=lambda a, b, x, y: hw.tensordot(a, b, dims=(x, y)),
        dtypes=TYPES, grad=True, tol=TOL,
        samples=lambda: [Sample(randn(2, 3, 4), randn(4, 3, 5), [1, 2], [1, 0], sample_dtypes=FLOATS + COMPLEX),
                         Sample(randn(2, 3), randn(4), [], [], sample_dtypes=FLOATS + COMPLEX),
                         Sample(integers(-5, 6, 2, 3), integers(-5, 6, 3, 2), [0], [1], sample_dtypes=("int64",))])

EQUATIONS = [("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ii->i", (3, 3)),
             ("ii", (3, 3)), ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("i,j->ij", (2,), (3,)), ("i,i->", (3,), (3,)),
             ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
             ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)), ("ijk,jl->il", (2, 3, 4), (3, 5)), ("iij,jk->ik", (3, 3, 2), (2, 4)),
             ("a...->...a", (2, 3, 4)), ("ij,ij->i", (2, 3), (2, 3)), ("ba,b->a", (0, 3), (0,))]


def _einsum_sample(equation: str, *shapes: tuple[int, ...]) -> Sample:
    return Sample(equation, *[randn(*s) for s in shapes])


op_test("einsum", torch=torch.einsum, function=lambda e, *x: hw.einsum(e, *x), grad=True, grad2=True, tol=TOL, dtypes=FLOATS + ("complex128",),
        samples=lambda: [_einsum_sample(*e) for e in EQUATIONS],
        errors=[(lambda hw: hw.einsum("ij,jk", hw.full((2, 3,), 1.0), hw.full((4, 2,), 1.0)), RuntimeError, "sizes under one label differ: 3 and 4"),
                (lambda hw: hw.einsum("ij,jk", hw.full((2, 3,), 1.0)), RuntimeError, "the equation has 2 operands, 1 were given"),
                (lambda hw: hw.einsum("ij->k", hw.full((2, 3,), 1.0)), RuntimeError, "a label that no operand has"),
                (lambda hw: hw.einsum("i%", hw.full((2, 3,), 1.0)), RuntimeError, "labels are letters")])
op_test("cross", torch=lambda a, b, dim=None: torch.linalg.cross(a, b, dim=0 if dim is None else dim), dtypes=TYPES, grad=True, grad2=True, tol=TOL,
        samples=lambda: [floats((3,), (3,)), floats((3, 2), (3, 2)), floats((2, 3), (2, 3), dim=-1), floats((4, 3, 2), (1, 3, 2), dim=1),
                         floats((0, 3), (0, 3), dim=1), ints((3, 4), (3, 4))],
        errors=[(lambda hw: hw.cross(hw.ones(2, 4), hw.ones(2, 4)), RuntimeError, "has three elements"),
                (lambda hw: hw.cross(hw.ones(2, 3), hw.ones(3)), RuntimeError, "same number of axes"),
                (lambda hw: hw.cross(hw.ones(2, 3), hw.ones(2, 3), 0), RuntimeError, "must have three elements")])
op_test("kron", torch=torch.kron, dtypes=TYPES, grad=True, grad2=True, tol=TOL,
        samples=lambda: [floats((2, 3), (4, 2)), floats((3,), (2, 2)), floats((2, 1, 2), (3,)), floats((), (2, 2)), floats((0, 2), (2, 3)),
                         ints((2, 2), (2, 3))])
op_test("inner", torch=torch.inner, dtypes=TYPES, grad=True, grad2=True, tol=TOL,
        samples=lambda: [floats((4,), (4,)), floats((2, 3), (3,)), floats((2, 3, 4), (5, 4)), floats((), (2, 3)), floats((2, 0), (3, 0)), ints((2, 3), (4, 3))],
        errors=[(lambda hw: hw.inner(hw.ones(2, 3), hw.ones(3, 2)), RuntimeError, "last axes differ")])

def regular(*shape: int) -> np.ndarray:
    """Matrices far from singular; the same row twice would be singular, hence strided=False below."""
    return randn(*shape) + 3 * np.eye(shape[-1])


op_test("linalg_solve", torch=torch.linalg.solve, strided=False, dtypes=("float32", "float64"), grad=True, grad2=True, samples=lambda: [
    Sample(regular(3, 3), randn(3, 2)), Sample(regular(3, 3), randn(3)), Sample(regular(2, 3, 3), randn(2, 3)), Sample(regular(2, 1, 3, 3), randn(4, 3, 2)),
    Sample(regular(3, 3), randn(2, 3), left=False), Sample(regular(40, 40), randn(40, 3), sample_grad=False), Sample(randn(0, 0), randn(0, 2)),
    Sample(np.array([[0.0, 1], [2, 0]]), randn(2, 1)), Sample(regular(5, 2, 2), randn(5, 2, 0))],
    errors=[(lambda hw: hw.linalg_solve(hw.zeros(2, 2), hw.ones(2, 1)), RuntimeError, "matrix 0 is singular: it has no pivot in column 0"),
            (lambda hw: hw.linalg_solve(hw.ones(2, 3), hw.ones(2, 1)), RuntimeError, "one size"),
            (lambda hw: hw.linalg_solve(hw.ones(2, 2), hw.ones(3, 1)), RuntimeError, "B must have the axes of A")])
op_test("_solve", function=hw._C.op_function_of("_solve"), strided=False, torch=torch.linalg.solve, dtypes=("float32", "float64"), grad=True, grad2=True,
        samples=lambda: [Sample(regular(3, 3), randn(3, 2)), Sample(regular(4, 2, 3, 3), randn(4, 2, 3, 2))])
op_test("linalg_inv", torch=torch.linalg.inv, strided=False, dtypes=("float32", "float64"), grad=True, grad2=True,
        samples=lambda: [Sample(regular(3, 3)), Sample(regular(2, 4, 2, 2)), Sample(randn(0, 0)), Sample(randn(0, 3, 3))],
        errors=[(lambda hw: hw.linalg.inv(hw.ones(2, 2)), RuntimeError, "singular")])
op_test("linalg_det", torch=torch.linalg.det, dtypes=("float32", "float64"), grad=True, grad2=True,
        samples=lambda: [Sample(regular(3, 3)), Sample(regular(2, 4, 2, 2)), Sample(np.ones((2, 2)), sample_grad=False), Sample(np.array([[0.0, 1], [1, 0]]))])
op_test("linalg_matrix_norm", torch=lambda a, ord="fro", *rest, **kw: torch.linalg.matrix_norm(a, ord if ord == "fro" else float(ord), *rest, **kw),
        dtypes=("float32", "float64", "complex64"), grad=True, grad_args=(0,), samples=lambda: [
            Sample(randn(3, 4)), Sample(randn(2, 3, 4), "1", (0, 2)), Sample(randn(2, 3, 4), "-1", (-1, 0), True), Sample(randn(2, 3, 4), "inf"),
            Sample(randn(3, 4), "-inf", (1, 0))],
        errors=[(lambda hw: hw.linalg.matrix_norm(hw.ones(2, 2), 2), NotImplementedError, "singular values"),
                (lambda hw: hw.linalg.matrix_norm(hw.ones(2)), RuntimeError, "two axes")])
op_test("matrix_power", torch=torch.matrix_power, strided=False, dtypes=("float32", "float64"), grad=True, grad2=True, tol={"float32": 1e-4},
        samples=lambda: [Sample(regular(3, 3), n) for n in (0, 1, 2, 5, -2)] + [Sample(regular(2, 2, 2), 3)])


def test_the_namespace_is_torchs() -> None:
    x, y = randn(3, 4), randn(4, 3)
    for call in (lambda m, a, b: m.linalg.norm(a), lambda m, a, b: m.linalg.norm(a, 1), lambda m, a, b: m.linalg.norm(a, 3, 1), lambda m, a, b: m.linalg.norm(a, dim=(0, 1)),
                 lambda m, a, b: m.linalg.cross(b, b.flip(0)), lambda m, a, b: m.linalg.diagonal(a, offset=1), lambda m, a, b: (a @ b).det(), lambda m, a, b: (a @ b).inverse(), lambda m, a, b: (a @ b).t().inverse(),
                 lambda m, a, b: m.linalg.vector_norm(a, 3), lambda m, a, b: m.linalg.matrix_norm(a, float("inf"))):
        np.testing.assert_allclose(call(hw, hw.tensor(x), hw.tensor(y)).numpy(), call(torch, torch.tensor(x), torch.tensor(y)).numpy(), rtol=1e-9)
op_test("addr", torch=torch.addr, dtypes=TYPES, grad=True, grad2=True, tol=TOL,
        samples=lambda: [floats((3, 4), (3,), (4,)), floats((4,), (3,), (4,), beta=0.5, alpha=2), floats((), (2,), (2,)), floats((2, 2), (2,), (2,), beta=0, sample_grad=False),
                         ints((2, 3), (2,), (3,))],
        errors=[(lambda hw: hw.addr(hw.ones(2, 2), hw.ones(2, 2), hw.ones(2)), RuntimeError, "must be 1-d"),
                (lambda hw: hw.addr(hw.ones(2, 2, 3), hw.ones(2), hw.ones(3)), RuntimeError, "is larger than the product, which is [2, 3]")])
op_test("addbmm", torch=torch.addbmm, dtypes=TYPES, grad=True, grad2=True, tol=dict.fromkeys(FLOATS[:2], 3e-2) | dict.fromkeys(("float32", "complex64"), 1e-4),
        samples=lambda: [floats((3, 5), (2, 3, 4), (2, 4, 5)), floats((5,), (2, 3, 4), (2, 4, 5), beta=0.5, alpha=2), ints((2, 2), (2, 2, 3), (2, 3, 2))],
        errors=[(lambda hw: hw.addbmm(hw.ones(2, 2), hw.ones(2, 2, 2), hw.ones(3, 2, 2)), RuntimeError, "must be [b, n, m] and [b, m, p]")])
