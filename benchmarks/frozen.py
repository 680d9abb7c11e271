"""Frozen models: time to load BERT-base, the cost of a call from C and from Python, what idle threads cost.

    python benchmarks/frozen.py            needs build/release (for C) and gcc
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT)]

import headwater as hw  # noqa: E402
from models.bert.model import bert_base  # noqa: E402

LOADS = 9


def ten_operators() -> hw.nn.Module:
    """Five small linear layers with activations between: ten operators."""
    nn = hw.nn
    return nn.Sequential(*[layer for _ in range(5) for layer in (nn.Linear(8, 8), nn.Tanh())])


def c_program(folder: str) -> tuple[str, dict[str, str]]:
    """examples/c/run.c, built against build/release, and the environment in which it finds the library."""
    library, program = ROOT / "build/release", f"{folder}/run"
    subprocess.run(
        ["gcc", "-O2", ROOT / "examples/c/run.c", f"-I{ROOT}/src/infer", f"-L{library}", "-lheadwater_infer", f"-Wl,-rpath,{library}"]
        + ["-o", program],
        check=True,
    )
    return program, {**os.environ, "HEADWATER_NUM_THREADS": os.environ.get("HEADWATER_NUM_THREADS", "1")}


def from_c(program: str, environment: dict[str, str], model: str, calls: int) -> tuple[float, float]:
    """Milliseconds to load, the median of fresh processes; microseconds of a call, the least median of these."""
    loads, medians = [], []
    for _ in range(LOADS):
        out = subprocess.run([program, model, str(calls)], env=environment, check=True, capture_output=True, text=True).stdout
        load, median = re.search(r"loaded in ([\d.]+) ms", out), re.search(r"median ([\d.]+) us", out)
        assert load and median, out
        loads.append(float(load[1]))
        medians.append(float(median[1]))
    return statistics.median(loads), min(medians)


def call_microseconds(function: object, x: hw.Tensor, calls: int = 5000) -> float:
    assert callable(function)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(calls):
            function(x)
        times.append((time.perf_counter() - start) / calls)
    return 1e6 * min(times)


def idle_seconds(model: hw.infer.Model, inputs: list[hw.Tensor]) -> float:
    """CPU seconds that a process with its threads started takes in two seconds of sleep."""
    for _ in range(3):
        model(*inputs)
    time.sleep(0.2)
    before = sum(os.times()[:2])
    time.sleep(2.0)
    return sum(os.times()[:2]) - before


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program, environment = c_program(folder)
        small, bert = f"{folder}/small.hwm", f"{folder}/bert.hwm"
        net, x = ten_operators().eval(), hw.ones(1, 8)
        hw.freeze(net, x, small)
        load, call = from_c(program, environment, small, 20000)
        frozen, compiled = hw.infer.load(small), hw.compile(net)
        with hw.no_grad():
            compiled(x)
            print(f"10 operators: loaded in {load:.2f} ms; a call {call:.2f} us from C, {call_microseconds(frozen, x):.2f} us from")
            print(f"  Python, hw.compile {call_microseconds(compiled, x):.2f}, eager {call_microseconds(net, x):.2f}")
        hw.manual_seed(0)
        ids = hw.ones(1, 128, dtype=hw.int64)
        for packed in (True, False):
            start = time.perf_counter()
            hw.freeze(bert_base(), ids, bert, packed=packed)
            took = time.perf_counter() - start
            load, call = from_c(program, environment, bert, 3)
            size = os.path.getsize(bert) / 2**20
            print(f"BERT-base, {'packed' if packed else 'plain'}: {size:.0f} MiB, frozen in {took:.1f} s, loaded in {load:.1f} ms", end="")
            print(f" (file in the page cache), a call {call / 1000:.1f} ms")
        print(f"idle after {hw.get_num_threads()} threads ran: {idle_seconds(hw.infer.load(bert), [ids]):.3f} CPU seconds in 2 s")


if __name__ == "__main__":
    main()
