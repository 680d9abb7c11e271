"""Hooks around a module's call: tables, handles, and the slow path of Module.__call__ that runs them."""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import headwater as hw

if TYPE_CHECKING:
    from .module import Module

_next_id = itertools.count()


class HookTable(OrderedDict[int, Any]):
    """Hooks of one kind in the order they run. (A plain dict cannot be the target of a weak reference.)"""

    def add(self, entry: Any, prepend: bool = False) -> RemovableHandle:
        handle = RemovableHandle(self)
        self[handle.id] = entry
        if prepend:
            self.move_to_end(handle.id, last=False)
        return handle


class RemovableHandle:
    """Takes a hook off again: call ``remove()``, or use it as a context manager."""

    def __init__(self, table: HookTable) -> None:
        self.id = next(_next_id)
        self._table = weakref.ref(table)

    def remove(self) -> None:
        table = self._table()
        if table is not None:
            table.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class CallHooks:
    """The hooks of one module (or, once, of all modules) that take part in a call."""

    def __init__(self) -> None:
        self.forward_pre = HookTable()  # (hook, with_kwargs)
        self.forward = HookTable()  # (hook, with_kwargs, always_call)
        self.backward_pre = HookTable()  # hook(module, grad_output)
        self.backward = HookTable()  # hook(module, grad_input, grad_output)

    def __bool__(self) -> bool:
        return bool(self.forward_pre or self.forward or self.backward_pre or self.backward)


every_module = CallHooks()  # hooks that run for all modules


def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Pre-hooks, forward, hooks; the module's backward hooks are tied to the tensors that pass."""
    ran: set[int] = set()
    try:
        return _run(module, args, kwargs, ran)
    except Exception:
        _run_always_called(module, args, kwargs, ran)
        raise


def _run(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], ran: set[int]) -> Any:
    own, common = module._hooks or CallHooks(), every_module
    for hook, with_kwargs in [*common.forward_pre.values(), *own.forward_pre.values()]:
        args, kwargs = _run_pre(module, hook, with_kwargs, args, kwargs)
    boundary = None
    if own.backward or own.backward_pre or common.backward or common.backward_pre:
        boundary = Boundary(
            module,
            [*common.backward.values(), *own.backward.values()],
            [*common.backward_pre.values(), *own.backward_pre.values()],
        )
        args = boundary.enter(args)
    result = module.forward(*args, **kwargs)
    for key, (hook, with_kwargs, _) in [*common.forward.items(), *own.forward.items()]:
        ran.add(key)
        changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if changed is not None:
            result = changed
    return result if boundary is None else boundary.leave(result)


def _run_pre(
    module: Module, hook: Callable[..., Any], with_kwargs: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if with_kwargs:
        changed = hook(module, args, kwargs)
        if changed is None:
            return args, kwargs
        if isinstance(changed, tuple) and len(changed) == 2:
            return changed
        raise RuntimeError(
            f"{type(module).__name__}: a pre-hook with_kwargs must return None or (args, kwargs), got {changed!r}."
        )
    changed = hook(module, args)
    if changed is None:
        return args, kwargs
    return (changed if isinstance(changed, tuple) else (changed,)), kwargs


def _run_always_called(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], ran: set[int]) -> None:
    """After a failure: hooks with always_call that have not run yet. Their own errors do not hide the first."""
    own = module._hooks.forward if module._hooks is not None else {}
    for key, (hook, with_kwargs, always_call) in [*every_module.forward.items(), *own.items()]:
        if not always_call or key in ran:
            continue
        try:
            hook(module, args, kwargs, None) if with_kwargs else hook(module, args, None)
        except Exception as error:
            warnings.warn(f"{type(module).__name__}: forward hook with always_call=True raised {error!r}", stacklevel=4)


class Boundary:
    """The edge of a module in the backward pass: sees grad_output on the way in and grad_input on the way out."""

    def __init__(self, module: Module, hooks: list[Any], pre_hooks: list[Any]) -> None:
        self._module = module
        self._hooks = hooks
        self._pre_hooks = pre_hooks
        self._grad_output: tuple[Any, ...] | None = None
        self._num_inputs = 0
        self._input_index: list[int] = []
        self._num_outputs = 0
        self._output_index: list[int] = []

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self._num_inputs = len(args)
        self._input_index = _tensors_with_grad(args)
        return self._wrap(args, self._input_index, self._on_grad_input)

    def leave(self, result: Any) -> Any:
        if not hw.is_grad_enabled():
            return result
        single = isinstance(result, hw.Tensor)
        if not single and not isinstance(result, tuple):
            return result  # as in torch: hooks see tensors and tuples of tensors only
        results = (result,) if single else result
        self._num_outputs = len(results)
        self._output_index = _tensors_with_grad(results)
        wrapped = self._wrap(results, self._output_index, self._on_grad_output)
        return wrapped[0] if single else wrapped

    @staticmethod
    def _wrap(values: tuple[Any, ...], index: list[int], callback: Callable[..., Any]) -> tuple[Any, ...]:
        if not index:
            return values
        out = list(values)
        for i, tensor in zip(index, _gate().apply(callback, *[values[i] for i in index])):
            out[i] = tensor
        return tuple(out)

    def _on_grad_output(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        full = _spread(grads, self._output_index, self._num_outputs)
        for hook in self._pre_hooks:
            changed = hook(self._module, full)
            if changed is not None:
                full = _same_length(self._module, "backward pre-hook", changed, full)
        self._grad_output = full
        if not self._input_index:  # no input needs a gradient: the hooks still see grad_output
            for hook in self._hooks:
                if hook(self._module, (None,) * self._num_inputs, full) is not None:
                    raise RuntimeError(
                        f"{type(self._module).__name__}: a backward hook returned a gradient, but no input needs one."
                    )
        return tuple(full[i] for i in self._output_index)

    def _on_grad_input(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        full = _spread(grads, self._input_index, self._num_inputs)
        for hook in self._hooks:
            changed = hook(self._module, full, self._grad_output)
            if changed is not None:
                full = _same_length(self._module, "backward hook", changed, full)
        self._grad_output = None
        return tuple(full[i] for i in self._input_index)


def _tensors_with_grad(values: tuple[Any, ...]) -> list[int]:
    if not hw.is_grad_enabled():
        return []
    return [i for i, value in enumerate(values) if isinstance(value, hw.Tensor) and value.requires_grad]


def _spread(grads: tuple[Any, ...], index: list[int], length: int) -> tuple[Any, ...]:
    full: list[Any] = [None] * length
    for i, grad in zip(index, grads):
        full[i] = grad
    return tuple(full)


def _same_length(module: Module, what: str, changed: Any, before: tuple[Any, ...]) -> tuple[Any, ...]:
    changed = changed if isinstance(changed, tuple) else (changed,)
    if len(changed) != len(before):
        raise RuntimeError(
            f"{type(module).__name__}: {what} returned {len(changed)} gradients, {len(before)} are expected."
        )
    return changed


_gate_class: Any = None


def _gate() -> Any:
    """The identity whose backward pass calls back; made on first use, since few programs need it."""
    global _gate_class
    if _gate_class is None:

        class Gate(hw.autograd.Function):
            @staticmethod
            def forward(ctx: Any, callback: Callable[..., Any], *tensors: hw.Tensor) -> tuple[hw.Tensor, ...]:
                ctx.callback = callback
                return tuple(tensor.view_as(tensor) for tensor in tensors)

            @staticmethod
            def backward(ctx: Any, *grads: hw.Tensor) -> tuple[Any, ...]:
                return (None, *ctx.callback(grads))

        _gate_class = Gate
    return _gate_class
