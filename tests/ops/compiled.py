"""The compiled checks of op_test: what hw.compile makes of the op's samples is what eager mode makes of them, bit for bit.

The samples of a dtype are called by one captured function; if it fails, they are called one by one, to name the one.
Of gradients the values and shapes are compared: their strides are no promise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headwater as hw
from convert import flatten, map_arrays, to_hw, to_numpy
from gradients import leaves, name_of, weights

QUICK = ("float32", "bfloat16", "int64", "complex64", "bool")  # of these the first that an op takes, in the default run
Calls = list[tuple[tuple, dict]]


def dtypes_of(test: Any) -> list[str]:
    return [d for d in QUICK if d in test.dtypes][:1] or [test.dtypes[0]]


def described(v: Any, strides: bool = True) -> tuple:
    """What must agree of a result beside its values."""
    if not isinstance(v, hw.Tensor):
        return type(v), v
    return str(v.dtype), tuple(v.shape), tuple(v.stride()) if strides else (), v.requires_grad, v.is_leaf


def assert_same(got: list, want: list, what: str, strides: bool = True) -> None:
    assert len(got) == len(want), f"{what}: {len(got)}, eager {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        assert described(g, strides) == described(w, strides), f"{what} {i}: {described(g, strides)}, eager {described(w, strides)}"
        if isinstance(w, hw.Tensor):
            np.testing.assert_array_equal(to_numpy(g), to_numpy(w), err_msg=f"{what} {i}")


def calls_of(test: Any, samples: list, dtype: str, requires_grad: bool) -> Calls:
    calls = []
    for s in samples:
        args, kwargs = map_arrays(s.args, s.kwargs, dtype, to_hw)
        if requires_grad and s.grad:
            for x in leaves(test, args, kwargs):
                x.requires_grad_(True)
        calls.append((args, kwargs))
    return calls


def check_calls(test: Any, run: Callable[[Calls], list], samples: list, dtype: str, requires_grad: bool = False,
                inside: bool = False) -> None:
    """`run` of the samples, eager and compiled: equal results, gradients and arguments."""
    def outcome(function: Callable) -> list[tuple[str, list]]:
        hw.manual_seed(7)
        calls = calls_of(test, samples, dtype, requires_grad)
        results = flatten(function(calls))
        gradients: list = []
        ys = [r for r in results if isinstance(r, hw.Tensor) and r.requires_grad and not r.is_leaf]
        inputs = [x for a, k in calls for x in leaves(test, a, k) if x.requires_grad and x.is_leaf] if ys else []
        if inputs:
            ws = [to_hw(w, name_of(y)) for y, w in zip(ys, weights(ys))]
            gradients = list(hw.autograd.grad(ys, inputs, ws, allow_unused=True))
        written = [x for a, k in calls for x in flatten([*a, *k.values()]) if isinstance(x, hw.Tensor)]
        return [("result", results), ("argument", [*written, hw.get_rng_state()]), ("gradient", gradients)]

    want = outcome(run)
    text = f"{test.name}{samples if len(samples) == 1 else ''} of {dtype}, compiled"
    for (what, g), (_, w) in zip(outcome(hw.compile(run)), want):
        assert_same(g, w, f"{text}: {what}", strides=what != "gradient" and not inside)


def can_capture(test: Any, sample: Any, dtype: str) -> bool:
    found = sample.captured
    return test.captured and (dtype in found if isinstance(found, tuple) else found)


def check_samples(test: Any, run: Callable[[Calls], list], samples: list, dtype: str, requires_grad: bool = False,
                inside: bool = False) -> None:
    for s in samples:
        if not can_capture(test, s, dtype):  # it looks at data: refused in words that name the line
            with pytest.raises(hw.CompileError, match=r"compiled\.py:\d+|test_\w+\.py:\d+"):
                hw.compile(run)(calls_of(test, [s], dtype, requires_grad))
    samples = [s for s in samples if can_capture(test, s, dtype)]
    if not samples:
        return
    try:
        check_calls(test, run, samples, dtype, requires_grad, inside)
    except Exception:
        if len(samples) > 1:  # which one is it?
            for s in samples:
                check_calls(test, run, [s], dtype, requires_grad, inside)
        raise


def _results(test: Any) -> Callable[[Calls], list]:
    return lambda calls: [test.function(*a, **k) for a, k in calls]


def compiled(test: Any) -> Callable | None:
    @pytest.mark.parametrize("dtype", _dtype_params(test))
    def check(dtype: str) -> None:
        check_samples(test, _results(test), test.samples(dtype), dtype)

    return check


def has_inplace(test: Any) -> bool:
    try:
        return bool(test.info["inplace"])
    except KeyError:  # there is no such op; its own tests say so
        return False


def quick_if(quick: bool, *values: Any) -> Any:
    """A parameter of the default run, or of the slow one."""
    return pytest.param(*values, marks=() if quick else pytest.mark.slow)


def _dtype_params(test: Any) -> list:
    quick = dtypes_of(test)
    return [quick_if(d in quick, d) for d in test.dtypes]


def compiled_gradient(test: Any) -> Callable | None:
    """The gradient outside of the compiled function, and inside."""
    if not test.grad:
        return None

    def inside(calls: Calls) -> list:
        found = []
        for a, k in calls:
            ys = [y for y in flatten(test.function(*a, **k)) if isinstance(y, hw.Tensor) and y.requires_grad and not y.is_leaf]
            xs = [x for x in leaves(test, a, k) if x.requires_grad]
            if ys and xs:
                found += hw.autograd.grad([(y * y.detach()) for y in ys], xs, [hw.ones_like(y) for y in ys], allow_unused=True)
        return found

    kinds = {"outside": _results(test), "inside": inside}

    cases = [(d, where) for d in test.dtypes if "float" in d or "complex" in d for where in kinds]

    @pytest.mark.parametrize("dtype, where", [quick_if(c == ("float32", "outside"), *c) for c in cases])
    def check(dtype: str, where: str) -> None:
        samples = [s for s in test.samples(dtype) if s.grad]
        check_samples(test, kinds[where], samples, dtype, requires_grad=True, inside=where == "inside")

    return check


def compiled_inplace(test: Any) -> Callable | None:
    """x.op_(...) inside of a compiled function, on an argument and on what was made inside."""

    def on_arguments(calls: Calls) -> list:
        return [getattr(a[0], test.name + "_")(*a[1:], **k) for a, k in calls]

    def on_own(calls: Calls) -> list:
        return [getattr(hw.clone(a[0]), test.name + "_")(*a[1:], **k) for a, k in calls]

    def fits(s: Any, dtype: str) -> bool:
        args, kwargs = map_arrays(s.args, s.kwargs, dtype, to_hw)
        if not args or not isinstance(args[0], hw.Tensor):
            return False
        y = test.function(*args, **kwargs)
        return isinstance(y, hw.Tensor) and y.shape == args[0].shape and hw.can_cast(y.dtype, args[0].dtype)

    if not has_inplace(test):
        return None

    @pytest.mark.parametrize("run", [on_own, quick_if(False, on_arguments)])
    def check(run: Callable) -> None:
        for dtype in dtypes_of(test):
            check_samples(test, run, [s for s in test.samples(dtype) if fits(s, dtype)], dtype)

    return check


def compiled_errors(test: Any) -> Callable | None:
    """A mistake is the same error in a compiled function, or a CompileError that names the line."""
    if not test.errors:
        return None

    @pytest.mark.parametrize("case", range(len(test.errors)))
    def check(case: int) -> None:
        function, exception, text = test.errors[case]
        kinds = exception if isinstance(exception, tuple) else (exception,)
        with pytest.raises((*kinds, hw.CompileError, IndexError)) as caught:
            hw.compile(lambda: function(hw))()
        said = str(caught.value)
        if isinstance(caught.value, IndexError) and IndexError not in kinds:
            assert "out of range" in said  # what eager mode looks up beforehand, a compiled function's kernel finds
        elif isinstance(caught.value, hw.CompileError):
            assert ".py:" in said, f"the message names no line: {said}"
        else:
            assert text in said, f"the message lacks {text!r}: {said}"

    return check


def _strided(test: Any) -> Callable | None:
    """Arguments in other layouts."""
    from checks import _expanded, _reversed_axes, _with_gaps

    if not test.strided:
        return None

    @pytest.mark.slow
    def check() -> None:
        for dtype in dtypes_of(test):
            for layout in (_reversed_axes, _with_gaps, _expanded):
                for s in test.samples(dtype):
                    args, kwargs = map_arrays(s.args, s.kwargs, dtype, lambda x, d: layout(to_hw(x, d)))
                    hw.manual_seed(7)
                    want = flatten(test.function(*args, **kwargs))
                    hw.manual_seed(7)
                    if can_capture(test, s, dtype):
                        got = flatten(hw.compile(test.function)(*args, **kwargs))
                        # Attention lies as its query does, which eager mode may have copied.
                        assert_same(got, want, f"{test.name}{s} of {dtype} {layout.__name__}", "attention" not in test.name)

    return check


def compiled_outlived(test: Any) -> Callable | None:
    """Arguments that a capture which failed left behind: the op says so instead of reading memory that is not there."""

    class GivenUp(Exception):
        pass

    def left_behind(calls: Calls) -> Calls:
        kept: Calls = []

        def fails() -> None:
            for args, kwargs in calls:
                swap = [hw.clone(a) if isinstance(a, hw.Tensor) else [hw.clone(x) if isinstance(x, hw.Tensor) else x for x in a]
                        if isinstance(a, (list, tuple)) else a for a in args]
                kept.append((tuple(swap), kwargs))
            raise GivenUp

        with pytest.raises(GivenUp):
            hw.compile(fails)()
        return kept

    def check() -> None:
        for dtype in dtypes_of(test):
            for (args, kwargs), s in zip(left_behind(calls_of(test, test.samples(dtype), dtype, False)), test.samples(dtype)):
                if not any(isinstance(a, hw.Tensor) for a in flatten(list(args))):
                    continue
                calls = [test.function]
                if has_inplace(test) and isinstance(args[0], hw.Tensor):
                    calls.append(getattr(args[0], test.name + "_", None))
                for call, own in zip(calls, (args, args[1:])):
                    try:
                        call(*own, **kwargs)
                    except (RuntimeError, TypeError, ValueError, IndexError) as error:
                        said = str(error)
                        assert "outlived the capture" in said or call is not calls[0], f"{test.name}{s}: {said}"
                    else:
                        assert test.info["kind"] != "kernel", f"{test.name}{s} read a tensor that has no data"

    return check


compiled_tests: dict[str, Callable] = {"compiled": compiled, "compiled_gradient": compiled_gradient,
                                       "compiled_inplace": compiled_inplace, "compiled_strided": _strided,
                                       "compiled_errors": compiled_errors, "compiled_outlived": compiled_outlived}
