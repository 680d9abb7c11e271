"""Operators with an ONNX mapping go out and come back on the samples of their own tests; ONNX Runtime agrees where it has the operator."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx", reason="pip install onnx")

import headwater as hw  # noqa: E402
import headwater.onnx as ox  # noqa: E402
from headwater.onnx.export.exporter import relative_error  # noqa: E402
from headwater.onnx.values import _to_numpy  # noqa: E402

OPS = Path(__file__).parents[1] / "ops"
NOT_EXPORTED = dict(
    line.split(": ", 1) for line in Path(__file__).with_name("not_exported.txt").read_text().splitlines() if line[:1] not in ("", "#")
)
MOST_SAMPLES = 3


@pytest.fixture(scope="module")
def tests() -> dict[str, Any]:
    """The OpTest of every operator, from the modules that are there already when the whole suite runs."""
    sys.path.insert(0, str(OPS))
    found: dict[str, Any] = {}
    for path in sorted(OPS.glob("test_*.py")):
        module = sys.modules.get(path.stem)
        if module is None:
            spec = importlib.util.spec_from_file_location(path.stem, path)
            assert spec and spec.loader
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        for name, value in vars(module).items():
            if name.endswith("_infer") and callable(value):
                test = next((c.cell_contents for c in value.__closure__ or () if hasattr(c.cell_contents, "sample_maker")), None)
                if test is not None:
                    found[test.name] = test
    assert len(found) > 250
    return found


def problem(test: Any, path: Path) -> str:
    """Why an operator does not survive the way out and back; empty if it does."""
    from convert import map_arrays, to_hw

    dtype = next(d for d in ("float32", "float64", "int64", "bool", *test.dtypes) if d in test.dtypes)
    done = 0
    for sample in test.samples(dtype):
        tensors: list[Any] = []

        def placed(array: Any, name: str) -> Any:
            tensors.append(to_hw(array, name))
            return len(tensors) - 1, "tensor"

        args, kwargs = map_arrays(sample.args, sample.kwargs, dtype, placed)

        def function(*given: Any) -> Any:
            def back(v: Any) -> Any:
                if isinstance(v, tuple) and len(v) == 2 and v[1] == "tensor":
                    return given[v[0]]
                return type(v)(back(x) for x in v) if isinstance(v, (list, tuple)) else v

            return test.function(*[back(a) for a in args], **{k: back(v) for k, v in kwargs.items()})

        if not tensors or any(t.numel() == 0 for t in tensors):
            continue
        try:
            ox.export(function, tensors, path, tolerance=2e-4)
            made = ox.load(path)(*tensors)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        wanted = _flat(function(*tensors))
        for got, want in zip(made if isinstance(made, tuple) else (made,), wanted):
            error = relative_error(_to_numpy(got.detach()), _to_numpy(want.detach()))
            if got.dtype != want.dtype or not error <= 2e-4:
                return f"{sample!r}: differs by {error:.1e} after loading, {got.dtype} and {want.dtype}"
        done += 1
        if done == MOST_SAMPLES:
            break
    return ""


def _flat(value: Any) -> list[Any]:
    return [value] if isinstance(value, hw.Tensor) else [t for v in value for t in _flat(v)]


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_operators_go_out_and_come_back(tests: dict[str, Any], tmp_path: Path) -> None:
    failed, tried = {}, 0
    for name, test in sorted(tests.items()):
        facts = test.info
        if test.random or facts["random"] or not facts["onnx"] or not set(test.dtypes) - {"complex64", "complex128"}:
            continue
        tried += 1
        if text := problem(test, tmp_path / "op.onnx"):
            failed[name] = text
    new = {n: t for n, t in failed.items() if n not in NOT_EXPORTED}
    assert not new, "\n".join(f"{n}: {t[:300]}" for n, t in new.items())
    fixed = [n for n in NOT_EXPORTED if n in tests and n not in failed]
    assert not fixed, f"take these out of not_exported.txt: {fixed}"
    assert tried > 150


