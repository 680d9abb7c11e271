"""Linear algebra. An operator named linalg_x is x here; what stands here only chooses among operators.

>>> hw.linalg.solve(hw.tensor([[2.0, 0.0], [0.0, 4.0]]), hw.tensor([2.0, 2.0]))
tensor([1.0000, 0.5000])
"""

from __future__ import annotations

from typing import Any

from . import _C

inv = _C.op_function_of("linalg_inv", False)
solve = _C.op_function_of("linalg_solve", False)
det = _C.op_function_of("linalg_det", False)
vector_norm = _C.op_function_of("linalg_vector_norm", False)
matrix_power = _C.op_function_of("matrix_power", False)

_matrix_norm = _C.op_function_of("linalg_matrix_norm", False)
_cross = _C.op_function_of("cross", False)
_diagonal = _C.op_function_of("diagonal", False)

__all__ = ["cross", "det", "diagonal", "inv", "matrix_norm", "matrix_power", "norm", "solve", "vector_norm"]


def cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """The cross products of the vectors of three elements along `dim`."""
    return _cross(input, other, dim)


def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:  # noqa: N803  torch's name
    """A view of the diagonals of the matrices in the last two axes."""
    return _diagonal(A, offset, dim1, dim2)


def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: N803
    """Norms of matrices: ord is 'fro', 1, -1, inf or -inf; those that need singular values raise NotImplementedError."""
    return _matrix_norm(A, ord if isinstance(ord, str) else f"{ord:g}", dim, keepdim, dtype=dtype)


def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: N803
    """vector_norm over one axis or, without ord, over all that `dim` names; else matrix_norm over two axes."""
    one_axis = isinstance(dim, int) or len(dim) == 1 if dim is not None else isinstance(A, _C.Tensor) and A.ndim == 1
    if ord is None or one_axis:
        return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)


def install(namespace: dict[str, Any], tensor: type) -> None:
    """det and inverse, which torch also has outside of linalg."""
    for name, function in (("det", det), ("inverse", inv)):
        namespace[name] = function
        setattr(tensor, name, function)
