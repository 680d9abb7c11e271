"""Comparing an eager run with a compiled one: results, arguments, state, gradients and random numbers after every call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import headwater as hw

# Largest difference from eager mode, relative to the largest value of a tensor. 0: bit for bit.
TOLERANCE = 0.0


def array(t: hw.Tensor) -> np.ndarray:
    """The values as they are now; 16-bit floats without a NumPy type as float32."""
    t = t.detach()
    return np.array(hw._C.to_numpy(t.float() if t.dtype == hw.bfloat16 else t))


def _used_up(t: hw.Tensor) -> bool:
    """A result of eager mode whose graph was freed by a backward pass: compiled results come without a graph then."""
    return not t.is_leaf and hw._C.graph_released(t)


def frozen(thing: Any) -> Any:
    """A copy of what a thing holds: tensors with their gradients, modules, optimisers, schedules, trees of them."""
    if isinstance(thing, hw.Tensor):
        grad = thing.grad if thing.is_leaf else None
        return {
            "values": array(thing), "dtype": str(thing.dtype), "shape": tuple(thing.shape), "stride": tuple(thing.stride()),
            "requires_grad": thing.requires_grad and not _used_up(thing), "grad": None if grad is None else array(grad),
        }  # fmt: skip
    if isinstance(thing, hw.nn.Module):
        grads = {k: None if p.grad is None else array(p.grad) for k, p in thing.named_parameters()}
        return {"state": frozen(thing.state_dict()), "grads": grads, "modes": [m.training for m in thing.modules()]}
    if hasattr(thing, "state_dict"):  # optimisers and schedules
        return frozen(thing.state_dict())
    if isinstance(thing, dict):
        return {k: frozen(v) for k, v in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [frozen(v) for v in thing]
    return thing


def assert_same(got: Any, want: Any, what: str = "", tolerance: float = TOLERANCE) -> None:
    """Equal trees of arrays (to the tolerance) and of other values."""
    if isinstance(want, np.ndarray):
        assert isinstance(got, np.ndarray), f"{what}: {got!r} instead of an array"
        assert got.dtype == want.dtype, f"{what}: {got.dtype}, eager {want.dtype}"
        assert got.shape == want.shape, f"{what}: shape {got.shape}, eager {want.shape}"
        if tolerance == 0 or want.dtype.kind not in "fc":
            np.testing.assert_array_equal(got, want, err_msg=what)
        else:
            finite = np.abs(want[np.isfinite(want)])
            scale = float(finite.max()) if finite.size else 1.0
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale, err_msg=what)
        return
    if isinstance(want, dict):
        assert isinstance(got, dict) and list(map(str, got)) == list(map(str, want)), f"{what}: {got!r}, eager {want!r}"
        for key in want:
            assert_same(got[key], want[key], f"{what}[{key!r}]", tolerance)
        return
    if isinstance(want, (list, tuple)):
        assert type(got) is type(want) and len(got) == len(want), f"{what}: {got!r}, eager {want!r}"
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_same(g, w, f"{what}[{i}]", tolerance)
        return
    if isinstance(want, float) and want != want:
        assert got != got, f"{what}: {got!r}, eager nan"
        return
    assert type(got) is type(want) and got == want, f"{what}: {got!r}, eager {want!r}"


def copied(args: Sequence[Any]) -> list[Any]:
    """Tensor arguments of their own for a call."""
    return [a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, hw.Tensor) else a for a in args]


Maker = Callable[[], tuple[Callable[..., Any], Any]]


def trail(make: Maker, calls: Sequence[Sequence[Any]], compiled: Callable[[int], bool]) -> tuple[list[Any], Any]:
    """What holds after each call of a fresh step; call i is compiled or not."""
    hw.manual_seed(11)
    step, state = make()
    program = hw.compile(step)
    found = []
    for i, args in enumerate(calls):
        own = copied(args)
        result = (program if compiled(i) else step)(*own)
        found.append({"result": frozen(result), "arguments": frozen(own), "state": frozen(state)})
        del result
    found.append({"random": array(hw.get_rng_state())})
    return found, program


def check_steps(
    make: Maker, calls: Sequence[Sequence[Any]], captures: int | None = None, tolerance: float = TOLERANCE
) -> hw.compiler.CompiledFunction:
    """make() gives (step, state). Compiled calls, and compiled and eager ones in turn, leave what eager ones leave."""
    want, _ = trail(make, calls, lambda i: False)
    got, program = trail(make, calls, lambda i: True)
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        assert_same(g, w, f"compiled, call {i}: ", tolerance)
    if captures is not None:
        assert program.captures == captures, f"captured {program.captures} times: {program.last_reason}"
    for odd in (0, 1):
        got, _ = trail(make, calls, lambda i: i % 2 == odd)
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_same(g, w, f"in turn from {odd}, call {i}: ", tolerance)
    return program
