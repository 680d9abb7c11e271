"""Inference of the networks in models/ through hw.compile, against torch, ONNX Runtime and OpenVINO with the same weights.

    python benchmarks/inference.py [--threads 1 2] [--only REGEX] [--rounds 15] [--peers ort openvino torch torch.compile]

Latency in f32 at batch 1. All are loaded in one process and take short turns in random order; ratios are of turns of one round. The
outputs are compared before anything is timed. The floor is the time that the multiplications of direct convolutions and products
would take at the speed of a 1024^3 product, measured in the same turns (Winograd's convolutions can go below it).
"""
from __future__ import annotations

import argparse
import importlib
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "python")]

import headwater as hw  # noqa: E402
from models.under_torch import import_under_torch  # noqa: E402
from paired import compare, print_against_first, seconds  # noqa: E402

RNG = np.random.default_rng(0)
PEERS = ["ort", "openvino", "torch", "torch.compile"]
Call = Callable[[], object]


def resnet50() -> tuple[str, str, tuple[np.ndarray, ...], float]:
    return "resnet", "resnet50", (RNG.standard_normal((1, 3, 224, 224), dtype=np.float32),), 8.18e9


def mobilenet_v2() -> tuple[str, str, tuple[np.ndarray, ...], float]:
    return "mobilenet_v2", "mobilenet_v2", (RNG.standard_normal((1, 3, 224, 224), dtype=np.float32),), 0.60e9


# One function a model: its room, what makes it, its inputs, and the floating-point operations of a call.
MODELS = {"resnet50": resnet50, "mobilenet_v2": mobilenet_v2}


def twins(room: str, make: str) -> tuple[Any, Any]:
    """The network in both libraries, with equal weights and with batch statistics that are not those of a new network."""
    import torch

    torch.manual_seed(0)
    theirs = getattr(import_under_torch(room), make)().eval()
    for name, buffer in theirs.named_buffers():
        if name.endswith("running_mean"):
            buffer.normal_(0, 0.1)
        elif name.endswith("running_var"):
            buffer.uniform_(0.8, 1.2)
    ours = getattr(importlib.import_module(f"models.{room}.model"), make)().eval()
    ours.load_state_dict({name: hw.tensor(t.detach().numpy().copy()) for name, t in theirs.state_dict().items()})
    return ours, theirs


def under(guard: Callable[[], Any], call: Callable[..., Any], inputs: tuple[Any, ...]) -> Call:
    def run() -> object:
        with guard():
            return call(*inputs)

    return run


def ort_call(path: str, inputs: tuple[np.ndarray, ...], threads: int) -> Call:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for place, value in zip(session.get_inputs(), inputs, strict=True):
        binding.bind_ortvalue_input(place.name, ort.OrtValue.ortvalue_from_numpy(value))
    for place in session.get_outputs():
        binding.bind_output(place.name, "cpu")

    def run() -> object:
        session.run_with_iobinding(binding)
        return binding.get_outputs()

    return run


def openvino_call(path: str, inputs: tuple[np.ndarray, ...], threads: int) -> Call:
    import openvino as ov

    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    request = ov.Core().compile_model(path, "CPU", settings).create_infer_request()
    for i, value in enumerate(inputs):
        request.set_input_tensor(i, ov.Tensor(value))

    def run() -> object:
        request.infer()
        return request.get_output_tensor(0).data

    return run


def exported(theirs: Any, inputs: tuple[np.ndarray, ...], folder: str) -> str:
    import torch

    path = f"{folder}/model.onnx"
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the newer exporter needs one more package
        torch.onnx.export(theirs, tuple(torch.from_numpy(x) for x in inputs), path, opset_version=17, dynamo=False)
    return path


def first_output(result: Any) -> np.ndarray:
    if isinstance(result, list | tuple):
        result = result[0]
    return np.asarray(result.numpy() if hasattr(result, "numpy") else result)


def calls(name: str, threads: int, peers: list[str], folder: str) -> tuple[dict[str, Call], float]:
    import torch

    room, make, inputs, flops = MODELS[name]()
    ours, theirs = twins(room, make)
    made: dict[str, Call] = {"headwater": under(hw.no_grad, hw.compile(ours), tuple(hw.tensor(x) for x in inputs))}
    path = exported(theirs, inputs, folder) if {"ort", "openvino"} & set(peers) else ""
    if "ort" in peers:
        made["ort"] = ort_call(path, inputs, threads)
    if "openvino" in peers:
        made["openvino"] = openvino_call(path, inputs, threads)
    tensors = tuple(torch.from_numpy(x) for x in inputs)
    if "torch" in peers:
        made["torch"] = under(torch.no_grad, theirs, tensors)
    if "torch.compile" in peers:
        made["torch.compile"] = under(torch.no_grad, torch.compile(theirs), tensors)
    want = first_output(under(torch.no_grad, theirs, tensors)())
    for peer, call in made.items():
        difference = np.abs(first_output(call()) - want).max() / np.abs(want).max()
        if not difference < 1e-3:
            raise SystemExit(f"{name}: {peer} differs from torch by {difference:.2g} of the largest output")
    return made, flops


def rested(call: Call) -> Call:
    """The threads of the one before spin for a while after its last call."""

    def run() -> object:
        return call()

    run.before = lambda: time.sleep(0.02)  # type: ignore[attr-defined]
    return run


def measure(name: str, threads: int, options: argparse.Namespace) -> None:
    import torch

    torch.set_num_threads(threads)
    hw.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder:
        made, flops = calls(name, threads, options.peers, folder)
        a, b = hw.tensor(RNG.standard_normal((1024, 1024), dtype=np.float32)), hw.tensor(RNG.standard_normal((1024, 1024), dtype=np.float32))
        made["product"] = lambda: hw.matmul(a, b)
        results = compare({k: rested(f) for k, f in made.items()}, rounds=options.rounds, turn=options.turn, most_foreign=options.foreign)
    peak = 2 * 1024**3 / results[-1].median
    print(f"{name}, {threads} thread{'s' * (threads > 1)}; floor {seconds(flops / peak)} at {peak / 1e9:.0f} GFLOP/s"
          f" ({results[0].dropped} rounds with foreign load dropped)")
    print_against_first(results[:-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--turn", type=float, default=0.2, help="seconds of one turn")
    parser.add_argument("--foreign", type=float, default=0.08, help="rounds with more foreign load are dropped")
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    options = parser.parse_args()
    for name in MODELS:
        if re.search(options.only, name):
            for threads in options.threads:
                measure(name, threads, options)


if __name__ == "__main__":
    main()
