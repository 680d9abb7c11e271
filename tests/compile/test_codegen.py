"""Generated code for regions: bit for bit what the regions give by tiles, and what happens without a compiler or with a damaged cache."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from same import array

import headwater as hw
from headwater.nn import functional as F

REASON = hw._C.codegen_missing()
needs_generator = pytest.mark.skipif(bool(REASON), reason=f"no code is generated here: {REASON}")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))


def run(step: Callable, args: list[hw.Tensor], mode: str, monkeypatch) -> tuple[list[np.ndarray], hw.compiler.CompiledFunction]:
    monkeypatch.setenv("HEADWATER_CODEGEN", mode)
    program = hw.compile(step)
    own = [a.clone() for a in args]
    result = program(*own)
    result = result if isinstance(result, (list, tuple)) else [result]
    return [array(r) for r in result] + [array(a) for a in own], program


def kernels(program: hw.compiler.CompiledFunction) -> list[tuple[str, str]]:
    return [(s.kernel, s.note) for p in program.inspect().programs for s in p.steps if s.body]


def same(step: Callable, args: list[hw.Tensor], monkeypatch) -> hw.compiler.CompiledFunction:
    """Tiles, generated code and eager mode agree bit for bit."""
    tiles, _ = run(step, args, "off", monkeypatch)
    code, program = run(step, args, "always", monkeypatch)
    for k, (got, want) in enumerate(zip(code, tiles, strict=True)):
        np.testing.assert_array_equal(got, want, err_msg=f"result {k}")
    eager = step(*[a.clone() for a in args])
    for got, want in zip(code, eager if isinstance(eager, (list, tuple)) else [eager], strict=False):
        np.testing.assert_array_equal(got, array(want))
    return program


UNARY = ["neg", "abs", "square", "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh",
         "sigmoid", "relu", "sinh", "cosh", "asinh", "acosh", "atanh", "asin", "acos", "atan", "erf", "erfc", "floor", "ceil", "trunc",
         "round", "frac", "sign", "sin", "cos", "lgamma"]  # fmt: skip
FUNCTIONS = [F.gelu, F.silu, F.elu, F.mish, F.softplus, F.leaky_relu, F.hardswish, F.logsigmoid, lambda x: F.gelu(x, approximate="tanh")]
TARGETS = [hw.float32, hw.float64, hw.bfloat16, hw.float16, hw.int32, hw.int64, hw.uint8, hw.bool, hw.int16]
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-38, -1e-41, 1e30, 0.5, 88.9, -104.2, 5.65]


def values(generator: np.random.Generator, shape: tuple[int, ...], dtype) -> hw.Tensor:
    if dtype in (hw.int32, hw.int64, hw.uint8, hw.int8, hw.int16):
        return hw.tensor(generator.integers(0 if dtype == hw.uint8 else -50, 50, shape)).to(dtype)
    if dtype == hw.bool:
        return hw.tensor(generator.integers(0, 2, shape) > 0)
    data = generator.standard_normal(shape).astype(np.float64) * generator.choice([0.1, 1.0, 10.0])
    flat = data.reshape(-1)
    flat[:: max(1, flat.size // 40)] = generator.choice(SPECIAL, flat[:: max(1, flat.size // 40)].size)
    return hw.tensor(data).to(dtype)


class RandomRegion:
    """A program of operators on (rows, columns) matrices, rows and columns broadcast, and reductions between them."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        generator = np.random.default_rng(seed)
        rows, columns = self.dice.choice([(7, 33), (64, 49), (5, 1024), (130, 16), (1, 700), (40, 8), (3, 5)])
        self.floating = self.dice.choice([hw.float32, hw.float32, hw.float32, hw.float64, hw.bfloat16, hw.float16])
        shapes = [(rows, columns), (rows, columns), (1, columns), (rows, 1), (columns,)]
        self.args = [values(generator, s, self.floating) for s in shapes]
        self.args.append(values(generator, (rows, columns), self.dice.choice([hw.int32, hw.int64, hw.uint8, hw.bool, hw.int8])))
        self.args.append(values(generator, (columns, rows), self.floating).t() if self.dice.random() < 0.2 else self.args[0] + 1)
        self.plan = [(self.dice.random(), self.dice.random(), self.dice.random()) for _ in range(self.dice.randint(3, 14))]

    def __call__(self, *args: hw.Tensor) -> list[hw.Tensor]:
        x, seen = list(args), list(args)
        for kind, first, second in self.plan:
            a, b = x[int(first * len(x))], x[int(second * len(x))]
            seen.append(self.node(kind, first, a, b))
            x.append(seen[-1])
        return seen[len(args) :][-3:]

    def node(self, kind: float, pick: float, a: hw.Tensor, b: hw.Tensor) -> hw.Tensor:
        f = a if a.dtype.is_floating_point else a.to(self.floating)
        b = b.to(hw.int32) if b.dtype == hw.bool and pick < 0.8 else b
        if kind < 0.35:
            return getattr(f, UNARY[int(pick * 997) % len(UNARY)])()
        if kind < 0.45:
            return FUNCTIONS[int(pick * 997) % len(FUNCTIONS)](f)
        if kind < 0.75:
            choices = [lambda: a + b, lambda: f * b, lambda: f - b * 1, lambda: f / b, lambda: hw.maximum(a, b), lambda: hw.minimum(f, b),
                       lambda: hw.where(a > b, a, b), lambda: (a == b) | (a < b), lambda: f.lerp(b.to(f.dtype), 0.25),
                       lambda: hw.where(a != 0, f, b), lambda: (f >= b).to(hw.int32) * 3]  # fmt: skip
            return choices[int(pick * 997) % len(choices)]()
        if kind < 0.85:
            return f.to(TARGETS[int(pick * 997) % len(TARGETS)])
        if kind < 0.93 and f.ndim == 2:
            return getattr(f, ["sum", "mean", "amax", "amin"][int(pick * 997) % 4])(int(pick * 91) % 2, keepdim=True)
        return f.softmax(-1) if kind < 0.97 else f.clamp(-1.5, 1.25)


@needs_generator
def test_random_regions(monkeypatch):
    generated = 0
    for seed in range(32):  # how many get code depends on the machine: rows shorter than a vector run as tiles
        region = RandomRegion(seed)
        with np.errstate(all="ignore"):
            generated += any(kernel == "generated" for kernel, _ in kernels(same(region, region.args, monkeypatch)))
    assert generated > 10, "the programs are to be ones for which code is generated"


@needs_generator
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_more_random_regions(seed, monkeypatch):
    region = RandomRegion(seed)
    with np.errstate(all="ignore"):
        same(region, region.args, monkeypatch)


@needs_generator
@pytest.mark.parametrize("dtype", [hw.float32, hw.float64, hw.bfloat16, hw.float16])
def test_every_function_at_special_values(dtype, monkeypatch):
    generator = np.random.default_rng(3)
    x, y = values(generator, (3, 200), dtype), values(generator, (3, 200), dtype)

    def step(x, y):
        return [(getattr(x, name)() + y) * 0.5 for name in UNARY] + [f(x) - y for f in FUNCTIONS]

    program = same(step, [x, y], monkeypatch)
    assert any(k == "generated" for k, _ in kernels(program))


@needs_generator
def test_code_in_place_over_an_input_with_a_ragged_end(monkeypatch):
    def step(x, y):
        x.mul_(2.0).add_(y).tanh_()
        return (x + 1).exp()

    x = hw.randn(3, 21)
    same(step, [x, hw.randn(3, 21)], monkeypatch)


@needs_generator
@pytest.mark.parametrize("dtype", [hw.float32, hw.bfloat16])
def test_results_that_are_written_past_the_cache(dtype, monkeypatch):
    monkeypatch.setenv("HEADWATER_STREAM_BYTES", "1000")
    x = hw.randn(100_003).to(dtype)  # the last piece is no whole vector
    same(lambda x, y: (x + y) * y - 1, [x, x * 0.5], monkeypatch)


@needs_generator
def test_inspect_says_what_is_generated_and_why_not(monkeypatch):
    x = hw.randn(64, 100)
    _, whole = run(lambda x: (x * 2 + 1).tanh(), [x], "always", monkeypatch)
    assert kernels(whole) == [("generated", "")]
    _, part = run(lambda x: ((x * 2 + 1).lgamma() * 3 + 1).tanh(), [x], "always", monkeypatch)
    [(kernel, note)] = kernels(part)
    assert kernel == "generated" and "of 6 operators in generated code: lgamma in f32 is no straight line" in note
    _, small = run(lambda x: (x * 2 + 1).tanh(), [x], "auto", monkeypatch)
    [(kernel, note)] = kernels(small)
    assert kernel == "tiles" and "too few elements" in note
    assert "too few elements" in str(small.inspect())


SCRIPT = """
import warnings, headwater as hw
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for _ in range(2):
        step = hw.compile(lambda x: (x * 2 + 1).tanh())
        y = step(hw.ones(300, 300))
        z = hw.compile(lambda x: (x * 3 + 1).exp())(hw.ones(300, 300))
stats = hw._C.codegen_stats()
print(float(y[0, 0]), stats["compiled"], stats["from_disk"], [str(w.message) for w in told])
"""


def child(**env: str) -> str:
    full = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **env}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=full, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_a_compiler_tiles_run_and_one_message_is_given(tmp_path):
    out = child(HEADWATER_LLVM="/nowhere/libLLVM.so", HEADWATER_CACHE_DIR=str(tmp_path))
    value, compiled, kept, messages = out.split(" ", 3)
    assert float(value) == pytest.approx(np.tanh(3)) and (compiled, kept) == ("0", "0")
    if "no code is generated for" not in REASON:
        assert messages.count("HEADWATER_LLVM=/nowhere/libLLVM.so cannot be opened") == 1, messages


@needs_generator
def test_the_next_process_finds_kernels_on_disk_and_damage_is_passed_over(tmp_path):
    first = child(HEADWATER_CACHE_DIR=str(tmp_path))
    assert first.split(" ")[1:3] == ["2", "0"]
    again = child(HEADWATER_CACHE_DIR=str(tmp_path), HEADWATER_LLVM="/nowhere/libLLVM.so")  # not even the library is needed
    assert again.split(" ")[1:3] == ["0", "2"] and "[]" in again
    kept = sorted(Path(tmp_path, "kernels").iterdir())
    assert len(kept) == 2
    kept[0].write_bytes(kept[0].read_bytes()[:-7])
    data = bytearray(kept[1].read_bytes())
    data[len(data) // 2] ^= 255
    kept[1].write_bytes(data)
    assert child(HEADWATER_CACHE_DIR=str(tmp_path)).split(" ")[:3] == [first.split(" ")[0], "2", "0"]


def test_switched_off(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, program = run(lambda x: (x * 2 + 1).tanh(), [hw.randn(300, 300)], "off", monkeypatch)
    assert [k for k, _ in kernels(program)] == ["tiles"]
