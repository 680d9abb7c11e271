"""Trained networks as ONNX files, through hw.onnx.load and hw.compile, against ONNX Runtime and OpenVINO on the same file.

    python benchmarks/deployed.py [--threads 1 2] [--only REGEX] [--rounds 9] [--ours compiled frozen] [--profile]

Latency in f32 at batch 1, in paired turns in one process. BERT and MiniLM are exported by torch with weights of their first day; the OCR
and audio networks lie in packages, which scripts/setup.sh installs (extra `models`); one that is missing is left out, and said so. A
declared dimension that varies is fixed for OpenVINO where it takes that. Outputs are compared before anything is timed. With --profile
nothing is timed against others: the operators of each network are listed by their time.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from inference import Call, exported, rested, under  # also puts the repository's folders on the path

import headwater as hw
from models.under_torch import import_under_torch
from paired import Result, compare, seconds

RNG = np.random.default_rng(0)
WORDS = "resources/models/"
RATE = np.array(16000, np.int64)


def f(*shape: int, scale: float = 1.0) -> np.ndarray:
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


# The package and the file in it, and the inputs of a call.
FILES: dict[str, tuple[str, str, Callable[[], list[np.ndarray]]]] = {
    "ocr detector, 320 x 320": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", lambda: [f(1, 3, 320, 320)]),
    "ocr direction, 48 x 192": ("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", lambda: [f(1, 3, 48, 192)]),
    "ocr reader, 48 x 320": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx", lambda: [f(1, 3, 48, 320)]),
    "captcha, 64 x 160": ("ddddocr", "common.onnx", lambda: [f(1, 1, 64, 160)]),
    "voice activity, 576 samples": (
        "silero_vad", "data/silero_vad_16k_op15.onnx", lambda: [f(1, 576, scale=0.1), f(2, 1, 128, scale=0.1), RATE]),
    "mel, 1 s": ("openwakeword", WORDS + "melspectrogram.onnx", lambda: [f(1, 16000, scale=1000)]),
    "speech embedding": ("openwakeword", WORDS + "embedding_model.onnx", lambda: [f(1, 76, 32, 1)]),
    "wake word": ("openwakeword", WORDS + "alexa_v0.1.onnx", lambda: [f(1, 16, 96)]),
    "pitch to notes, 2 s": ("basic_pitch", "saved_models/icassp_2022/nmp.onnx", lambda: [f(1, 43844, 1, scale=0.1)]),
    "speech quality": ("speechmos", "dnsmos_models/model_v8.onnx", lambda: [f(1, 900, 120)]),
    "signal quality": ("speechmos", "dnsmos_models/sig.onnx", lambda: [f(1, 901, 161)]),
    "echo quality": ("speechmos", "aecmos_models/Run_1663915512_Stage_0.onnx", lambda: [f(1, 3, 200, 160), f(4, 1, 64)]),
}  # fmt: skip
BERTS = {
    "minilm, 1 x 128": {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536},
    "bert base, 1 x 128": {},
}


def file_and_inputs(name: str, folder: str) -> tuple[str, list[np.ndarray]] | None:
    """The ONNX file and what it is called with; None where its package is missing."""
    if name in BERTS:
        import torch

        ids = RNG.integers(0, 30522, (1, 128))
        torch.manual_seed(0)
        return exported(bert(**BERTS[name]).eval(), (ids,), folder), [ids]
    package, file, inputs = FILES[name]
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        print(f"{name}: the package {package} is not installed")
        return None
    return str(Path(found.origin).parent / file), inputs()


def bert(**sizes: int) -> Any:
    """models/bert under torch, of these sizes."""
    module = import_under_torch("bert")
    return module.BertModel(module.Config(**sizes), add_pooling_layer=False)


def ort_call(path: str, inputs: list[np.ndarray], threads: int) -> Call:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {place.name: x for place, x in zip(session.get_inputs(), inputs, strict=True)}
    return lambda: session.run(None, feed)  # not bound: some of these files declare wrong shapes of outputs


def openvino_call(path: str, inputs: list[np.ndarray], threads: int) -> Call:
    import openvino as ov

    core = ov.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    model = core.read_model(path)
    try:
        model.reshape({i: list(x.shape) for i, x in enumerate(inputs)})
        request = core.compile_model(model, "CPU", settings).create_infer_request()
    except RuntimeError:
        request = core.compile_model(core.read_model(path), "CPU", settings).create_infer_request()
    for i, value in enumerate(inputs):
        request.set_input_tensor(i, ov.Tensor(value))

    def run() -> object:
        request.infer()
        return [o.data for o in request.output_tensors]

    return run


def outputs(result: Any) -> list[np.ndarray]:
    listed = result if isinstance(result, list | tuple) else [result]
    return [np.asarray(x.numpy() if hasattr(x, "numpy") else x) for x in listed if x is not None]


def calls(path: str, inputs: list[np.ndarray], threads: int, ours: list[str]) -> dict[str, Call]:
    """What runs the network once, Headwater first; all give the outputs of ONNX Runtime."""
    model = hw.onnx.load(path).eval()
    # A number that is no array chooses branches when the model is captured, and is no input of a frozen one.
    given = [hw.tensor(x) if x.ndim else int(x) for x in inputs]
    made: dict[str, Call] = {}
    if "compiled" in ours:
        made["headwater"] = under(hw.no_grad, hw.compile(model), tuple(given))
    if "frozen" in ours:
        frozen = hw.infer.load(hw.freeze(model, tuple(given), tests=False))
        made["frozen"] = under(hw.no_grad, frozen, tuple(x for x in given if not isinstance(x, int)))
    theirs: dict[str, Callable[..., Call]] = {"ort": ort_call, "openvino": openvino_call}
    for peer, call in theirs.items():
        try:
            made[peer] = call(path, inputs, threads)
        except Exception as error:
            print(f"  {peer} does not run this: {str(error).splitlines()[0][:100]}")
    want = outputs(ort_call(path, inputs, 1)())
    for name, run in made.items():
        for got, w in zip(outputs(run()), want, strict=False):
            difference = np.abs(got - w).max() / max(np.abs(w).max(), 1e-6)
            if not difference < 1e-3:
                print(f"  {name} differs from ONNX Runtime by {difference:.2g} of the largest output")
    return made


def row(name: str, threads: int, results: list[Result]) -> str:
    """A line of the table in RESULTS.md."""
    first, peers = results[0], [r for r in results if r.name in ("ort", "openvino")]
    cells = [name, str(threads), *(seconds(r.median) for r in results)]
    for r in peers:
        cells.append(f"{1 / r.ratio:.2f} ({1 / r.quartiles[1]:.2f}-{1 / r.quartiles[0]:.2f})")
    assert first.ratio == 1
    return "| " + " | ".join(cells) + " |"


def profile(name: str, run: Call) -> None:
    for _ in range(3):
        run()
    with hw.profile() as p:
        for _ in range(10):
            run()
    print(f"{name}\n{p.table(row_limit=14, group_by_input_shape=True)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--turn", type=float, default=0.06, help="seconds of one turn")
    parser.add_argument("--foreign", type=float, default=0.08, help="rounds with more foreign load are dropped")
    parser.add_argument("--ours", nargs="+", default=["compiled"], choices=["compiled", "frozen"])
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    for name in [*BERTS, *FILES]:
        if not re.search(options.only, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = file_and_inputs(name, folder)
            for threads in options.threads if found is not None else []:
                assert found is not None
                hw.set_num_threads(threads)
                made = calls(*found, threads, options.ours)
                if options.profile:
                    profile(f"{name}, {threads} threads", made["headwater"])
                    continue
                rest = {k: rested(c) for k, c in made.items()}
                print(row(name, threads, compare(rest, options.rounds, options.turn, most_foreign=options.foreign)), flush=True)


if __name__ == "__main__":
    main()
