"""Compiled transformers and MLP, inference in f32, against torch (eager and compiled), ONNX Runtime and OpenVINO, in paired turns.

    python benchmarks/inference_transformers.py [--threads 2 1] [--only REGEX] [--rounds 9] [--peers torch onnxruntime ...] [--markdown FILE]

Weights are random and the same in all. Exporting to ONNX needs `pip install onnx onnxscript`; a peer that is not installed is left out.
"""
from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "python")]

PEERS = ("torch", "torch.compile", "onnxruntime", "openvino")
RNG = np.random.default_rng(0)


def work() -> dict[str, tuple[str, str, np.ndarray]]:
    """Name: room of models/, what makes the network, input."""
    return {
        "bert base, 1 x 128 tokens": ("bert", "bert_base", RNG.integers(0, 30522, (1, 128))),
        "gpt2 small, prefill 1 x 128 tokens": ("gpt2", "gpt2", RNG.integers(0, 50257, (1, 128))),
        "mlp 784-512-512-10, batch 1": ("mlp", "MLP", RNG.standard_normal((1, 784)).astype("float32")),
        "mlp 784-512-512-10, batch 64": ("mlp", "MLP", RNG.standard_normal((64, 784)).astype("float32")),
    }


def pair(room: str, make: str) -> tuple[Any, Any]:
    """The network by headwater and by torch, with the same weights."""
    import headwater as hw
    from models.under_torch import import_under_torch

    theirs = getattr(import_under_torch(room), make)().eval()
    ours = getattr(importlib.import_module(f"models.{room}.model"), make)().eval()
    ours.load_state_dict({key: hw.tensor(value.detach().numpy()) for key, value in theirs.state_dict().items()})
    return ours, theirs


def exported(model: Any, example: Any) -> bytes:
    """The model as ONNX, weights inside."""
    import torch

    return bytes(torch.onnx.export(model, (example,), dynamo=True, verbose=False).model_proto.SerializeToString())


def onnxruntime_call(data: bytes, x: np.ndarray, threads: int) -> Callable[[], object]:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x}
    return lambda: session.run(None, feed)


def openvino_call(data: bytes, x: np.ndarray, threads: int) -> Callable[[], object]:
    import openvino as ov

    core = ov.Core()
    model = core.read_model(data)
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    request.set_input_tensor(ov.Tensor(x))
    return request.infer


def candidates(name: str, threads: int, peers: list[str]) -> dict[str, Callable[[], object]]:
    """What runs the network once, by peer; headwater first."""
    import torch

    import headwater as hw

    room, make, x = work()[name]
    ours, theirs = pair(room, make)
    own, other = hw.tensor(x), torch.tensor(x)
    step = hw.compile(ours)

    def run(f: Callable[[Any], object], no_grad: Callable[[], Any], argument: Any) -> Callable[[], object]:
        def call() -> object:
            with no_grad():
                return f(argument)

        return call

    calls = {"headwater": run(step, hw.no_grad, own), "headwater eager": run(ours, hw.no_grad, own)}
    if "torch" in peers:
        calls["torch"] = run(theirs, torch.no_grad, other)
    if "torch.compile" in peers:
        calls["torch.compile"] = run(torch.compile(theirs), torch.no_grad, other)
    with torch.no_grad():
        data = exported(theirs, other) if {"onnxruntime", "openvino"} & set(peers) else b""
    if "onnxruntime" in peers:
        calls["onnxruntime"] = onnxruntime_call(data, x, threads)
    if "openvino" in peers:
        calls["openvino"] = openvino_call(data, x, threads)
    check(calls)
    return calls


def check(calls: dict[str, Callable[[], object]]) -> None:
    """All compute the same."""

    def first(result: Any) -> np.ndarray:
        if isinstance(result, Mapping):
            result = list(result.values())
        if isinstance(result, (tuple, list)):
            result = result[0]
        return np.asarray(result.numpy() if hasattr(result, "numpy") else result)

    want = first(calls["headwater"]())
    for name, call in calls.items():
        np.testing.assert_allclose(first(call()), want, rtol=1e-2, atol=2e-3, err_msg=name)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--threads", type=int, nargs="+", default=[2, 1])
    ap.add_argument("--rounds", type=int, default=9)
    ap.add_argument("--only", default="", help="a regular expression of names")
    ap.add_argument("--peers", nargs="+", default=list(PEERS))
    ap.add_argument("--foreign", type=float, default=0.08, help="share of the machine others may take in a round that counts")
    ap.add_argument("--markdown", help="also write the table to this file")
    a = ap.parse_args()
    import torch

    import headwater as hw
    from paired import compare, seconds

    lines = ["| inference, f32 | threads | candidate | median | fastest | ratio to headwater (quartiles) |", "|---|---:|---|---:|---:|---|"]
    print(*lines, sep="\n", flush=True)
    for name in work():
        if not re.search(a.only, name):
            continue
        for threads in a.threads:
            hw.set_num_threads(threads)
            torch.set_num_threads(threads)
            for r in compare(candidates(name, threads, a.peers), rounds=a.rounds, turn=0.2, most_foreign=a.foreign):
                ratio = f"{r.ratio:.2f} ({r.quartiles[0]:.2f}-{r.quartiles[1]:.2f})"
                lines.append(f"| {name} | {threads} | {r.name} | {seconds(r.median)} | {seconds(r.fastest)} | {ratio} |")
                print(lines[-1], flush=True)
    if a.markdown:
        Path(a.markdown).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
