"""Custom functions: a forward in Python with a backward of its own."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _C
from .._C import Tensor


class _SavedOutput:
    """An output kept for backward: its values, and which output it is. The output itself would hold on to its own graph."""

    def __init__(self, output: Tensor, slot: int):
        self.values, self.slot = output.detach(), slot


class FunctionCtx:
    """What forward hands to backward."""

    def __init__(self) -> None:
        self._saved: tuple[Any, ...] = ()
        self._versions: tuple[int, ...] = ()
        self._non_differentiable: tuple[Tensor, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._materialize = True
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps inputs or outputs for backward; changing them in place in between is an error."""
        self._saved = tensors
        self._versions = tuple(0 if t is None else t._version for t in tensors)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to save_for_backward."""
        saved = [s.values if isinstance(s, _SavedOutput) else s for s in self._saved]
        for t, v in zip(saved, self._versions, strict=True):
            if t is not None and t._version != v:
                raise RuntimeError(f"a tensor saved for backward ({list(t.shape)}) was changed in place: it is at version "
                                   f"{t._version}, saved at version {v}")
        return tuple(_C.output_in_backward(s.values, s.slot) if isinstance(s, _SavedOutput) else s for s in self._saved)

    def mark_dirty(self, *args: Tensor) -> None:
        """Names inputs that forward changed in place and returns."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Names outputs that have no gradient."""
        self._non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (the default) or None for outputs without gradient."""
        self._materialize = value


class Function:
    """Subclass with static methods `forward(ctx, *args)` and `backward(ctx, *grads)`; call it with `apply`.

    >>> class Double(hw.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = hw.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """forward(ctx, *args), or forward(*args) beside setup_context(ctx, inputs, output)."""
        raise NotImplementedError("a Function defines forward")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """One gradient, or None, for each argument of forward."""
        raise NotImplementedError("a Function defines backward")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs forward and records backward."""
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        grad_mode = _C.set_grad_enabled(False)
        try:
            if "setup_context" in cls.__dict__ or hasattr(cls, "setup_context"):
                outputs = cls.forward(*args)
                cls.setup_context(ctx, args, outputs)  # type: ignore[attr-defined]
            else:
                outputs = cls.forward(ctx, *args)
        finally:
            _C.set_grad_enabled(grad_mode)
        if not (grad_mode and any(ctx.needs_input_grad)):
            return outputs
        single = isinstance(outputs, Tensor)
        if not single and not isinstance(outputs, (tuple, list)):
            return outputs
        listed = [outputs] if single else list(outputs)
        if any(d.requires_grad and d.is_leaf for d in ctx._dirty):
            raise RuntimeError(f"{cls.__name__}.forward changed a leaf that requires gradients in place")
        inputs = [a for a in args if isinstance(a, Tensor)]
        # An input that is returned as it is becomes a new tensor, so that its own history stays.
        listed = [o.detach() if isinstance(o, Tensor) and any(o is i for i in inputs) and not any(o is d for d in ctx._dirty) else o
                  for o in listed]
        tensors = [o for o in listed if isinstance(o, Tensor) and not any(o is n for n in ctx._non_differentiable)]
        slots = {id(t): slot for slot, t in enumerate(tensors)}
        ctx._saved = tuple(_SavedOutput(t, slots[id(t)]) if t is not None and id(t) in slots else t for t in ctx._saved)
        facts = [(slots.get(id(o)), o.shape, o.dtype) if isinstance(o, Tensor) else None for o in listed]
        is_tensor = [isinstance(a, Tensor) for a in args]
        _C.attach_function(tensors, inputs, functools.partial(_run_backward, cls, ctx, is_tensor, facts), cls.__name__)
        return listed[0] if single else tuple(listed)


def _run_backward(cls: type[Function], ctx: FunctionCtx, is_tensor: list[bool], outputs: list[Any],
                  *grads: Tensor | None) -> tuple[Tensor | None, ...]:
    """`is_tensor`: of each argument of forward; `outputs`: (place among grads or None, shape, dtype), None for what is no tensor."""
    full: list[Tensor | None] = []
    for output in outputs:
        g = None
        if output is not None:
            slot, shape, dtype = output
            g = None if slot is None else grads[slot]
            if g is None and ctx._materialize and (dtype.is_floating_point or dtype.is_complex):
                g = _C.op_function_of("full", False)(shape, 0, dtype=dtype)
        full.append(g)
    result = cls.backward(ctx, *full)
    listed = result if isinstance(result, tuple | list) else (result,)
    if len(listed) < len(is_tensor):
        raise RuntimeError(f"{cls.__name__}.backward returned {len(listed)} gradients for {len(is_tensor)} arguments of forward")
    if any(g is not None for g in listed[len(is_tensor):]):
        raise RuntimeError(f"{cls.__name__}.backward returned {len(listed)} gradients for {len(is_tensor)} arguments of forward")
    return tuple(g for g, keep in zip(listed, is_tensor, strict=False) if keep)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a backward that cannot be differentiated: its results carry no history."""

    @functools.wraps(backward)
    def wrapped(ctx: Any, *grads: Any) -> Any:
        before = _C.set_grad_enabled(False)
        try:
            return backward(ctx, *grads)
        finally:
            _C.set_grad_enabled(before)

    return wrapped
