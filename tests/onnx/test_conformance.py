"""The conformance cases of the package onnx, run through onnx.backend.base.Backend. They take 20 seconds, most of it onnx making them."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path
from typing import Any

import pytest

onnx = pytest.importorskip("onnx", reason="the conformance cases come with the package onnx: pip install onnx")

from onnx.backend.test.loader import load_model_tests  # noqa: E402
from onnx.backend.test.runner import Runner  # noqa: E402

import headwater as hw  # noqa: E402
from headwater.onnx.backend import HeadwaterBackend  # noqa: E402

KNOWN = dict(
    line.split(": ", 1) for line in Path(__file__).with_name("known_failures.txt").read_text().splitlines() if line[:1] not in ("", "#")
)


def array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def stored(case: Any) -> list[tuple[list[Any], list[Any]]]:
    """The inputs and outputs in a case's folder."""
    made = []
    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        sides = []
        for side in ("input", "output"):
            files = sorted(folder.glob(f"{side}_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
            sides.append([onnx.numpy_helper.to_array(onnx.TensorProto.FromString(f.read_bytes())) for f in files])
        made.append((sides[0], sides[1]))
    return made


def problem(case: Any) -> str:
    """Why a case fails; empty if it passes."""
    try:
        model = case.model if case.model is not None else onnx.load(Path(case.model_dir) / "model.onnx")
        prepared = HeadwaterBackend.prepare(model)
        for inputs, outputs in case.data_sets or stored(case):
            Runner.assert_similar_outputs([array(o) for o in outputs], prepared.run([array(i) for i in inputs]), case.rtol, case.atol)
    except (Exception, AssertionError) as error:
        return f"{type(error).__name__}: {error}"[:500]
    return ""


@functools.cache
def node_cases() -> list[Any]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return collect_testcases(None)


@pytest.mark.timeout(400)
def test_node_cases() -> None:
    cases = node_cases()
    hw.manual_seed(0)
    failed = {c.name: text for c in cases if (text := problem(c))}
    new = {name: text for name, text in failed.items() if name not in KNOWN}
    assert not new, "cases that passed fail:\n" + "\n".join(f"{n}: {t}" for n, t in new.items())
    names = {c.name for c in cases}
    fixed = sorted(n for n in KNOWN if n in names and n not in failed and not KNOWN[n].startswith("may pass"))
    assert not fixed, f"take these out of known_failures.txt, they pass: {fixed}"
    assert len(failed) <= 0.03 * len(cases)


# Gradient differentiates a graph inside of the graph.
_NOT_SUPPORTED = {"simple": {"test_gradient_of_add", "test_gradient_of_add_and_mul"}}


@pytest.mark.parametrize("kind, least", [("simple", 20), ("pytorch-converted", 80), ("pytorch-operator", 30)])
def test_small_models(kind: str, least: int) -> None:
    cases = load_model_tests(kind=kind)
    failed = {c.name: text for c in cases if (text := problem(c))}
    assert set(failed) == _NOT_SUPPORTED.get(kind, set()), failed
    assert len(cases) - len(failed) >= least


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_networks_with_made_up_weights() -> None:
    """AlexNet, DenseNet, Inception, ResNet and others against the outputs that are stored beside them."""
    folder = Path(onnx.__file__).parent / "backend/test/data/light"
    import numpy as np

    for path in sorted(folder.glob("*.onnx")):
        output = onnx.numpy_helper.to_array(onnx.TensorProto.FromString((folder / f"{path.stem}_output_0.pb").read_bytes()))
        model = onnx.load(path)
        arrays = {t.name for t in model.graph.initializer}
        (data,) = [i for i in model.graph.input if i.name not in arrays]
        shape = [d.dim_value for d in data.type.tensor_type.shape.dim]
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / np.prod(shape)  # as the package onnx makes it
        (got,) = HeadwaterBackend.prepare(model).run([x.astype(np.float32)])
        np.testing.assert_allclose(got, output, rtol=1e-3, atol=1e-5, err_msg=path.name)
