"""Names under which torch has several functions, told apart by their arguments."""
from __future__ import annotations

from typing import Any

from . import _reductions


def _contractions(namespace: dict[str, Any]) -> None:
    """einsum and tensordot with torch's ways of giving operands and axes."""
    plain_einsum, plain_tensordot = namespace["einsum"], namespace["tensordot"]

    def einsum(equation: str, *operands: Any) -> Any:
        """Returns the sum of products of the operands that the equation describes, as 'ij,jk->ik' for a matrix product."""
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        return plain_einsum(equation, operands)

    def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
        """Returns the sum of products over the last `dims` axes of a and the first of b, or over two lists of axes."""
        if isinstance(dims, int):
            if not 0 <= dims <= min(a.ndim, b.ndim):
                raise IndexError(f"tensordot: dims={dims} axes do not fit tensors with {a.ndim} and {b.ndim} axes")
            dims = (list(range(a.ndim - dims, a.ndim)), list(range(dims)))
        if not isinstance(dims, (list, tuple)) or len(dims) != 2:
            raise TypeError(f"tensordot: dims must be an int or two lists of axes, got {dims!r}")
        first, second = dims
        return plain_tensordot(a, b, first, second)

    namespace.update(einsum=einsum, tensordot=tensordot)


def install(namespace: dict[str, Any], tensor: type) -> None:
    """Replaces the plain op by the overloaded function, in the package and on Tensor."""
    _contractions(namespace)
    _reductions.install(namespace, tensor)
