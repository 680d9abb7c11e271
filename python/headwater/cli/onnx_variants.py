"""What `headwater run` makes of an ONNX file: a frozen model in memory; and the ways to make it that `--fit` chooses among.

All ways compute in the file's precision, unless a bound on the error is given: then bfloat16 is one more, if the outputs on the given
inputs stay within the bound. The model keeps a note of it.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Way(NamedTuple):
    """How a file is made: the mode of hw.tuning, blocks of channels in convolutions or not, and the precision."""

    algorithms: str = "heuristic"
    layout: str = "blocked"
    precision: str = "as given"


_ALGORITHMS = ("heuristic", "off", "measure")  # the first is the default
_LAYOUTS = ("blocked", "plain")
_OFF = "HEADWATER_PASSES_OFF"


def variants_of_onnx(path: str, given: list[str], most_error: float | None) -> dict[Way, bytes]:
    """The files that differ, by the way they were made; the default first.

    Args:
        given: `.npy` files, as of `headwater run --input`.
        most_error: None: only the file's own precision. Else bfloat16 is allowed where no output differs by more than this part
            of its largest value on the given inputs.
    """
    variants: dict[Way, bytes] = {}
    for layout in _LAYOUTS:
        for algorithms in _ALGORITHMS:
            data = of_onnx(path, given, algorithms, layout)
            if data not in variants.values():
                variants[Way(algorithms, layout)] = data
    if most_error is not None:
        for layout in _LAYOUTS:
            made = _in_bfloat16(path, given, layout, variants[Way()], most_error)
            if made is not None and made not in variants.values():
                variants[Way("heuristic", layout, "bfloat16")] = made
    return variants


def _in_bfloat16(path: str, given: list[str], layout: str, exact: bytes, most_error: float) -> bytes | None:
    """The file with products and convolutions in bfloat16; None where it errs by more, or cannot be made."""
    import headwater as hw
    from headwater.infer import FreezeError

    if not 0 <= most_error < 1:
        raise ValueError(f"--error is a part of the largest value, between 0 and 1; got {most_error}")
    reference = hw.infer.load(exact)
    if len({text.rpartition("=")[0] for text in given}) < len(reference.inputs):
        raise ValueError("--error needs --input NAME=FILE.npy for each input: what lower precision does to zeros says nothing")
    try:
        data = of_onnx(path, given, "heuristic", layout, hw.bfloat16)
    except FreezeError:
        return None
    model = hw.infer.load(data)
    off = _largest_difference(reference, model)
    if not off <= most_error:
        return None
    note = f"bfloat16: off by at most {off:.1e} of the largest value on the inputs that it was fitted on; {most_error:.1e} was allowed"
    return bytes(model._native.with_notes(list({**model.notes, "precision": note}.items())))


def _largest_difference(reference: Any, model: Any) -> float:
    """Of outputs on the test inputs, as a part of each one's largest value."""
    import numpy

    inputs = reference.test_inputs(0)
    worst = 0.0
    for a, b in zip(reference.run(dict(zip(reference.inputs, inputs))).values(), model.run(dict(zip(model.inputs, inputs))).values()):
        x, y = a.numpy().astype(numpy.float64), b.numpy().astype(numpy.float64)
        scale = numpy.abs(x).max(initial=0) or 1.0
        worst = max(worst, float(numpy.abs(x - y).max(initial=0) / scale))
    return worst


@contextlib.contextmanager
def _layout(name: str) -> Iterator[None]:
    """Without the pass that blocks channels, for "plain"."""
    before = os.environ.get(_OFF)
    if name == "plain":
        os.environ[_OFF] = ",".join(filter(None, (before, "block_convolutions")))
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_OFF, None)
        else:
            os.environ[_OFF] = before


def of_onnx(
    path: str, given: list[str], algorithms: str = "heuristic", layout: str = "blocked", precision: Any = None
) -> bytes:
    """A frozen model of an ONNX file, for the shapes of the `.npy` files given, else for those that it declares, with zeros.

    Args:
        precision: a dtype for autocast; outputs keep their dtypes.
    """
    import headwater as hw

    module = hw.onnx.load(path)
    inputs = _example_inputs(module, given)
    # Parameters by the names of the graph's inputs, as far as Python has such names.
    names = [re.sub(r"\W|^(?=\d)", "_", name) for name in module.input_names]
    if len(set(names)) < len(names):
        names = [f"input{i}" for i in range(len(names))]

    module.eval()
    dtypes = None
    if precision is not None:
        with hw.no_grad():
            dtypes = [t.dtype for t in _listed(module(*inputs))]

    def call(*args: Any) -> Any:
        if dtypes is None:
            return module(*args)
        with hw.autocast("cpu", dtype=precision):
            results = _listed(module(*args))
        return tuple(t.to(dtype) for t, dtype in zip(results, dtypes, strict=True))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    with _layout(layout), hw.tuning.use(algorithms):  # type: ignore[arg-type]
        data = hw.freeze(call, tuple(inputs), output_names=module.output_names, name=Path(path).stem)
    assert data is not None
    return data


def _listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _example_inputs(module: Any, given: list[str]) -> list[Any]:
    import numpy

    import headwater as hw
    from headwater.onnx.element_types import from_onnx

    arrays: dict[str, Any] = {}
    for text in given:
        name, _, file = text.rpartition("=")
        if name and name not in module.input_names:
            raise ValueError(f"the model has no input '{name}'; it takes {', '.join(module.input_names)}")
        arrays[name or module.input_names[0]] = numpy.load(file, allow_pickle=False)
    inputs = []
    for declared in module.input_specs:
        if declared.name not in arrays:
            if declared.shape is None or not all(isinstance(size, int) for size in declared.shape):
                raise ValueError(f"the size of {declared} is open; give --input {declared.name}=FILE.npy")
            arrays[declared.name] = numpy.zeros(declared.shape, from_onnx(declared.type))
        inputs.append(hw.from_numpy(arrays[declared.name]))
    return inputs
