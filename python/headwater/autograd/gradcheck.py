"""Checking gradients against finite differences."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _C
from .._C import Tensor
from .derivatives import grad


def _differentiable(inputs: Sequence[Any]) -> list[int]:
    return [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]


def _outputs(func: Callable[..., Any], inputs: Sequence[Any]) -> list[Tensor]:
    out = func(*inputs)
    return [o for o in ([out] if isinstance(out, Tensor) else out) if isinstance(o, Tensor) and (o.is_floating_point() or o.is_complex())]


def _numeric(func: Callable[..., Any], inputs: Sequence[Any], at: int, weights: list[Tensor], eps: float) -> Tensor:
    """d(sum of Re(conj(w) * output))/d(input) by central differences; for complex inputs as torch's convention has it."""
    x = inputs[at]
    base = x.detach().clone()
    flat = base.reshape(-1)
    result = _C.op_function_of("full", False)(x.shape, 0, dtype=x.dtype).reshape(-1)

    def value(step: Any, i: int) -> float:
        moved = flat.clone()
        moved[i] = moved[i] + step
        trial = [moved.reshape(x.shape) if k == at else v for k, v in enumerate(inputs)]
        outs = _outputs(func, trial)
        return sum(float((o * w.conj() if o.is_complex() else o * w).sum().item().real) for o, w in zip(outs, weights, strict=True))

    for i in range(flat.numel()):
        slope: Any = (value(eps, i) - value(-eps, i)) / (2 * eps)
        if x.is_complex():
            slope += 1j * (value(eps * 1j, i) - value(-eps * 1j, i)) / (2 * eps)
        result[i] = slope
    return result.reshape(x.shape)


def gradcheck(func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True, **ignored: Any) -> bool:
    """Compares the gradients of `func(*inputs)` with central differences. Inputs should be float64.

    Raises RuntimeError naming the input and the largest difference, or returns False if raise_exception is False.
    """
    listed = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    places = _differentiable(listed)
    if not places:
        raise ValueError("gradcheck: no input requires gradients")
    outs = _outputs(func, listed)
    generator = _C.Generator().manual_seed(7)
    randn = _C.op_function_of("randn", False)
    weights = [randn(o.shape, dtype=o.dtype, generator=generator) for o in outs]
    exact = grad(outs, [listed[i] for i in places], weights, allow_unused=True)
    no_grad_before = _C.set_grad_enabled(False)
    try:
        for i, g in zip(places, exact, strict=True):
            want = _numeric(func, listed, i, weights, eps)
            got = g if g is not None else want * 0
            difference = (got.detach() - want).abs()
            if (difference > atol + rtol * want.abs()).any().item():
                if not raise_exception:
                    return False
                raise RuntimeError(f"gradcheck: gradient of input {i} differs from finite differences by up to "
                                   f"{difference.max().item():.3g}\nexact: {got}\nnumeric: {want}")
    finally:
        _C.set_grad_enabled(no_grad_before)
    return True


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    """As gradcheck, for the gradients of the gradients."""
    listed = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    places = _differentiable(listed)
    outs = _outputs(func, listed)
    randn = _C.op_function_of("randn", False)
    generator = _C.Generator().manual_seed(11)
    if grad_outputs is None:
        grad_outputs = [randn(o.shape, dtype=o.dtype, generator=generator).requires_grad_() for o in outs]
    count = len(listed)

    def first(*args: Any) -> Any:
        values = _outputs(func, args[:count])
        found = grad(values, [args[i] for i in places], list(args[count:]), create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and g.requires_grad)

    def full(*args: Any) -> Any:
        before = _C.set_grad_enabled(True)
        try:
            fresh = [
                a.detach().requires_grad_(k >= count or k in places)
                if isinstance(a, Tensor) and not a.requires_grad else a
                for k, a in enumerate(args)
            ]
            for k in places:
                if not fresh[k].requires_grad:
                    fresh[k] = fresh[k].detach().requires_grad_()
            return first(*fresh)
        finally:
            _C.set_grad_enabled(before)

    every = [*listed, *grad_outputs]
    if not first(*every):
        return True  # linear: nothing left to differentiate
    return gradcheck(full, every, **options)
