"""Jacobians and Hessians, and their products with vectors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _C
from .._C import Tensor
from .derivatives import grad


def _prepared(inputs: Any, create_graph: bool) -> tuple[tuple[Tensor, ...], bool]:
    single = isinstance(inputs, Tensor)
    listed = (inputs,) if single else tuple(inputs)
    return tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in listed), single


def _zeros(x: Tensor) -> Tensor:
    return _C.op_function_of("zeros_like", False)(x)


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
             vectorize: bool = False) -> Any:
    """The Jacobian of `func` at `inputs`: shape of the output followed by that of the input (tuples where there are several)."""
    xs, single_in = _prepared(inputs, create_graph)
    ys = func(*xs)
    single_out = isinstance(ys, Tensor)
    stack = _C.op_function_of("cat", False)
    rows: list[Any] = []
    for y in (ys,) if single_out else ys:
        flat = y.reshape(-1)
        parts: list[list[Tensor]] = [[] for _ in xs]
        for i in range(flat.numel()):
            gs = grad(flat[i], xs, retain_graph=True, create_graph=create_graph, allow_unused=not strict)
            for part, g, x in zip(parts, gs, xs, strict=True):
                part.append((_zeros(x) if g is None else g).reshape(1, -1))
        full = tuple(stack(p).reshape(tuple(y.shape) + tuple(x.shape)) if p else _zeros(x).reshape((0, *x.shape))
                     for p, x in zip(parts, xs, strict=True))
        rows.append(full[0] if single_in else full)
    return rows[0] if single_out else tuple(rows)


def hessian(func: Callable[..., Tensor], inputs: Any, create_graph: bool = False, strict: bool = False) -> Any:
    """The Hessian of a function with one output element."""
    single = isinstance(inputs, Tensor)

    def first(*xs: Tensor) -> Any:
        gs = grad(func(*xs), xs, create_graph=True, allow_unused=True)
        full = tuple(_zeros(x) if g is None else g for g, x in zip(gs, xs, strict=True))
        return full[0] if single else full

    return jacobian(first, inputs, create_graph=create_graph, strict=False)


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), v times the Jacobian)."""
    xs, single = _prepared(inputs, create_graph)
    ys = func(*xs)
    gs = grad(ys, xs, v, create_graph=create_graph, allow_unused=not strict)
    full = tuple(_zeros(x) if g is None else g for g, x in zip(gs, xs, strict=True))
    return (ys if create_graph else ys.detach() if isinstance(ys, Tensor) else tuple(y.detach() for y in ys)), full[0] if single else full


def jvp(func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), the Jacobian times v), by differentiating the vector-Jacobian product."""
    xs, _ = _prepared(inputs, create_graph)
    ys = func(*xs)
    outs = (ys,) if isinstance(ys, Tensor) else tuple(ys)
    us = tuple(_zeros(y).requires_grad_() for y in outs)
    gs = grad(outs, xs, us, create_graph=True, allow_unused=True)
    used = [(g, w) for g, w in zip(gs, (v,) if isinstance(v, Tensor) else tuple(v), strict=True) if g is not None]
    result = grad([g for g, _ in used], us, [w for _, w in used], create_graph=create_graph, allow_unused=True)
    full = tuple(_zeros(y) if r is None else r for r, y in zip(result, outs, strict=True))
    return ys, full[0] if isinstance(ys, Tensor) else full


def hvp(func: Callable[..., Tensor], inputs: Any, v: Any, create_graph: bool = False, strict: bool = False) -> tuple[Tensor, Any]:
    """(func(inputs), the Hessian times v)."""
    xs, single = _prepared(inputs, create_graph)
    y = func(*xs)
    gs = grad(y, xs, create_graph=True)
    hs = grad(list(gs), xs, (v,) if isinstance(v, Tensor) else tuple(v), create_graph=create_graph, allow_unused=True)
    full = tuple(_zeros(x) if h is None else h for h, x in zip(hs, xs, strict=True))
    return y, full[0] if single else full
