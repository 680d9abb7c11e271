"""grad and backward for several tensors at once."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from .. import _C
from .._C import Tensor

Tensors: TypeAlias = Tensor | Sequence[Tensor]


def _tuple(tensors: Tensors | None) -> tuple[Tensor, ...]:
    return () if tensors is None else (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _gradients(grads: Tensors | None, count: int) -> tuple[Tensor | None, ...]:
    return (None,) * count if grads is None else (grads,) if isinstance(grads, Tensor) else tuple(grads)


def backward(tensors: Tensors, grad_tensors: Tensors | None = None, retain_graph: bool | None = None, create_graph: bool = False,
             inputs: Tensors | None = None) -> None:
    """Adds the gradients of the sum of `tensors` to `.grad` of the leaves they were computed from."""
    roots = _tuple(tensors)
    _C.backward(roots, _gradients(grad_tensors, len(roots)), create_graph if retain_graph is None else retain_graph, create_graph,
                _tuple(inputs))


def grad(outputs: Tensors, inputs: Tensors, grad_outputs: Tensors | None = None, retain_graph: bool | None = None,
         create_graph: bool = False, allow_unused: bool | None = None, is_grads_batched: bool = False,
         materialize_grads: bool = False) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of `outputs` with respect to `inputs`; `.grad` is left alone.

    Args:
        grad_outputs: what flows into each output; ones for outputs with one element.
        create_graph: record the computation, so that the result can be differentiated again.
        allow_unused: None instead of an error for inputs that the outputs do not depend on.
        materialize_grads: zeros instead of None for those.
    """
    if is_grads_batched:
        raise NotImplementedError("grad: is_grads_batched is not supported; loop over the batch")
    roots, leaves = _tuple(outputs), _tuple(inputs)
    if not leaves:
        raise ValueError("grad: inputs is empty")
    found = _C.grad(roots, _gradients(grad_outputs, len(roots)), leaves, create_graph if retain_graph is None else retain_graph,
                    create_graph, bool(allow_unused) or materialize_grads)
    if materialize_grads:
        zeros_like = _C.op_function_of("zeros_like", False)
        return tuple(zeros_like(x) if g is None else g for g, x in zip(found, leaves, strict=True))
    return found
