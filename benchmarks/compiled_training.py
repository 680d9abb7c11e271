"""Compiled training steps of the networks in models/: against eager Headwater, torch eager and torch.compile, in one run.

    python benchmarks/compiled_training.py [--threads 2] [--only REGEX] [--rounds 5] [--no-torch-compile] [--no-memory]
                                           [--budget] [--profile N] [--markdown FILE]

A step is: forward, loss, backward, optimiser, zero_grad. Peak memory is how far four steps raise the resident size of a process of
their own above what it holds once the library is imported; the memory of parameters is in it. `--budget` compiles the step also with
half of torch's peak: what is left of it for working memory beside parameters and optimiser state. `--profile N` prints the N most
expensive kinds of kernel calls of the compiled step. Torch's embedding tables get sparse gradients in "torch sparse".
"""
from __future__ import annotations

import argparse
import gc
import importlib
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "python")]


def work() -> dict[str, tuple[str, str, str, str]]:
    """Name: room in models/, what makes the network, kind of input and loss, optimiser."""
    return {
        "resnet50, batch 8": ("resnet", "resnet50", "images 8", "SGD momentum"),
        "resnet18, batch 8": ("resnet", "resnet18", "images 8", "SGD momentum"),
        "mobilenet_v2, batch 8": ("mobilenet_v2", "mobilenet_v2", "images 8", "SGD momentum"),
        "mlp 784-512-512-10, batch 64": ("mlp", "MLP", "pixels 64", "Adam"),
        "dlrm 26 tables, batch 512": ("dlrm", "DLRM", "clicks 512", "SGD"),
        "bert base, 4 x 128 tokens": ("bert", "BertForMaskedLM", "tokens 30522 4 128", "AdamW"),
        "lstm 2 x 650, 35 x 20 tokens": ("lstm", "LSTMModel", "tokens 10000 35 20", "SGD"),
    }


def arrays(kind: str) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    name, *sizes = kind.split()
    n = [int(s) for s in sizes]
    if name == "images":
        return (rng.standard_normal((n[0], 3, 224, 224)).astype("float32"),)
    if name == "pixels":
        return (rng.standard_normal((n[0], 784)).astype("float32"),)
    if name == "clicks":
        return rng.standard_normal((n[0], 13)).astype("float32"), rng.integers(0, 100_000, (26, n[0], 1))
    return (rng.integers(0, n[0], n[1:]),)


def optimizer_of(m: Any, name: str, parameters: Any) -> Any:
    if name == "SGD momentum":
        return m.optim.SGD(parameters, lr=1e-4, momentum=0.9)
    return getattr(m.optim, name)(parameters, lr=1e-4)


def step_of(way: str, name: str, budget: int = 0) -> Callable[[], object]:
    """One training step. `way`: headwater, compiled, torch, torch sparse, torch.compile."""
    room, make, kind, optimizer_name = work()[name]
    library = "torch" if way.startswith("torch") else "headwater"
    m = importlib.import_module(library)
    if library == "torch":
        from models.under_torch import import_under_torch

        model = getattr(import_under_torch(room), make)()
    else:
        model = getattr(importlib.import_module(f"models.{room}.model"), make)()
    if way == "torch sparse":
        for module in model.modules():
            if hasattr(module, "sparse"):
                module.sparse = True
    functional = importlib.import_module(f"{library}.nn.functional")
    optimizer = optimizer_of(m, optimizer_name, model.parameters())
    tensors = [m.tensor(a) for a in arrays(kind)]
    with m.no_grad():
        shape = tuple(model(*tensors).shape)
    rng = np.random.default_rng(1)
    clicks = kind.startswith("clicks")
    target = m.tensor(rng.random(shape).astype("float32") if clicks else rng.integers(0, shape[-1], shape[:-1]).reshape(-1))

    def step(target: Any, *inputs: Any) -> object:
        out = model(*inputs)
        value = functional.binary_cross_entropy(out, target) if clicks else functional.cross_entropy(out.reshape(-1, shape[-1]), target)
        value.backward()
        optimizer.step()
        optimizer.zero_grad()
        return value

    if way == "compiled":
        step = m.compile(step, memory_budget=budget) if budget else m.compile(step)
    if way == "torch.compile":
        step = _torch_compiled(m, model, functional, optimizer, clicks, shape)

    def run() -> float:
        return float(step(target, *tensors))

    run.step, run.arguments = step, (target, *tensors)  # type: ignore[attr-defined]
    return run


def _torch_compiled(m: Any, model: Any, functional: Any, optimizer: Any, clicks: bool, shape: tuple[int, ...]) -> Any:
    """Forward with its backward, and the optimiser's step, each through torch.compile: torch captures no backward() inside."""

    @m.compile
    def loss_of(target: Any, *inputs: Any) -> Any:
        out = model(*inputs)
        return functional.binary_cross_entropy(out, target) if clicks else functional.cross_entropy(out.reshape(-1, shape[-1]), target)

    update = m.compile(optimizer.step)

    def step(target: Any, *inputs: Any) -> object:
        value = loss_of(target, *inputs)
        value.backward()
        update()
        optimizer.zero_grad()
        return value

    return step


def _status_mib(field: str) -> float:
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) / 1024 for line in f if line.startswith(field))


def measure_memory(way: str, name: str, threads: int, budget: int) -> None:
    """Prints the rise of the resident size in MiB."""
    m = importlib.import_module("torch" if way.startswith("torch") else "headwater")
    m.set_num_threads(threads)
    m.ones(8).exp().sum()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew: imports have one of their own
    before = _status_mib("VmRSS")
    step = step_of(way, name, budget)
    for _ in range(4):
        step()
    print(json.dumps(_status_mib("VmHWM") - before))


def peak_memory(way: str, name: str, threads: int, budget: int = 0) -> float:
    out = subprocess.run([sys.executable, __file__, "--measure-memory", json.dumps([way, name, threads, budget])], check=True,
                         capture_output=True, text=True).stdout
    return float(json.loads(out.splitlines()[-1]))


def state_bytes(run: Any) -> int:
    """Parameters, buffers and optimiser state of a compiled step."""
    return max(p.total("state")[1] for p in run.step.inspect().programs)


def profile(run: Any, count: int) -> str:
    """The kinds of calls that take longest, from the fastest of three timed runs each."""
    run()
    runs = [run.step.variants[-1].step_times(list(run.arguments)) for _ in range(3)]
    report = run.step.inspect().programs[-1]
    total: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for i, s in enumerate(report.steps):
        entry = total[f"{s.op} [{s.kernel}]" + (f" {' '.join(s.body)[:70]}" if s.body else "")]
        entry[0] += min(r[i] for r in runs) / 1e6
        entry[1] += 1
    lines = [f"  {sum(t for t, _ in total.values()):9.2f} ms in {len(report.steps)} calls; {report.plan_lines()[1]}"]
    for key, (ms, n) in sorted(total.items(), key=lambda e: -e[1][0])[:count]:
        lines.append(f"  {ms:9.2f} ms {int(n):5} {key}")
    return "\n".join(lines)


def row(name: str, a: argparse.Namespace) -> list[str]:
    """The lines of one network."""
    import torch

    import headwater as hw
    from paired import compare, seconds

    hw.set_num_threads(a.threads)
    torch.set_num_threads(a.threads)
    ways = ["torch", "headwater", "compiled"] + (["torch sparse"] if name.startswith("dlrm") else [])
    if not a.no_torch_compile:
        ways.append("torch.compile")
    memory = {} if a.no_memory else {way: peak_memory(way, name, a.threads) for way in ways}
    runs: dict[str, Any] = {way: step_of(way, name) for way in ways}
    if a.profile:
        print(name, profile(runs["compiled"], a.profile), sep="\n", flush=True)
    if a.budget:
        runs["compiled"]()
        left = int(peak_memory("torch", name, a.threads) * 2**20 / 2) - state_bytes(runs["compiled"])
        try:
            runs["half of torch"] = step_of("compiled", name, left)
            runs["half of torch"]()
            memory["half of torch"] = peak_memory("compiled", name, a.threads, left)
        except RuntimeError as e:
            runs.pop("half of torch")
            print(f"half of torch's peak: {e}", flush=True)
    results = compare(runs, rounds=a.rounds, turn=a.turn)
    out = []
    for r in results:
        mib = f"{memory[r.name]:.0f} MiB | {memory[r.name] / memory['torch']:.2f}" if r.name in memory else " | "
        out.append(f"| {name} | {r.name} | {seconds(r.median)} | {r.ratio:.2f} ({r.quartiles[0]:.2f}-{r.quartiles[1]:.2f}) | {mib} |")
    return out


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--turn", type=float, default=0.5)
    ap.add_argument("--only", default="", help="a regular expression of names")
    ap.add_argument("--no-torch-compile", action="store_true")
    ap.add_argument("--no-memory", action="store_true")
    ap.add_argument("--budget", action="store_true", help="also with half of torch's peak memory")
    ap.add_argument("--profile", type=int, default=0, metavar="N", help="print the N most expensive kinds of calls")
    ap.add_argument("--markdown", help="also write the table to this file")
    ap.add_argument("--measure-memory", help=argparse.SUPPRESS)
    a = ap.parse_args()
    if a.measure_memory:
        return measure_memory(*json.loads(a.measure_memory))
    lines = ["| training step | way | time | ratio to torch (quartiles) | peak memory | ratio |", "|---|---|---:|---|---:|---:|"]
    print(*lines, sep="\n", flush=True)
    for name in work():
        if re.search(a.only, name):
            for line in row(name, a):
                lines.append(line)
                print(line, flush=True)
    if a.markdown:
        Path(a.markdown).write_text("\n".join(lines) + "\n")
    return None


if __name__ == "__main__":
    main()
