"""Models out of packages: eager, compiled, frozen, and as ONNX Runtime runs them. `scripts/setup.sh` installs the packages."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="pip install onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="pip install onnxruntime")

import headwater as hw  # noqa: E402
import headwater.onnx as ox  # noqa: E402

rng = np.random.default_rng(0)
RATE = 16000


def f(*shape: int, scale: float = 1.0) -> np.ndarray:
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def voice(batch: int) -> list[Any]:
    return [f(batch, 576, scale=0.1), f(2, batch, 128, scale=0.1), RATE]


def declared(shape: list[Any], batch: int = 2, other: int = 16) -> list[int]:
    return [d if isinstance(d, int) and d > 0 else batch if i == 0 else other for i, d in enumerate(shape)]


WORD = "resources/models/"
# package, file, inputs (None: as declared), slow
MODELS: dict[str, tuple[str, str, Callable[[], list[Any]] | None, bool]] = {
    "ocr detector": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", lambda: [f(1, 3, 96, 128)], False),
    "ocr direction": ("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", lambda: [f(2, 3, 48, 192)], False),
    "ocr reader": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx", lambda: [f(1, 3, 48, 96)], True),
    "voice activity": ("silero_vad", "data/silero_vad.onnx", lambda: voice(1), False),
    "voice activity, opset 15": ("silero_vad", "data/silero_vad_16k_op15.onnx", lambda: voice(2), False),
    "voice activity, no If": ("silero_vad", "data/silero_vad_op18_ifless.onnx", lambda: [voice(1)[0], RATE, voice(1)[1]], False),
    "voice activity, sequence": ("silero_vad", "data/silero_vad_16k_sequence.onnx",
                                 lambda: [f(5, 576, scale=0.1), f(1, 1, 128, scale=0.1), f(1, 1, 128, scale=0.1)], False),
    "voice activity, static": ("silero_vad", "data/silero_vad_openvino_16k.onnx", None, False),
    "file type": ("magika", "models/standard_v3_3/model.onnx", lambda: [rng.integers(0, 257, (2, 2048)).astype(np.int32)], True),
    "captcha": ("ddddocr", "common.onnx", lambda: [f(1, 1, 64, 96)], True),
    "captcha detector": ("ddddocr", "common_det.onnx", None, True),
    "pitch to notes": ("basic_pitch", "saved_models/icassp_2022/nmp.onnx", lambda: [f(1, 43844, 1, scale=0.1)], True),
    "mel": ("openwakeword", WORD + "melspectrogram.onnx", lambda: [f(1, 16000, scale=1000)], False),
    "embedding": ("openwakeword", WORD + "embedding_model.onnx", lambda: [f(2, 76, 32, 1)], False),
    "alexa": ("openwakeword", WORD + "alexa_v0.1.onnx", None, False),
    "timer": ("openwakeword", WORD + "timer_v0.1.onnx", None, False),
    "hey jarvis": ("openwakeword", WORD + "hey_jarvis_v0.1.onnx", None, False),
    "voice activity, float16": ("silero_vad", "data/silero_vad_half.onnx", lambda: voice(1)[:2], False),
    "hey marvin": ("openwakeword", WORD + "hey_marvin_v0.1.onnx", None, False),
    "speech quality": ("speechmos", "dnsmos_models/model_v8.onnx", lambda: [f(1, 900, 120)], True),
    "signal quality": ("speechmos", "dnsmos_models/sig.onnx", lambda: [f(1, 901, 161)], True),
    "noise quality": ("speechmos", "dnsmos_models/bak_ovr.onnx", lambda: [f(1, 901, 161)], True),
    "echo quality": ("speechmos", "aecmos_models/Run_1663915512_Stage_0.onnx", None, True),
}  # fmt: skip


def path_of(package: str, file: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"the package {package} is not installed; scripts/setup.sh installs the extra 'models'")
    return Path(found.origin).parent / file


def agree(got: Any, wanted: list[np.ndarray], what: str) -> None:
    """Within 1e-4 of each value, or of a twentieth of the largest: sums of many terms have no exact small values."""
    for i, (g, w) in enumerate(zip(got if isinstance(got, tuple) else (got,), wanted)):
        g = g.numpy()
        assert g.shape == w.shape and g.dtype == w.dtype, f"{what}: output {i} is {g.dtype}{g.shape}, should be {w.dtype}{w.shape}"
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-4 * max(0.01, 0.05 * float(np.abs(w).max(initial=0))), err_msg=what)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow, pytest.mark.timeout(200)] if m[3] else []) for n, m in MODELS.items()]
)
def test_agrees_with_onnx_runtime(name: str) -> None:
    package, file, make, _ = MODELS[name]
    path = path_of(package, file)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = make() if make else [f(*declared(i.shape, batch=1)) for i in session.get_inputs()]
    wanted = session.run(None, {i.name: np.array(v, np.int64) if isinstance(v, int) else v for i, v in zip(session.get_inputs(), inputs)})
    model = ox.load(path)
    fast = hw.compile(model)
    with hw.no_grad():
        agree(model(*inputs), wanted, "eager")
        agree(fast(*inputs), wanted, "compiled")
        agree(fast(*inputs), wanted, "compiled, second run")
        frozen = hw.infer.load(hw.freeze(model, tuple(inputs), tests=False))
        agree(frozen(*(hw.from_numpy(x) for x in inputs if isinstance(x, np.ndarray))), wanted, "frozen")
    assert fast.captures == 1


def test_another_size_fits_the_same_module() -> None:
    path = path_of("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    model = hw.compile(ox.load(path))
    for height, width in ((64, 64), (64, 96), (64, 64)):
        x = f(1, 3, height, width)
        with hw.no_grad():
            agree(model(x), session.run(None, {session.get_inputs()[0].name: x}), f"{height} x {width}")
    assert model.captures <= 3


def test_the_rate_chooses_the_branch() -> None:
    """A number as an input is a constant of the program, with a guard on its value."""
    model = ox.load(path_of("silero_vad", "data/silero_vad.onnx"))
    fast = hw.compile(model)
    for rate, size in ((16000, 576), (8000, 288), (16000, 576)):
        inputs = [f(1, size, scale=0.1), f(2, 1, 128, scale=0.1), rate]
        with hw.no_grad():
            assert hw.allclose(fast(*inputs)[0], model(*inputs)[0], atol=1e-5)
    assert fast.captures == 2
