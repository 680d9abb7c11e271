"""Gradient checks of op_test: finite differences in float64 to first and second order; other dtypes against float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import headwater as hw
from convert import Fixed, flatten, map_arrays, to_hw, to_numpy, to_torch

EPS = 1e-5
DIRECTIONS = 3


def _seed(test: Any) -> None:
    if test.random:
        hw.manual_seed(7)


def _floats(values: Any, out: list) -> list:
    for v in values:
        if isinstance(v, (list, tuple)):
            _floats(v, out)
        elif isinstance(v, (hw.Tensor, torch.Tensor)) and (v.is_floating_point() or v.is_complex()):
            out.append(v)
    return out


def leaves(test: Any, args: tuple, kwargs: dict) -> list:
    """The tensors to differentiate: all floating arguments, or those at the positions grad_args."""
    if test.grad_args is not None:
        return _floats([args[i] for i in test.grad_args if i < len(args)], [])
    return _floats([*args, *kwargs.values()], [])


def prepared(test: Any, sample: Any, dtype: str) -> tuple[tuple, dict, list]:
    args, kwargs = map_arrays(sample.args, sample.kwargs, dtype, to_hw)
    inputs = leaves(test, args, kwargs)
    for x in inputs:
        x.requires_grad_(True)
    return args, kwargs, inputs


def outputs(test: Any, args: tuple, kwargs: dict) -> list:
    _seed(test)
    return [y for y in flatten(test.function(*args, **kwargs)) if isinstance(y, hw.Tensor) and y.requires_grad]


def weights(ys: list, salt: int = 0) -> list:
    """Fixed weights for a scalar loss: sum(y * w)."""
    rng = np.random.default_rng(11 + salt)
    made = []
    for y in ys:
        w = np.asarray(rng.uniform(0.5, 1.5, tuple(y.shape)))
        made.append(w + 0.5j * w[::-1] if y.is_complex() and w.ndim else w)
    return made


def name_of(t: Any) -> str:
    return str(t.dtype).rsplit(".", 1)[-1]


def gradients_of(test: Any, sample: Any, dtype: str) -> list:
    """Gradients of the weighted sum of outputs, as arrays (zeros for inputs that are not reached)."""
    args, kwargs, inputs = prepared(test, sample, dtype)
    ys = outputs(test, args, kwargs)
    if not ys or not inputs:
        return []
    ws = [to_hw(w, name_of(y)) for y, w in zip(ys, weights(ys))]
    grads = hw.autograd.grad(ys, inputs, ws, allow_unused=True)
    for g, x in zip(grads, inputs):
        if g is not None:
            assert g.dtype == x.dtype and tuple(g.shape) == tuple(x.shape), f"gradient {g.dtype}{g.shape} of {x.dtype}{x.shape}"
    return [to_numpy(g) if g is not None else np.zeros(tuple(x.shape)) for g, x in zip(grads, inputs)]


def _loss(test: Any, args: tuple, kwargs: dict) -> float:
    """The weighted sum of outputs that depend on the inputs."""
    ys = outputs(test, args, kwargs)
    return sum(float(np.sum(to_numpy(y) * w)) for y, w in zip(ys, weights(ys)))


def _slopes(f: Callable[[], float], x: Any, rng: np.random.Generator) -> list[tuple[np.ndarray, float]]:
    """Central differences of f along a few directions of x, which is changed in place and restored."""
    base = to_numpy(x).copy()
    found = []
    for _ in range(DIRECTIONS if base.size > 1 else 1):
        direction = np.asarray(rng.uniform(0.3, 1, base.shape) * rng.choice([-1.0, 1.0], base.shape))
        ends = []
        for step in (EPS, -EPS):
            with hw.no_grad():
                x.copy_(to_hw(base + step * direction, "float64"))
            ends.append(f())
        found.append((direction, (ends[0] - ends[1]) / (2 * EPS)))
    with hw.no_grad():
        x.copy_(to_hw(base, "float64"))
    return found


def _compare(x: Any, gradient: np.ndarray, f: Callable[[], float], tol: float, what: str) -> None:
    if x.numel() == 0:
        return
    for direction, slope in _slopes(f, x, np.random.default_rng(3)):
        got = float(np.sum(gradient * direction))
        scale = max(1.0, abs(slope), float(np.sum(np.abs(gradient * direction))))
        assert abs(got - slope) <= tol * scale, f"{what}: derivative along a direction is {got}, differences give {slope}"


def first_order(test: Any) -> Callable | None:
    if not test.grad:
        return None

    def check() -> None:
        checked = 0
        for s in test.samples("float64"):
            if not s.grad:
                continue
            args, kwargs, inputs = prepared(test, s, "float64")
            gradients = gradients_of(test, s, "float64")
            if not gradients:
                continue
            for i, (x, g) in enumerate(zip(inputs, gradients)):
                _compare(x, g, lambda: _loss(test, args, kwargs), test.grad_tol, f"{test.name}{s}, input {i}")
                checked += 1
        assert checked, "no sample has a gradient to check"

    return check


def second_order(test: Any) -> Callable | None:
    if not test.grad2:
        return None

    def grads(args: tuple, kwargs: dict, inputs: list, dys: list) -> list:
        ys = outputs(test, args, kwargs)
        found = hw.autograd.grad(ys, inputs, dys, create_graph=True, allow_unused=True)
        return [g for g in found if g is not None and g.requires_grad]

    def check() -> None:
        for s in test.samples("float64"):
            if not s.grad:
                continue
            args, kwargs, inputs = prepared(test, s, "float64")
            ys = outputs(test, args, kwargs)
            if not ys or not inputs:
                continue
            dys = [to_hw(w, "float64").requires_grad_(True) for w in weights(ys)]
            gs = grads(args, kwargs, inputs, dys)
            if not gs:
                continue
            ws = weights(gs, 5)
            everything = inputs + dys
            second = hw.autograd.grad(gs, everything, [to_hw(w, "float64") for w in ws], allow_unused=True)

            def loss() -> float:
                return sum(float(np.sum(to_numpy(g) * w)) for g, w in zip(grads(args, kwargs, inputs, dys), ws))

            for i, (x, g) in enumerate(zip(everything, second)):
                value = np.zeros(tuple(x.shape)) if g is None else to_numpy(g)
                _compare(x, value, loss, test.grad_tol * 10, f"{test.name}{s}, second order, input {i}")

    return check


def other_dtypes(test: Any) -> Callable | None:
    """Gradients in 16 and 32 bits against float64's; complex ones against torch's."""
    if not test.grad:
        return None
    dtypes = [d for d in test.dtypes if d in ("float16", "bfloat16", "float32", "complex128")]
    if not dtypes:
        return None

    @pytest.mark.parametrize("dtype", dtypes)
    def check(dtype: str) -> None:
        for s in [s for s in test.samples(dtype) if s.grad][:3]:
            got = gradients_of(test, s, dtype)
            if dtype == "complex128":
                want = _torch_gradients(test, s)
            elif s.dtypes is None or "float64" in s.dtypes:
                want = _float64_gradients(test, s, dtype)
            else:
                continue
            tol = max(test.tolerance(dtype) * 8, 1e-9)
            for i, (g, w) in enumerate(zip(got, want, strict=True)):
                scale = max(1.0, float(np.max(np.abs(w)))) if np.size(w) else 1.0
                np.testing.assert_allclose(g, w, rtol=tol, atol=tol * scale, err_msg=f"{test.name}{s}, gradient {i}")

    return check


def _float64_gradients(test: Any, sample: Any, dtype: str) -> list:
    """The float64 gradient at the values that dtype can hold."""
    from convert import as_dtype

    def rounded(v: Any) -> Any:
        if isinstance(v, Fixed):
            return v
        if isinstance(v, np.ndarray) and v.dtype.kind == "f":
            return as_dtype(v, dtype).astype(np.float64)
        return type(v)(rounded(x) for x in v) if isinstance(v, (list, tuple)) else v

    import copy

    other = copy.copy(sample)
    other.args, other.kwargs = rounded(sample.args), {k: rounded(v) for k, v in sample.kwargs.items()}
    return gradients_of(test, other, "float64")


def _torch_gradients(test: Any, sample: Any) -> list:
    assert test.oracle_kind == "torch", "complex gradients need torch as the oracle"
    args, kwargs = map_arrays(sample.args, sample.kwargs, "complex128", to_torch)
    inputs = leaves(test, args, kwargs)
    for x in inputs:
        x.requires_grad_(True)
    ys = [y for y in flatten(test.oracle(*args, **kwargs)) if isinstance(y, torch.Tensor) and y.requires_grad]
    if not ys or not inputs:
        return []
    ws = [to_torch(w, name_of(y)) for y, w in zip(ys, weights(ys))]
    grads = torch.autograd.grad(ys, inputs, ws, allow_unused=True)
    return [to_numpy(g) if g is not None else np.zeros(tuple(x.shape)) for g, x in zip(grads, inputs)]


def inplace_gradient(test: Any) -> Callable | None:
    """The gradient through x.op_() is that through op(x)."""
    if not test.grad:
        return None

    def check() -> None:
        if not test.info["inplace"]:
            return
        for s in [s for s in test.samples("float64") if s.grad][:2]:
            args, kwargs, inputs = prepared(test, s, "float64")
            if not args or not isinstance(args[0], hw.Tensor) or not inputs:
                continue
            y = outputs(test, args, kwargs)
            if not y or tuple(y[0].shape) != tuple(args[0].shape):
                continue
            w = [to_hw(v, "float64") for v in weights(y[:1])]
            want = hw.autograd.grad(y[:1], inputs, w, allow_unused=True)
            x = hw.clone(args[0])
            _seed(test)
            getattr(x, test.name + "_")(*args[1:], **kwargs)
            got = hw.autograd.grad([x], inputs, w, allow_unused=True)
            for a, b in zip(got, want):
                assert (a is None) == (b is None), f"{test.name}_{s}"
                if a is not None:
                    np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=1e-12, atol=1e-12, err_msg=f"{test.name}_{s}")

    return check


gradient_tests: dict[str, Callable] = {"grad": first_order, "grad2": second_order, "grad_dtypes": other_dtypes,
                                       "inplace_grad": inplace_gradient}
