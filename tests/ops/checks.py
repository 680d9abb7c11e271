"""The checks that op_test makes of a declaration. Each maker returns a pytest function, or None where it does not apply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from compiled import compiled_tests
from splits import mesh, sbp

import headwater as hw
from convert import bind, dtype_name, flatten, map_arrays, to_hw, to_numpy, to_torch
from gradients import gradient_tests, gradients_of

TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-5, "float64": 1e-9, "complex64": 2e-5, "complex128": 1e-9,
             "bool": 0, "uint8": 0, "int8": 0, "int16": 0, "int32": 0, "int64": 0}


# ---------------------------------------------------------------- calling and comparing
def call(test: Any, args: tuple, kwargs: dict) -> list:
    """Runs the op; random ops from a fixed seed."""
    if test.random:
        hw.manual_seed(7)
    return flatten(test.function(*args, **kwargs))


def run(test: Any, sample: Any, dtype: str) -> list:
    return call(test, *map_arrays(sample.args, sample.kwargs, dtype, to_hw))


def _all_close(got: np.ndarray, want: np.ndarray, tol: float) -> bool:
    """Whether finite numbers agree. NumPy's own assertions, which know everything else and say what differs, take ten times as long."""
    with np.errstate(invalid="ignore", over="ignore"):
        return bool((np.abs(got - want) <= tol + tol * np.abs(want)).all())


def assert_close(got: Any, want: Any, tol: float, what: Any) -> None:
    """`what` is made into words only when something differs."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    if got.size == 0:
        return
    kind = "complex128" if "c" in (got.dtype.kind, want.dtype.kind) else "float64"
    if tol == 0 or (got.dtype.kind not in "fc" and want.dtype.kind not in "fc"):
        if not np.array_equal(got, want):
            np.testing.assert_array_equal(got, want, err_msg=str(what))
        return
    got, want = got.astype(kind), want.astype(kind)
    if not _all_close(got, want, tol):
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol, err_msg=str(what))


def expected(test: Any, sample: Any, dtype: str) -> tuple[list, list[str] | None]:
    """The oracle's outputs, and their dtypes where they count."""
    if test.oracle_kind == "numpy":
        def plain(x: np.ndarray, _: str) -> np.ndarray:
            return x
        args, kwargs = map_arrays(sample.args, sample.kwargs, dtype, plain)
        return [np.asarray(y) for y in flatten(test.oracle(*args, **kwargs))], None
    try:
        args, kwargs = map_arrays(sample.args, sample.kwargs, dtype, to_torch)
        out = flatten(test.oracle(*args, **kwargs))
    except (RuntimeError, NotImplementedError) as e:
        if "not implemented" not in str(e) or dtype not in ("float16", "bfloat16"):
            raise
        def wide(x: np.ndarray, d: str) -> torch.Tensor:
            return to_torch(x, "float32" if d == dtype else d)
        args, kwargs = map_arrays(sample.args, sample.kwargs, dtype, wide)
        out = flatten(test.oracle(*args, **kwargs))
        return [to_numpy(y) for y in out], None
    names = [dtype_name(y) if isinstance(y, torch.Tensor) else "" for y in out]
    return [to_numpy(y) for y in out], names if test.same_dtype else None


def values(test: Any) -> Callable | None:
    if test.oracle is None:
        return None

    @pytest.mark.parametrize("dtype", test.dtypes)
    def check(dtype: str) -> None:
        samples = test.samples(dtype)
        assert samples, "no sample for this dtype"
        for s in samples:
            got = run(test, s, dtype)
            want, dtypes = expected(test, s, dtype)
            assert len(got) == len(want), f"{s}: {len(got)} outputs, expected {len(want)}"
            for i, (g, w) in enumerate(zip(got, want)):
                if isinstance(g, hw.Tensor) and dtypes and dtypes[i]:
                    assert dtype_name(g) == dtypes[i], f"{s}: dtype {dtype_name(g)}, expected {dtypes[i]}"
                y, g = g, to_numpy(g)
                if test.random:
                    assert g.shape == w.shape, f"{s}: shape {g.shape}, expected {w.shape}"
                    np.testing.assert_array_equal(g, to_numpy(run(test, s, dtype)[i]), err_msg="not repeatable")
                else:
                    tol = max(test.tolerance(dtype), TOLERANCE[dtype_name(y)] if isinstance(y, hw.Tensor) else 0)
                    assert_close(g, w, tol, f"{test.name}{s}")

    return check


def inferred(test: Any) -> Callable | None:
    """The spec that the declaration infers is that of the real result."""

    def check() -> None:
        info = test.info
        if info["kind"] == "composite" or test.function is not getattr(hw, test.name, None):
            return
        for dtype in test.dtypes:
            for s in test.samples(dtype):
                args, kwargs = map_arrays(s.args, s.kwargs, dtype, to_hw)
                specs = hw._C.infer(test.name, *bind(info, args, kwargs))
                for y, (d, shape) in zip(call(test, args, kwargs), specs, strict=True):
                    assert (y.dtype, tuple(y.shape)) == (d, tuple(shape)), f"{s}: inferred {d}{shape}, got {y.dtype}{tuple(y.shape)}"

    return check


# ---------------------------------------------------------------- layouts
def _reversed_axes(t: Any) -> Any:
    """The values of t in memory whose axes run in reverse order."""
    n = t.ndim
    strides, step = [0] * n, 1
    for axis in range(n):
        strides[axis] = step
        step *= max(t.shape[axis], 1)
    y = hw.as_strided(to_hw(np.zeros(max(step, 1)), dtype_name(t)), tuple(t.shape), strides, 0)
    return y.copy_(t)


def _with_gaps(t: Any) -> Any:
    """The values of t at every second element of a larger buffer, from element 3 on."""
    strides, step = [0] * t.ndim, 2
    for axis in reversed(range(t.ndim)):
        strides[axis] = step
        step *= max(t.shape[axis], 1)
    y = hw.as_strided(to_hw(np.zeros(step + 3), dtype_name(t)), tuple(t.shape), strides, 3)
    return y.copy_(t)


def _expanded(t: Any) -> Any:
    """The first row of t on every row, with stride 0."""
    if t.ndim == 0 or t.shape[0] < 2:
        return t
    return hw.as_strided(t, tuple(t.shape), (0, *t.stride()[1:]), 0)


def strided(test: Any) -> Callable | None:
    if not test.strided:
        return None

    def check() -> None:
        wanted = [d for d in ("float32", "bfloat16", "int64", "bool") if d in test.dtypes][:2] or [test.dtypes[0]]
        for dtype in wanted:
            for s in test.samples(dtype):
                for layout in (_reversed_axes, _with_gaps, _expanded):
                    args, kwargs = map_arrays(s.args, s.kwargs, dtype, lambda x, d: layout(to_hw(x, d)))
                    def plain(v: Any) -> Any:
                        if isinstance(v, (list, tuple)):
                            return type(v)(plain(x) for x in v)
                        return hw.clone(v) if isinstance(v, hw.Tensor) else v
                    want = call(test, plain(args), {k: plain(v) for k, v in kwargs.items()})
                    got = call(test, args, kwargs)
                    for g, w in zip(got, want, strict=True):
                        tol = max(test.tolerance(dtype), TOLERANCE[dtype_name(g)])
                        assert_close(to_numpy(g), to_numpy(w), tol, f"{test.name}{s} {layout.__name__}")

    return check


# ---------------------------------------------------------------- ways to call
def method(test: Any) -> Callable | None:
    def check() -> None:
        info = test.info
        if not info["method"] or info["internal"] or not info["order"]:
            return
        dtype = test.dtypes[-1]
        for s in test.samples(dtype)[:2]:
            args, kwargs = map_arrays(s.args, s.kwargs, dtype, to_hw)
            if not args or not isinstance(args[0], hw.Tensor):
                continue
            want = call(test, args, kwargs)
            if test.random:
                hw.manual_seed(7)
            got = flatten(getattr(args[0], test.name)(*args[1:], **kwargs))
            for g, w in zip(got, want, strict=True):
                np.testing.assert_array_equal(to_numpy(g), to_numpy(w), err_msg=f"method {s}")

    return check


def inplace(test: Any) -> Callable | None:
    """x.op_(...) leaves in x what op(x, ...) returns, in the dtype of x."""

    def check() -> None:
        if not test.info["inplace"]:
            return
        for dtype in test.dtypes:
            for s in test.samples(dtype):
                args, kwargs = map_arrays(s.args, s.kwargs, dtype, to_hw)
                if not args or not isinstance(args[0], hw.Tensor):
                    continue
                want = call(test, args, kwargs)[0]
                x = hw.clone(args[0])
                in_place = getattr(x, test.name + "_")
                if tuple(want.shape) != tuple(x.shape) or not hw.can_cast(want.dtype, x.dtype):
                    with pytest.raises((RuntimeError, TypeError, ValueError)):
                        in_place(*args[1:], **kwargs)
                    continue
                version = x._version
                if test.random:
                    hw.manual_seed(7)
                assert in_place(*args[1:], **kwargs) is x
                assert x._version > version, "the version is not bumped"
                tol = 0 if x.dtype == want.dtype else test.tolerance(dtype)
                assert_close(to_numpy(x), to_numpy(hw.cast(want, x.dtype)), tol, f"{test.name}_{s}")

    return check


# ---------------------------------------------------------------- kernels
_fast_kernels: set[str] = set()


def fast_kernels() -> set[str]:
    """Names of all kernels that are not the reference."""
    if not _fast_kernels:
        for op in hw._C.op_names():
            _fast_kernels.update(k["name"] for k in hw._C.describe_op(op)["kernels"] if k["name"] != "reference")
    return _fast_kernels


def isas() -> list[str]:
    """The instruction sets of this machine, from the plainest up to the one found."""
    order = ["scalar", "avx2", "avx512"]
    found = hw._C.isa_found()
    return order[: order.index(found) + 1] if found in order else ["scalar", found]


def kernels(test: Any) -> Callable | None:
    """Every kernel candidate under every instruction set gives what the reference gives; gradients too."""

    exact: dict[tuple, bool] = {}

    def results() -> dict:
        out = {}
        for dtype in test.dtypes:
            for k, s in enumerate(test.samples(dtype)):
                args, kwargs = map_arrays(s.args, s.kwargs, dtype, to_hw)
                ys = call(test, args, kwargs)
                out[dtype, k, repr(s)] = [to_numpy(y) for y in ys]
                exact[dtype, k, repr(s)] = all(isinstance(y, hw.Tensor) and TOLERANCE[dtype_name(y)] == 0 for y in ys)
                if test.grad and s.grad and dtype in ("float32", "bfloat16"):
                    out[dtype, k, f"gradient of {s!r}"] = gradients_of(test, s, dtype)
        return out

    def check() -> None:
        own = [k["name"] for k in test.info["kernels"] if k["name"] != "reference"]
        found, before = hw._C.isa_found(), hw._C.isa()
        configs = [("", isa) for isa in isas()]
        if len(own) > 1:
            configs += [(",".join(x for x in own if x != name), found) for name in own]
        try:
            hw._C.set_kernels_off(",".join(sorted(fast_kernels())))
            want = results()
            for off, isa in configs:
                hw._C.set_kernels_off(off)
                hw._C.set_isa(isa)
                for key, got in results().items():
                    for g, w in zip(got, want[key], strict=True):
                        tol = 0 if exact.get(key) else max(test.tolerance(key[0]), 2e-5 if TOLERANCE[key[0]] == 0 else 0)
                        tol *= 4 if key[2].startswith("gradient") else 1
                        assert_close(g, w, tol, f"{test.name} {key} on {isa}, off: {off!r}, against the reference")
        finally:
            hw._C.set_kernels_off("")
            hw._C.set_isa(before)

    return check


def errors(test: Any) -> Callable | None:
    if not test.errors:
        return None

    @pytest.mark.parametrize("case", range(len(test.errors)))
    def check(case: int) -> None:
        function, exception, text = test.errors[case]
        with pytest.raises(exception) as caught:
            function(hw)
        assert text in str(caught.value), f"the message lacks {text!r}: {caught.value}"

    return check


TESTS: dict[str, Callable] = {"values": values, "infer": inferred, "strided": strided, "method": method, "inplace": inplace,
                              "sbp": sbp, "mesh": mesh, "kernels": kernels, "errors": errors, **gradient_tests,
                              **compiled_tests}
