"""Functions on shapes, indices and random numbers that torch overloads by their arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from . import _C


def _spread(plain: Callable[..., Any]) -> Callable[..., Any]:
    """f(a, b, c) as well as f([a, b, c])."""

    def function(*tensors: Any, **options: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            tensors = tuple(tensors[0])
        return plain(list(tensors), **options)

    return function


def _each(plain: Callable[..., Any]) -> Callable[..., Any]:
    """f(a) is one result, f(a, b) and f([a, b]) a tuple of them."""

    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            return tuple(plain(t) for t in tensors[0])
        return plain(tensors[0]) if len(tensors) == 1 else tuple(plain(t) for t in tensors)

    return function


def _pieces(name: str, wanted: Any) -> tuple[int | None, list[int] | None]:
    """The number of pieces, or where they begin."""
    if isinstance(wanted, int):
        return wanted, None
    if not isinstance(wanted, (list, tuple)):
        raise TypeError(f"{name}(): indices_or_sections must be an int or a list of ints, got {type(wanted).__name__}")
    try:
        return None, [operator.index(i) for i in wanted]
    except TypeError:
        raise TypeError(f"{name}(): the indices must be ints, got {wanted!r}") from None


def _split_along(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def function(input: Any, indices_or_sections: Any) -> Any:
        return plain(input, *_pieces(name, indices_or_sections))

    return function


def _named(function: Callable[..., Any], plain: Any) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = plain.__name__
    function.__doc__ = plain.__doc__
    function.__module__ = "headwater"
    return function


def _indexing(namespace: dict[str, Any], tensor: type) -> None:
    plain_nonzero = namespace["nonzero"]

    def nonzero(input: Any, as_tuple: bool = False) -> Any:
        """Returns the indices of the elements that are not zero, [count, axes]; with as_tuple=True one tensor for each axis."""
        if not isinstance(as_tuple, bool):
            raise TypeError(f"nonzero(): as_tuple must be a bool, got {type(as_tuple).__name__}")
        scalar = as_tuple and isinstance(input, _C.Tensor) and input.ndim == 0
        rows = plain_nonzero(input.reshape(1) if scalar else input)
        return rows.unbind(1) if as_tuple else rows

    def index_put_(input: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
        """Writes values to (or with accumulate=True adds them to) the elements that the tuple of index tensors selects."""
        return _C.op_function_of("index_put_", True)(input, values, list(_as_numbers(input, indices)), accumulate=accumulate)

    def index_put(input: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
        """A copy of the input after index_put_."""
        return index_put_(input.clone(), indices, values, accumulate)

    def _as_numbers(input: Any, indices: Sequence[Any]) -> Any:
        if not isinstance(input, _C.Tensor) or not isinstance(indices, (list, tuple)):
            raise TypeError(f"index_put_(): indices must be a tuple of tensors, got {type(indices).__name__}")
        axis = 0
        for i in indices:
            if i is not None and not isinstance(i, _C.Tensor):
                raise TypeError(f"index_put_(): indices must be tensors or None, got {type(i).__name__}")
            if i is None or i.dtype is not _C.bool:
                axis += 1
                yield i
                continue
            if tuple(i.shape) != tuple(input.shape[axis:axis + i.ndim]):
                raise IndexError(f"index_put_(): the mask has shape {list(i.shape)}, which does not match {list(input.shape)} "
                                 f"from axis {axis}")
            axis += i.ndim
            yield from nonzero(i, as_tuple=True)

    namespace.update(nonzero=nonzero, index_put=index_put, index_put_=index_put_)
    tensor.nonzero = nonzero  # type: ignore[attr-defined]
    tensor.index_put, tensor.index_put_ = index_put, index_put_  # type: ignore[attr-defined]


def _scatter(namespace: dict[str, Any], tensor: type) -> None:
    plain, plain_ = namespace["scatter"], tensor.scatter_  # type: ignore[attr-defined]

    def scatter(
        input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None
    ) -> Any:
        return plain(input, dim, index, value if src is None else src, reduce=reduce)

    def scatter_(
        input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None
    ) -> Any:
        return plain_(input, dim, index, value if src is None else src, reduce=reduce)

    namespace["scatter"] = tensor.scatter = _named(scatter, plain)  # type: ignore[attr-defined]
    namespace["scatter_"] = tensor.scatter_ = _named(scatter_, plain)  # type: ignore[attr-defined]


def _shapes(namespace: dict[str, Any], tensor: type) -> None:
    plain_split = namespace["tensor_split"]

    def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> Any:
        return plain_split(input, *_pieces("tensor_split", indices_or_sections), dim)

    namespace["tensor_split"] = tensor.tensor_split = _named(tensor_split, plain_split)  # type: ignore[attr-defined]
    for name in ("hsplit", "vsplit", "dsplit"):
        function = _named(_split_along(name, namespace[name]), namespace[name])
        namespace[name] = function
        setattr(tensor, name, function)
    for name in ("broadcast_tensors", "meshgrid", "cartesian_prod", "block_diag"):
        namespace[name] = _named(_spread(namespace[name]), namespace[name])
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        namespace[name] = _named(_each(namespace[name]), namespace[name])


def _making(namespace: dict[str, Any], tensor: type) -> None:
    plain = namespace["randint"]

    def randint(*args: Any, **options: Any) -> Any:
        if "high" not in options and (len(args) == 1 or (len(args) >= 2 and isinstance(args[1], (list, tuple)))):
            args = (0, *args)
        return plain(*args, **options)

    def new_tensor(self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
        """A new tensor with a copy of `data`, of the dtype of self unless another is given."""
        return _C.tensor_from_data(data, self.dtype if dtype is None else dtype, requires_grad)

    namespace["randint"] = _named(randint, plain)
    tensor.new_tensor = new_tensor  # type: ignore[attr-defined]


def install(namespace: dict[str, Any], tensor: type) -> None:
    """Replaces the plain ops by the overloaded functions, in the package and on Tensor."""
    for part in (_indexing, _scatter, _shapes, _making):
        part(namespace, tensor)
