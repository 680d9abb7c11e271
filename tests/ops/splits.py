"""SBP: every signature that an op declares, on virtual ranks. Inputs are split, parts run, outputs joined and compared with the whole.

What is checked are the kernel ops and views that a sample runs, forward and backward, each by its own declaration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import headwater as hw
from convert import flatten, map_arrays, to_hw, to_numpy
from gradients import gradients_of, leaves, prepared

MESHES = [hw.mesh("cpu", 3), hw.mesh("cpu", 2)]
SKIPPED = {"empty", "empty_strided", "_boxing", "_unique", "_unique_rows"}  # values that mean nothing, or not after the count
DRAWING = {name for name in hw._C.op_names() if hw._C.describe_op(name)["random"]}
_done: set = set()


def key_of(name: str, inputs: list, attrs: dict) -> tuple:
    return name, tuple(None if t is None else (t.dtype.name, tuple(t.shape), t.stride()) for t in inputs), repr(sorted(attrs.items()))


def partial_parts(t: hw.Tensor, sbp: Any, ranks: int) -> list[hw.Tensor]:
    """Parts that are all unlike the whole and unlike zero."""
    x, rng = to_numpy(t), np.random.default_rng(3)
    if t.dtype is hw.bool:
        x = x.astype(bool)
    owner = np.arange(x.size).reshape(x.shape) % ranks
    parts = []
    if sbp == hw.partial_sum:
        noise = rng.integers(1, 9, x.shape)
        for r in range(ranks):
            extra = noise * (r == 0) - noise * (r == 1)
            parts.append(np.where(owner == r, x, 0 * x) + (0 if x.dtype == bool or x.dtype.kind == "u" else extra).astype(x.dtype)
                         if x.dtype != bool else np.where(owner == r, x, False))
    else:
        step = 1 if sbp == hw.partial_max else -1
        for r in range(ranks):
            parts.append(np.where(owner == r, x, (x & (step < 0)) | (not x.dtype == bool) if x.dtype == bool else x - step))
    return [to_hw(np.asarray(p, dtype=x.dtype), t.dtype.name) for p in parts]


def placed(t: Any, sbp: Any, mesh: Any) -> Any:
    if t is None or (isinstance(t, hw.Tensor) and t.ndim == 0 and sbp == hw.broadcast):
        return t
    if sbp.is_partial and mesh.size > 1:
        return hw.from_local(partial_parts(t, sbp, mesh.size), mesh, sbp)
    return t.to_global(mesh, sbp)


def finite(t: Any) -> bool:
    return t is None or not (t.is_floating_point() or t.is_complex()) or bool(np.all(np.isfinite(to_numpy(t))))


def check_call(name: str, inputs: list, attrs: dict, tolerance: float) -> None:
    """One call under each of its signatures; those that cannot split these sizes are refused, which is right."""
    whole = [to_numpy(y) for y in hw._C.run_op(name, inputs, attrs)]
    for ins, outs in hw._C.sbp_signatures(name, inputs, attrs):
        ins, outs = [sbp_of(s) for s in ins], [sbp_of(s) for s in outs]
        some = [t for t, s in zip(inputs, ins, strict=True) if t is not None and (t.ndim or s != hw.broadcast)]
        if not some or (any(s.is_partial for s in ins) and not all(map(finite, inputs))):
            continue  # infinity is not the sum of two parts
        for mesh in MESHES:  # of uneven parts, or of parts that divide where these are refused
            what = f"{name}({', '.join('None' if t is None else f'{t.dtype.name}{list(t.shape)}' for t in inputs)}, {attrs}) " \
                   f"as {ins} -> {outs} on {mesh.size} ranks"
            given = [placed(t, s, mesh) for t, s in zip(inputs, ins, strict=True)]
            try:
                with hw.signature(name, (ins, outs)):
                    got = hw._C.run_op(name, given, attrs)
            except ValueError as e:
                assert "cannot split these sizes" in str(e), f"{what}: {e}"
                continue
            for y, w, s in zip(got, whole, outs, strict=True):
                assert y.sbp == [s], f"{what}: the result lies as {y.sbp}"
                check_same(to_numpy(y.full()), w, tolerance, what)
            break


def check_same(got: np.ndarray, want: np.ndarray, tolerance: float, what: str) -> None:
    assert got.shape == want.shape, f"{what}: {got.shape} instead of {want.shape}"
    if got.dtype.kind in "fc":
        finite = want[np.isfinite(want)]
        scale = max(1.0, float(np.max(np.abs(finite)))) if finite.size else 1.0
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale, err_msg=what)
    else:
        np.testing.assert_array_equal(got, want, err_msg=what)


def sbp_of(described: tuple) -> Any:
    kind, axis = described
    return {"B": hw.broadcast, "P(sum)": hw.partial_sum, "P(max)": hw.partial_max, "P(min)": hw.partial_min}.get(kind) or hw.split(axis)


def run_sample(test: Any, sample: Any, dtype: str) -> None:
    if test.grad and sample.grad and dtype == "float64":
        gradients_of(test, sample, dtype)
    else:
        args, kwargs = map_arrays(sample.args, sample.kwargs, dtype, to_hw)
        test.function(*args, **kwargs)


def sbp(test: Any) -> Callable | None:
    """Every kernel op and view that the samples run, forward and backward, under every signature."""
    if not test.sbp:
        return None

    def check() -> None:
        dtype = "float64" if "float64" in test.dtypes else test.dtypes[0]
        for s in test.samples(dtype):
            if not s.sbp:
                continue
            for name, inputs, attrs in hw._C.record_calls(lambda s=s: run_sample(test, s, dtype)):
                key = key_of(name, inputs, attrs)
                if key in _done or name in SKIPPED or name in DRAWING or not hw._C.describe_op(name)["has_sbp"]:
                    continue
                _done.add(key)
                check_call(name, inputs, attrs, max(test.tolerance(dtype), 1e-9))

    return check


GRID = hw.mesh("cpu", (2, 2), names=("data", "model"))


def on_grid(v: Any) -> Any:
    if isinstance(v, (list, tuple)):
        return type(v)(map(on_grid, v))
    if not isinstance(v, hw.Tensor) or v.ndim == 0:
        return v
    g = v.detach().to_global(GRID, [hw.split(0), hw.split(v.ndim - 1)])
    return g.requires_grad_() if v.requires_grad else g


def mesh(test: Any) -> Callable | None:
    """The function on global tensors, split along their first axis and their last, gives what it gives on one device."""
    if not test.sbp:
        return None

    def tensors(found: Any) -> list:
        return [t for t in flatten(found) if isinstance(t, hw.Tensor)]

    def check() -> None:
        dtype = "float64" if "float64" in test.dtypes else test.dtypes[0]
        for s in test.samples(dtype):
            if not s.sbp:
                continue
            args, kwargs, inputs = prepared(test, s, dtype) if test.grad and s.grad and dtype == "float64" else (
                *map_arrays(s.args, s.kwargs, dtype, to_hw), [])
            split_args, split_kwargs = on_grid(args), {k: on_grid(v) for k, v in kwargs.items()}
            if not any(t.is_global for t in tensors([*split_args, *split_kwargs.values()])):
                continue
            hw.manual_seed(7)
            want = tensors(test.function(*args, **kwargs))
            hw.manual_seed(7)
            got = tensors(test.function(*split_args, **split_kwargs))
            tolerance = max(test.tolerance(dtype), 1e-9)
            for g, w in zip(got, want, strict=True):
                assert (g.is_global or g.numel() < 3) and g.dtype is w.dtype, f"{test.name}{s}: {g} instead of {w}"
                check_same(to_numpy(g.full()), to_numpy(w), tolerance, f"{test.name}{s}")
            losses = [sum(((y * y.detach()).sum() for y in ys if y.requires_grad), hw.zeros((), dtype=hw.float64)) for ys in (got, want)]
            if inputs and all(loss.requires_grad for loss in losses):
                for loss in losses:
                    loss.backward()
                for x, g in zip(inputs, leaves(test, split_args, split_kwargs), strict=True):
                    if x.grad is not None and g.is_global:
                        assert g.grad.mesh == GRID and not any(p.is_partial for p in g.grad.sbp)
                        check_same(to_numpy(g.grad.full()), to_numpy(x.grad), tolerance, f"{test.name}{s}, gradient")

    return check
