"""Names under which torch has several functions, told apart by their arguments."""
from __future__ import annotations

from typing import Any

from . import _C, _recurrent, _reductions, _shapes


def _with_letters(given: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The equation and the operands of einsum(a, axes, b, axes, [result axes])."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    def text(axes: Any) -> str:
        if not isinstance(axes, (list, tuple)) or not all(a is ... or (isinstance(a, int) and 0 <= a < 52) for a in axes):
            raise TypeError(f"einsum(): axes must be a list of numbers from 0 to 51 or Ellipsis, got {axes!r}")
        return "".join("..." if a is ... else letters[a] for a in axes)

    operands = given[0::2] if len(given) % 2 == 0 else given[0:-1:2]
    terms = ",".join(map(text, given[1 : 2 * len(operands) : 2]))
    return (f"{terms}->{text(given[-1])}" if len(given) % 2 else terms), operands


def _contractions(namespace: dict[str, Any]) -> None:
    """einsum and tensordot with torch's ways of giving operands and axes."""
    plain_einsum, plain_tensordot = namespace["einsum"], namespace["tensordot"]

    def einsum(equation: Any, *operands: Any) -> Any:
        """Returns the sum of products of the operands that the equation describes, as 'ij,jk->ik' for a matrix product.

        Also einsum(a, [0, 1], b, [1, 2], [0, 2]), with the axes as numbers from 0 to 51 or an Ellipsis."""
        if isinstance(equation, _C.Tensor):
            equation, operands = _with_letters((equation, *operands))
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        return plain_einsum(equation, operands)

    def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
        """Returns the sum of products over the last `dims` axes of a and the first of b, or over two lists of axes."""
        if isinstance(dims, int):
            for name, t in (("a", a), ("b", b)):
                if not isinstance(t, _C.Tensor):
                    raise TypeError(f"tensordot(): argument '{name}' must be a Tensor, got {type(t).__name__}")
            if not 0 <= dims <= min(a.ndim, b.ndim):
                raise IndexError(f"tensordot: dims={dims} axes do not fit tensors with {a.ndim} and {b.ndim} axes")
            dims = (list(range(a.ndim - dims, a.ndim)), list(range(dims)))
        if not isinstance(dims, (list, tuple)) or len(dims) != 2:
            raise TypeError(f"tensordot: dims must be an int or two lists of axes, got {dims!r}")
        first, second = dims
        return plain_tensordot(a, b, first, second)

    namespace.update(einsum=einsum, tensordot=tensordot)


def _choices(namespace: dict[str, Any], tensor: type) -> None:
    """where as a function and as a method, which starts with the values; comparisons of whole tensors, which give a bool."""
    plain_where, eq, isclose = namespace["where"], namespace["eq"], namespace["isclose"]

    def where(condition: Any, input: Any = None, other: Any = None) -> Any:  # noqa: A002  torch's name
        """Returns elements of input where condition is True, else of other; with condition alone, the indices of its True elements."""
        if input is None and other is None:
            return namespace["nonzero"](condition, as_tuple=True)
        return plain_where(condition, input, other)

    def where_method(self: Any, condition: Any, other: Any) -> Any:
        """Returns elements of self where condition is True, else of other."""
        return plain_where(condition, self, other)

    def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:  # noqa: A002
        """Whether all elements of two tensors are nearly equal, as isclose has it."""
        return bool(isclose(input, other, rtol, atol, equal_nan).all())

    def equal(input: Any, other: Any) -> bool:  # noqa: A002  torch's name
        """Whether two tensors have the same shape and the same elements."""
        for name, t in (("input", input), ("other", other)):
            if not isinstance(t, tensor):
                raise TypeError(f"equal(): argument '{name}' must be a Tensor, got {type(t).__name__}")
        return input.shape == other.shape and bool(eq(input, other).all())

    namespace.update(where=where, allclose=allclose, equal=equal)
    for name, method in (("where", where_method), ("allclose", allclose), ("equal", equal)):
        setattr(tensor, name, method)


def install(namespace: dict[str, Any], tensor: type) -> None:
    """Replaces the plain op by the overloaded function, in the package and on Tensor."""
    _choices(namespace, tensor)
    _contractions(namespace)
    _reductions.install(namespace, tensor)
    _shapes.install(namespace, tensor)
    _recurrent.install(namespace)
