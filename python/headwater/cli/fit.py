"""`headwater run --fit`: which way of computing a model is fastest here, by measurement, and the best of it put into the file.

Searched are the number of threads and, of an ONNX file, algorithms, layout and, within a bound on the error that must be given,
precision (`onnx_variants.py`)."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from .onnx_variants import Way, variants_of_onnx

_NOISE = 0.97  # another way than the default must take less than this part of its time


def _counts() -> list[int]:
    """Numbers of threads that are tried: all that the process uses, and fewer."""
    import headwater as hw

    most = hw.get_num_threads()
    return [most, *(n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n < most)]


def _measured(variants: dict[Way, bytes], pick: Any, seconds: float) -> list[dict[str, Any]]:
    """Medians by way and threads, in turns, so that load on the machine meets all."""
    import headwater as hw

    ways: list[tuple[dict[str, Any], Any, list[Any], list[float]]] = []
    for way, data in variants.items():
        model = hw.infer.load(data)
        for count in _counts():
            session = model.session()
            session.team(count)
            inputs = pick(session)
            session(*inputs)
            ways.append(({**way._asdict(), "threads": count}, session, inputs, []))
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


def _variants(path: str, given: list[str], key: bytes | None, most_error: float | None) -> dict[Way, bytes]:
    """Files to choose from, the default first; a frozen model is made already, so there is one."""
    import headwater as hw

    if path.endswith(".onnx"):
        return variants_of_onnx(path, given, most_error)
    if most_error is not None:
        raise ValueError("--error chooses the precision in which a file is made; give the ONNX file, not a frozen model")
    model = hw.infer.load(path, key=key)
    return {Way("as frozen", "as frozen", "as frozen"): bytes(model._native.with_notes(list(model.notes.items())))}


def fit_main(
    path: str, given: list[str], pick: Any, seconds: float, out: str | None, as_json: bool, key: bytes | None,
    most_error: float | None = None,
) -> int:
    """Prints the table, writes the file. `pick(model)` gives the inputs it is timed on."""
    import headwater as hw
    from headwater import _C
    from headwater.infer.freeze import _written

    out = out or str(Path(path).with_suffix(".hwm"))
    try:
        variants = _variants(path, given, key, most_error)
        rows = _measured(variants, pick, seconds)
        best, machine = _best(rows), _C.machine_name()
        model = hw.infer.load(variants[Way(best["algorithms"], best["layout"], best["precision"])])
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
        way = f"{row['algorithms']:<12}{row['layout']:<10}{row['precision']:<10}"
        print(f"  {way}{row['threads']:>4} threads {row['p50']:>10.3f} ms {ratio:>6.2f}{mark}")
    print(f"{out}: written")
    return 0
