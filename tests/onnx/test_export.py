"""hw.onnx.export: every model of models/ goes out, is run by ONNX Runtime, comes back, and goes out again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

onnx = pytest.importorskip("onnx", reason="pip install onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="pip install onnxruntime")

import headwater as hw  # noqa: E402
import headwater.onnx as ox  # noqa: E402
from headwater import nn  # noqa: E402
from models import bert, dlrm, gpt2, lstm, mlp, mobilenet_v2, resnet  # noqa: E402, F401
from models.bert.config import TINY as BERT  # noqa: E402
from models.bert.model import BertForMaskedLM  # noqa: E402
from models.dlrm.config import TINY as DLRM_TINY  # noqa: E402
from models.dlrm.model import DLRM  # noqa: E402
from models.gpt2.config import TINY as GPT2  # noqa: E402
from models.gpt2.model import GPT2LMHeadModel  # noqa: E402
from models.lstm.config import TINY as LSTM  # noqa: E402
from models.lstm.model import LSTMModel  # noqa: E402
from models.mlp.config import Config as MLPConfig  # noqa: E402
from models.mlp.model import MLP  # noqa: E402
from models.mobilenet_v2.config import Config as MobileNetConfig  # noqa: E402
from models.mobilenet_v2.model import MobileNetV2  # noqa: E402
from models.resnet.config import Config as ResNetConfig  # noqa: E402
from models.resnet.model import ResNet  # noqa: E402

BATCH = {0: {0: "batch"}}
STAGES = ((1, 16, 1, 1), (6, 24, 1, 2), (6, 32, 1, 2))


def ids(*shape: int, high: int = 128) -> Any:
    return hw.randint(0, high, shape)


MODELS = {
    "mlp": (lambda: MLP(MLPConfig(16, (8,), 4)), lambda n: (hw.randn(n, 16),), BATCH),
    "resnet": (lambda: ResNet(ResNetConfig(width=8, classes=7)), lambda n: (hw.randn(n, 3, 64, 64),), BATCH),
    "bottleneck": (
        lambda: ResNet(ResNetConfig("bottleneck", (1, 1, 1, 1), width=8, classes=7)), lambda n: (hw.randn(n, 3, 64, 64),), BATCH
    ),
    "mobilenet_v2": (lambda: MobileNetV2(MobileNetConfig(0.5, 7, 0.0, STAGES)), lambda n: (hw.randn(n, 3, 32, 32),), BATCH),
    "bert": (lambda: BertForMaskedLM(BERT), lambda n: (ids(n, 10),), BATCH),
    "gpt2": (lambda: GPT2LMHeadModel(GPT2), lambda n: (ids(2, 5 + n),), {0: {1: "sequence"}}),
    "lstm": (lambda: LSTMModel(LSTM), lambda n: (ids(5, n),), {0: {1: "batch"}}),
    "dlrm": (lambda: DLRM(DLRM_TINY), lambda n: (hw.randn(n, 4), ids(3, n, 1, high=20)), {0: {0: "batch"}, 1: {1: "batch"}}),
}  # fmt: skip


def first(result: Any) -> Any:
    return result if isinstance(result, hw.Tensor) else first(result[0])


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(name: str, tmp_path: Path) -> None:
    hw.manual_seed(0)
    make, inputs, axes = MODELS[name]
    model, path = make().eval(), tmp_path / "model.onnx"
    report = ox.export(model, inputs(3), path, dynamic_axes=axes)
    assert report.checked_with.startswith("onnxruntime") and report.largest_error < 1e-4, report
    loaded = ox.load(path)
    assert sum(p.numel() for p in loaded.parameters()) > 0
    fast = hw.compile(loaded)
    for size in (3, 5):  # another size than that of the example
        given = inputs(size)
        with hw.no_grad():
            wanted, got, compiled = first(model(*given)), first(loaded(*given)), first(fast(*given))
        scale = wanted.abs().max().item()
        assert (got - wanted).abs().max().item() <= 1e-4 * scale
        assert (compiled - got).abs().max().item() <= 1e-5 * scale
        session = onnxruntime.InferenceSession(str(path))
        run = session.run(None, {i.name: t.numpy() for i, t in zip(session.get_inputs(), given)})
        assert abs(run[0] - wanted.numpy()).max() <= 1e-4 * scale
    again = ox.export(loaded, inputs(3), tmp_path / "again.onnx")
    assert again.largest_error < 1e-4


def test_weights_keep_their_names_and_are_shared(tmp_path: Path) -> None:
    ox.export(BertForMaskedLM(BERT), ids(2, 10), tmp_path / "m.onnx")
    names = [t.name for t in onnx.load(tmp_path / "m.onnx").graph.initializer]
    assert "bert.embeddings.word_embeddings.weight" in names
    assert len(names) == len(set(names))


def test_training_mode_is_put_back_and_dropout_left_out(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).train()
    ox.export(model, hw.randn(2, 4), tmp_path / "m.onnx")
    assert model.training
    assert {n.op_type for n in onnx.load(tmp_path / "m.onnx").graph.node} == {"Gemm", "Identity"}


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_older_opsets(opset: int, tmp_path: Path) -> None:
    report = ox.export(MLP(MLPConfig(16, (8,), 4)), hw.randn(2, 16), tmp_path / "m.onnx", opset=opset)
    assert onnx.load(tmp_path / "m.onnx").opset_import[0].version == report.opset == opset


def test_what_cannot_be_written_is_one_error_that_names_all(tmp_path: Path) -> None:
    def model(x: Any) -> Any:
        return hw.lgamma(x) + hw.digamma(x)

    with pytest.raises(ox.OnnxError, match="2 operators") as caught:
        ox.export(model, hw.rand(3) + 1, tmp_path / "m.onnx")
    assert "lgamma" in str(caught.value) and "digamma" in str(caught.value) and "ONNX has no gamma function" in str(caught.value)


def test_wrong_arguments(tmp_path: Path) -> None:
    model = MLP(MLPConfig(16, (8,), 4))
    with pytest.raises(ox.OnnxError, match="the inputs are"):
        ox.export(model, hw.randn(2, 16), tmp_path / "m.onnx", dynamic_axes={"image": {0: "batch"}})
    with pytest.raises(ox.OnnxError, match="2 or more"):
        ox.export(model, hw.randn(1, 16), tmp_path / "m.onnx", dynamic_axes=BATCH)
    with pytest.raises(ox.OnnxError, match="opset 13"):
        ox.export(model, hw.randn(2, 16), tmp_path / "m.onnx", opset=7)


def test_a_difference_to_onnx_runtime_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ox.OnnxError, match="differs from ONNX Runtime's"):
        ox.export(MLP(MLPConfig(16, (8,), 4)), hw.randn(2, 16), tmp_path / "m.onnx", tolerance=-1.0)
