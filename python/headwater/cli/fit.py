"""`headwater run --fit`: which algorithms and how many threads are fastest here, by measurement, and the best of it put into the file.
Also what `headwater run` makes of an ONNX file: a frozen model in memory."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

_NOISE = 0.97  # another way than the default must take less than this part of its time
_ALGORITHMS = ("heuristic", "off", "measure")  # hw.tuning; the first is the default


def of_onnx(path: str, given: list[str], algorithms: str = "heuristic") -> bytes:
    """A frozen model of an ONNX file, for the shapes of the `.npy` files given, else for those that it declares, with zeros."""
    import headwater as hw

    module = hw.onnx.load(path)
    inputs = _example_inputs(module, given)
    # Parameters by the names of the graph's inputs, as far as Python has such names.
    names = [re.sub(r"\W|^(?=\d)", "_", name) for name in module.input_names]
    if len(set(names)) < len(names):
        names = [f"input{i}" for i in range(len(names))]

    def call(*args: Any) -> Any:
        return module(*args)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    module.eval()
    with hw.tuning.use(algorithms):  # type: ignore[arg-type]
        data = hw.freeze(call, tuple(inputs), output_names=module.output_names, name=Path(path).stem)
    assert data is not None
    return data


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


def _counts() -> list[int]:
    """Numbers of threads that are tried: all that the process uses, and fewer."""
    import headwater as hw

    most = hw.get_num_threads()
    return [most, *(n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n < most)]


def _measured(variants: dict[str, bytes], pick: Any, seconds: float) -> list[dict[str, Any]]:
    """Medians by algorithms and threads, in turns, so that load on the machine meets all."""
    import headwater as hw

    ways: list[tuple[dict[str, Any], Any, list[Any], list[float]]] = []
    for algorithms, data in variants.items():
        model = hw.infer.load(data)
        for count in _counts():
            session = model.session()
            session.team(count)
            inputs = pick(session)
            session(*inputs)
            ways.append(({"algorithms": algorithms, "threads": count}, session, inputs, []))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(ways[0][3]) < 5:
        for _, session, inputs, times in ways:
            start = time.perf_counter()
            session(*inputs)
            times.append(1e3 * (time.perf_counter() - start))
    for row, _, _, times in ways:
        row["p50"] = sorted(times)[len(times) // 2]
    return [row for row, _, _, _ in ways]


def _best(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The fastest, or the default (the first row) where that is as fast but for noise."""
    fastest = min(rows, key=lambda row: float(row["p50"]))
    return fastest if fastest["p50"] < _NOISE * rows[0]["p50"] else rows[0]


def _variants(path: str, given: list[str], key: bytes | None) -> dict[str, bytes]:
    """Files to choose from by the algorithms in them; a frozen model has its algorithms already."""
    import headwater as hw

    if not path.endswith(".onnx"):
        model = hw.infer.load(path, key=key)
        return {"as frozen": bytes(model._native.with_notes(list(model.notes.items())))}
    variants: dict[str, bytes] = {}
    for algorithms in _ALGORITHMS:
        data = of_onnx(path, given, algorithms)
        if data not in variants.values():
            variants[algorithms] = data
    return variants


def fit_main(path: str, given: list[str], pick: Any, seconds: float, out: str | None, as_json: bool, key: bytes | None) -> int:
    """Prints the table, writes the file. `pick(model)` gives the inputs it is timed on."""
    import headwater as hw
    from headwater import _C
    from headwater.infer.freeze import _written

    out = out or str(Path(path).with_suffix(".hwm"))
    try:
        variants = _variants(path, given, key)
        rows = _measured(variants, pick, seconds)
        best, machine = _best(rows), _C.machine_name()
        model = hw.infer.load(variants[best["algorithms"]])
        notes = {**model.notes, f"fit {machine}": f"threads={best['threads']}"}
        data = bytes(model._native.with_notes(list(notes.items())))
        _written(data if key is None else _C.encrypt_frozen(data, key), out)
    except (ValueError, RuntimeError, NotImplementedError, ImportError, OSError) as error:
        print(f"headwater run: {error}", file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps({"machine": machine, "rows": rows, "best": best, "file": os.fspath(out)}, indent=1))
        return 0
    print(f"{path} on {machine}: medians of calls in turns")
    for row in rows:
        mark = "  <- taken" if row is best else ""
        ratio = row["p50"] / rows[0]["p50"]
        print(f"  {row['algorithms']:<12}{row['threads']:>4} threads {row['p50']:>10.3f} ms {ratio:>6.2f}{mark}")
    print(f"{out}: written")
    return 0
