"""`headwater check`: runs the tests in a frozen model. `headwater run`: runs it, and times it.
`headwater prune`: writes a runtime for it alone."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections import defaultdict
from typing import Any

_ORIGIN = 48  # characters shown


def _key(file: str | None) -> bytes | None:
    if file is None:
        return None
    with open(file, "rb") as opened:
        return opened.read()


def check_main(path: str, tolerance: float, as_json: bool, key_file: str | None = None) -> int:
    """0 when the file is whole and its tests give what they should; 1 otherwise."""
    import headwater as hw

    try:
        model = hw.infer.load(path, key=_key(key_file))
        found = model.check()
    except (ValueError, RuntimeError, OSError) as error:
        print(f"headwater check: {error}", file=sys.stderr)
        return 1
    tests = sum(form["tests"] for form in model.forms)
    if as_json:
        print(json.dumps({"model": model.name, "tests": tests, "difference": found, "passed": found <= tolerance}))
    else:
        print(f"{path}: {model.name}, frozen by {model.producer}; weights are whole")
        print(f"{tests} tests, largest difference {found:.1e} of the largest value (allowed: {tolerance:.0e})")
    if found > tolerance:
        print("headwater check: that is more than allowed", file=sys.stderr)
        return 1
    return 0


def _inputs(model: Any, given: list[str], form: int) -> list[Any]:
    """Test inputs or zeros of a form, but those of the command line from .npy files."""
    import headwater as hw

    inputs = model.test_inputs(form) or [hw.zeros(shape, dtype=dtype) for dtype, shape in model.forms[form]["inputs"]]
    for text in given:
        name, _, path = text.rpartition("=")
        if name and name not in model.inputs:
            raise ValueError(f"{model.name} has no input '{name}'; it takes {', '.join(model.inputs)}")
        import numpy

        inputs[model.inputs.index(name) if name else 0] = hw.from_numpy(numpy.load(path, allow_pickle=False))
    return inputs


def _benchmark(model: Any, inputs: list[Any], seconds: float) -> dict[str, float]:
    """Latencies in milliseconds."""
    model(*inputs)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 10:
        start = time.perf_counter()
        model(*inputs)
        times.append(1e3 * (time.perf_counter() - start))
    times.sort()
    return {f"p{p}": times[min(len(times) - 1, len(times) * p // 100)] for p in (50, 90, 99)} | {"calls": len(times)}


def _table(model: Any, inputs: list[Any]) -> list[dict[str, Any]]:
    """Kernel calls by operator and kernel, the slowest first; the least of five runs for each call."""
    runs = [model.step_times(*inputs) for _ in range(5)]
    found: dict[tuple[str, str], dict[str, Any]] = {}
    slowest: dict[tuple[str, str], int] = defaultdict(int)
    for steps in zip(*runs, strict=True):
        step, least = steps[0], min(s.nanoseconds for s in steps)
        key = (step.op, step.kernel)
        row = found.setdefault(key, {"op": step.op, "kernel": step.kernel, "calls": 0, "microseconds": 0.0, "slowest": ""})
        row["calls"] += 1
        row["microseconds"] += least / 1000
        if least >= slowest[key]:
            slowest[key], row["slowest"] = least, step.origin
    return sorted(found.values(), key=lambda r: -r["microseconds"])


_INTEGERS = ("_linear_int8", "_conv2d_int8", "_conv2d_int8_both")


def _compared(model: Any, path: str, inputs: list[Any], threads: str, against: str | None, seconds: float) -> list[dict[str, Any]]:
    """Medians in milliseconds of the model and the other one by numbers of threads, in turns so that load on the machine meets all."""
    import headwater as hw

    counts = [int(n) for n in threads.split(",")] if threads else [0]
    others = [(path, model.session())] if against is None else [(path, model.session()), (against, hw.infer.load(against))]
    ways: list[tuple[dict[str, Any], Any, list[float]]] = []
    for file, loaded in others:
        for count in counts:
            session = loaded.session()
            session.team(count)
            session(*inputs)
            row = {"model": file, "threads": count or hw.get_num_threads(), "integers": _in_integers(session, inputs)}
            ways.append((row, session, []))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(ways[0][2]) < 5:
        for _, session, times in ways:
            start = time.perf_counter()
            session(*inputs)
            times.append(1e3 * (time.perf_counter() - start))
    for row, _, times in ways:
        row["p50"] = sorted(times)[len(times) // 2]
    return [row for row, _, _ in ways]


def _in_integers(model: Any, inputs: list[Any]) -> bool:
    return any(step.op in _INTEGERS for step in model.step_times(*inputs))


def _verdicts(rows: list[dict[str, Any]]) -> list[str]:
    """For each number of threads, where one of two models is computed in integers and the other is not: which is faster."""
    said = []
    for count in dict.fromkeys(row["threads"] for row in rows):
        integers = [r for r in rows if r["threads"] == count and r["integers"]]
        floats = [r for r in rows if r["threads"] == count and not r["integers"]]
        if integers and floats:
            ratio = integers[0]["p50"] / floats[0]["p50"]
            word = "slower than" if ratio > 1 else "no slower than"
            said.append(f"{count} threads: integers are {word} floats on this machine, {ratio:.2f} of their time")
    return said


def run_main(
    path: str, given: list[str], form: int, benchmark: bool, seconds: float, out: str | None, as_json: bool,
    threads: str = "", against: str | None = None, key_file: str | None = None, fit: bool = False,
    most_error: float | None = None,
) -> int:
    """0; 1 when the model cannot be loaded or run."""
    import headwater as hw

    from . import fit as fitting
    from .onnx_variants import of_onnx

    try:
        load, key = hw.infer.load, _key(key_file)  # imports the room
        from_onnx = path.endswith(".onnx")
        if most_error is not None and not fit:
            raise ValueError("--error belongs to --fit")
        if fit:
            names = [] if from_onnx else given
            return fitting.fit_main(path, given, lambda m: _inputs(m, names, form), seconds, out, as_json, key, most_error)
        source = of_onnx(path, given) if from_onnx else path
        start = time.perf_counter()
        model = load(source, key=key)
        loaded = 1e3 * (time.perf_counter() - start)
        if not 0 <= form < len(model.forms):
            raise ValueError(f"{model.name} has {len(model.forms)} sets of shapes, there is no number {form}")
        inputs = _inputs(model, [] if from_onnx else given, form)  # of ONNX they are the tests that were just made
        results = model.run(dict(zip(model.inputs, inputs, strict=True)))
    except (ValueError, RuntimeError, IndexError, NotImplementedError, ImportError, OSError) as error:
        print(f"headwater run: {error}", file=sys.stderr)
        return 1
    if out is not None:
        import numpy

        numpy.savez(out, **{name: value.numpy() for name, value in results.items()})
    if not benchmark:
        for name, value in results.items():
            print(f"{name}: {value}")
        return 0
    times, rows = _benchmark(model, inputs, seconds), _table(model, inputs)
    compared: list[dict[str, Any]] = []
    if threads or against:
        try:
            compared = _compared(model, path, inputs, threads, against, seconds)
        except (ValueError, RuntimeError, OSError) as error:
            print(f"headwater run: {error}", file=sys.stderr)
            return 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    memory = {"weights": model.weight_bytes, "working": model.bytes, "peak_process": peak}
    if as_json:
        report = {"load_ms": loaded, "milliseconds": times, "bytes": memory, "operators": rows}
        if compared:
            report |= {"compared": compared, "verdicts": _verdicts(compared)}
        print(json.dumps(report, indent=1))
        return 0
    _print(model, loaded, times, memory, rows)
    for row in compared:
        print(f"  p50 {row['p50']:>9.3f} ms with {row['threads']} threads, {'integers' if row['integers'] else 'floats'}: {row['model']}")
    for line in _verdicts(compared):
        print(f"  {line}")
    return 0


def _print(model: Any, loaded: float, times: dict[str, float], memory: dict[str, int], rows: list[dict[str, Any]]) -> None:
    import headwater as hw
    from headwater.compiler.inspection import size_text

    print(f"{model.name}: loaded in {loaded:.1f} ms; {hw.get_num_threads()} threads")
    print(f"  p50 {times['p50']:.3f} ms, p90 {times['p90']:.3f} ms, p99 {times['p99']:.3f} ms of {times['calls']:.0f} calls")
    print(
        f"  weights {size_text(memory['weights'])}, working memory {size_text(memory['working'])}, "
        f"most that the process held {size_text(memory['peak_process'])}"
    )
    if "preprocess" in model.notes:
        print(f"  takes pixels; in the file: {model.notes['preprocess']}")
    total = sum(row["microseconds"] for row in rows) or 1.0
    print(f"  {'operator':<24}{'kernel':<12}{'calls':>6}{'us':>11}{'part':>8}  slowest call at")
    for row in rows:
        part = row["microseconds"] / total
        origin = row["slowest"] if len(row["slowest"]) <= _ORIGIN else "..." + row["slowest"][3 - _ORIGIN :]
        print(f"  {row['op']:<24}{row['kernel']:<12}{row['calls']:>6}{row['microseconds']:>11.1f}{part:>8.1%}  {origin}")


def prune_main(models: list[str], out: str, target: str, isa: str | None, key_file: str | None = None) -> int:
    """Says what was written, and how it is built."""
    from headwater.infer.prune import PruneError, prune

    try:
        selection = prune(models, out, target, isa, _key(key_file))
    except (PruneError, ValueError, RuntimeError, OSError) as error:
        print(f"headwater prune: {error}", file=sys.stderr)
        return 1
    print(f"{out}: a runtime for {', '.join(selection.models)}: {len(selection.kernels)} kernels, {len(selection.functors)} loops")
    print(f"build it: cd {out} && cmake -B build && cmake --build build -j")
    return 0
