"""Inference in int8: the networks of models/ quantised after training, against OpenVINO and ONNX Runtime on the same Q/DQ file.

    python benchmarks/int8.py [--threads 1 2] [--only REGEX] [--rounds 15] [--peers ort openvino] [--layers]

Batch 1. Headwater also runs the float network, so that a table shows whether integers pay on this machine. All take short turns in
random order in one process; ratios are of turns of one round. `--layers` prints what each layer takes, ours and OpenVINO's.
"""
from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "python")]

from inference import Call, first_output, ort_call, rested, under  # noqa: E402

import headwater as hw  # noqa: E402
from headwater import quantization as q  # noqa: E402
from paired import compare, print_against_first  # noqa: E402

MODELS = {"resnet50": ("resnet", "resnet50"), "mobilenet_v2": ("mobilenet_v2", "mobilenet_v2")}


def network(name: str) -> tuple[Any, Any, hw.Tensor]:
    """A float network with batch statistics of its own, the same quantised, and an image; the same ones each time."""
    rng = np.random.default_rng(0)
    import importlib

    room, make = MODELS[name]
    hw.manual_seed(0)
    net = getattr(importlib.import_module(f"models.{room}.model"), make)()
    image = hw.tensor(rng.standard_normal((1, 3, 224, 224), dtype=np.float32))
    net.train()
    with hw.no_grad():
        for _ in range(2):
            net(hw.tensor(rng.standard_normal((4, 3, 224, 224), dtype=np.float32)))
    net.eval()
    ready = q.convert(q.calibrate(q.prepare(net, q.presets.minmax, image), [image]))
    return net, ready, image


def openvino_model(path: str, threads: int, profile: bool = False) -> Any:
    import openvino as ov

    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    if profile:
        settings["PERF_COUNT"] = True
    return ov.Core().compile_model(path, "CPU", settings).create_infer_request()


def openvino_call(path: str, image: np.ndarray, threads: int) -> Call:
    import openvino as ov

    request = openvino_model(path, threads)
    request.set_input_tensor(0, ov.Tensor(image))

    def run() -> object:
        request.infer()
        return request.get_output_tensor(0).data

    return run


def print_openvino_layers(path: str, image: np.ndarray, threads: int) -> None:
    import openvino as ov

    request = openvino_model(path, threads, profile=True)
    request.set_input_tensor(0, ov.Tensor(image))
    rows: dict[str, list[float]] = {}
    kinds = {}
    for _ in range(12):
        request.infer()
        for p in request.profiling_info:
            if p.real_time.total_seconds() > 0:
                rows.setdefault(p.node_name, []).append(p.real_time.total_seconds())
                kinds[p.node_name] = f"{p.node_type} {p.exec_type}"
    print("OpenVINO, by layer:")
    for name, times in rows.items():
        print(f"  {np.median(times) * 1e6:9.1f} us  {kinds[name]:40} {name}")
    print(f"  {sum(np.median(t) for t in rows.values()) * 1e3:.2f} ms in all")


def print_our_layers(forward: Any, image: hw.Tensor) -> None:
    rows: dict[int, list[float]] = {}
    for _ in range(12):
        with hw.no_grad(), hw.profile() as p:
            forward(image)
        steps = [e for e in p.events() if e.kind == "step"]
        for i, e in enumerate(steps):
            rows.setdefault(i, []).append(e.seconds)
    print("Headwater, by step:")
    for i, e in enumerate(steps):
        print(f"  {np.median(rows[i]) * 1e6:9.1f} us  {e.name:24} {e.detail}")
    print(f"  {sum(np.median(t) for t in rows.values()) * 1e3:.2f} ms in all")


def measure(name: str, threads: int, options: argparse.Namespace) -> None:
    hw.set_num_threads(threads)
    net, ready, image = network(name)
    with tempfile.TemporaryDirectory() as folder, hw.no_grad():
        path = f"{folder}/int8.onnx"
        hw.onnx.export(network(name)[1], image, path, opset=17, tolerance=0.5)  # of a copy: NumPy shares what is exported
        compiled = hw.compile(ready)
        made: dict[str, Call] = {"headwater": under(hw.no_grad, compiled, (image,))}
        made["headwater f32"] = under(hw.no_grad, hw.compile(net), (image,))
        if "openvino" in options.peers:
            made["openvino"] = openvino_call(path, image.numpy(), threads)
        if "ort" in options.peers:
            made["ort"] = ort_call(path, (image.numpy(),), threads)
        want = first_output(ready(image))
        for peer, call in made.items():
            off = np.abs(first_output(call()) - want)
            print(f"  {peer}: differs from the floats that the graph says by {off.max() / np.abs(want).max():.2g} at most, "
                  f"{off.mean() / np.abs(want).mean():.2g} on average")
        if options.layers:
            print_our_layers(compiled, image)
            print_openvino_layers(path, image.numpy(), threads)
            return
        results = compare({k: rested(f) for k, f in made.items()}, rounds=options.rounds, turn=options.turn, most_foreign=options.foreign)
    print(f"{name}, {threads} thread{'s' * (threads > 1)} ({results[0].dropped} rounds with foreign load dropped)")
    print_against_first(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--turn", type=float, default=0.2, help="seconds of one turn")
    parser.add_argument("--foreign", type=float, default=0.08, help="rounds with more foreign load are dropped")
    parser.add_argument("--peers", nargs="*", default=["openvino", "ort"], choices=["openvino", "ort"])
    parser.add_argument("--layers", action="store_true", help="what each layer takes, instead of the comparison")
    options = parser.parse_args()
    for name in MODELS:
        if re.search(options.only, name):
            for threads in options.threads:
                measure(name, threads, options)


if __name__ == "__main__":
    main()
