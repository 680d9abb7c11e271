"""Whole models: every preset, batch normalisation, accuracy on real digits, ONNX Runtime, the report."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headwater as hw
import headwater.onnx
from headwater import nn
from headwater import quantization as q

PRESETS = ["minmax", "moving_average", "entropy", "percentile", "mse", "lsq", "tqt", "weight_only_int8", "weight_only_int4"]


class Residual(nn.Module):
    """A batch normalisation that only a run shows to follow its convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(6)
        self.first = nn.Conv2d(1, 6, 3, padding=1, bias=False)
        self.second = nn.Conv2d(6, 6, 3, padding=1, padding_mode="reflect", groups=2)
        self.head = nn.Linear(6, 3)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        x = self.norm(self.first(x)).relu()
        return self.head((x + self.second(x)).relu().mean((2, 3)))


def cnn() -> tuple[Any, hw.Tensor]:
    hw.manual_seed(3)
    model, x = Residual(), hw.randn(64, 1, 8, 8)
    model.norm.weight.data.copy_(hw.rand(6) + 0.5)
    for _ in range(20):
        model(x)
    return model.eval(), x


def mlp() -> tuple[Any, hw.Tensor]:
    hw.manual_seed(4)
    return nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 5)).eval(), hw.randn(256, 20)


def error(a: hw.Tensor, b: hw.Tensor) -> float:
    return float(((a - b) ** 2).sum() / (b**2).sum())


@pytest.mark.parametrize("make", [cnn, mlp])
@pytest.mark.parametrize("name", PRESETS)
def test_presets(make: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = make()
    preset, want = getattr(q.presets, name), model(x).detach()
    ready = q.convert(q.calibrate(q.prepare(model, preset, x), [x]))
    assert error(ready(x), want) < (0.03 if name in ("weight_only_int4", "entropy") else 3e-3)
    assert not [m for m in ready.modules() if type(m) in (nn.Linear, nn.Conv2d, nn.BatchNorm2d)]
    np.testing.assert_array_equal(model(x).detach().numpy(), want.numpy())  # the original is untouched
    plain = ready(x).numpy()
    integers = hw.compile(ready)(x).numpy()  # linear layers in integers: a value between two steps may go to the other one
    assert np.abs(integers - plain).max() < 0.03 * np.abs(plain).max()
    assert (np.abs(integers - plain) > 1e-4 * np.abs(plain) + 1e-5).mean() < 0.01
    monkeypatch.setenv("HEADWATER_PASSES_OFF", "lower_int8")
    np.testing.assert_allclose(hw.compile(ready)(x).numpy(), plain, rtol=1e-4, atol=1e-5)
    other = q.convert(q.calibrate(q.prepare(model, preset, x), [x * 3]))
    other.load_state_dict(ready.state_dict())
    np.testing.assert_array_equal(other(x).numpy(), ready(x).numpy())

    trained = q.prepare_qat(model, preset, [x], x)
    optimizer = hw.optim.SGD(trained.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        ((trained(x) - want) ** 2).mean().backward()
        optimizer.step()
    np.testing.assert_allclose(q.convert(trained)(x).numpy(), trained.eval()(x).detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["moving_average", "lsq", "tqt"])
def test_a_compiled_training_step_is_the_eager_one(name: str) -> None:
    model, x = mlp()

    def losses(compiled: bool) -> list[float]:
        trained = q.prepare_qat(model, getattr(q.presets, name), [x])
        optimizer = hw.optim.SGD(trained.parameters(), lr=0.05)

        def step(x: hw.Tensor) -> hw.Tensor:
            optimizer.zero_grad()
            loss = (trained(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = hw.compile(step) if compiled else step
        return [float(run(x * (1 + k))) for k in range(4)]

    assert losses(True) == losses(False)


def test_batch_norm_is_folded_without_loss() -> None:
    model, x = cnn()
    folded = q.fold_batch_norm(model, x)
    assert isinstance(folded.norm, nn.Identity)
    np.testing.assert_allclose(folded(x).detach().numpy(), model(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert isinstance(q.fold_batch_norm(model).norm, nn.BatchNorm2d)  # nothing shows the pair
    training = q.prepare_qat(model, q.presets.minmax, [x], x)
    for m in training.modules():
        if hasattr(m, "fake_quant_enabled"):
            m.disable_fake_quant()
    np.testing.assert_allclose(training(x).detach().numpy(), model.train()(x).detach().numpy(), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(training.first.norm.running_var.numpy(), model.norm.running_var.numpy(), rtol=1e-4)


def digits() -> tuple[Any, Any, Any, Any]:
    pytest.importorskip("sklearn")
    from models.mlp.train import digits as load

    return load()


def accuracy(model: Any, images: hw.Tensor, labels: hw.Tensor) -> float:
    with hw.no_grad():
        return float((model(images).argmax(1) == labels).to(hw.float32).mean())


def fit(model: Any, images: hw.Tensor, labels: hw.Tensor, epochs: int, lr: float) -> None:
    optimizer = hw.optim.AdamW(model.parameters(), lr=lr)
    for _ in range(epochs):
        for rows in hw.randperm(len(labels)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[rows]), labels[rows]).backward()
            optimizer.step()


def test_digits_stay_within_three_tenths_of_a_point() -> None:
    from models.mlp.config import Config
    from models.mlp.model import MLP

    images, labels, test_images, test_labels = digits()
    hw.manual_seed(0)
    model = MLP(Config(inputs=64, hidden=(128, 128)))
    fit(model, images, labels, 15, 1e-3)
    want = accuracy(model.eval(), test_images, test_labels)
    assert want > 0.94
    batches = list(images.split(256))
    for name in ("minmax", "percentile", "mse", "weight_only_int8"):
        ready = q.convert(q.calibrate(q.prepare(model, getattr(q.presets, name)), batches))
        assert accuracy(ready, test_images, test_labels) >= want - 0.003, name
    for name in ("minmax", "lsq", "tqt"):
        trained = q.prepare_qat(model, getattr(q.presets, name), batches)
        fit(trained, images, labels, 2, 1e-4)
        assert accuracy(q.convert(trained), test_images, test_labels) >= want - 0.003, name


def test_the_same_graph_in_onnx_runtime() -> None:
    onnx, ort = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    model, x = mlp()
    ready = q.convert(q.calibrate(q.prepare(model, q.presets.minmax), [x]))
    nodes, constants, last = [], [], "x"
    for i, layer in enumerate(ready):
        if isinstance(layer, nn.ReLU):
            nodes.append(onnx.helper.make_node("Relu", [last], [f"r{i}"]))
            last = f"r{i}"
            continue
        assert layer.weight_zero_point is None  # symmetric
        for name in ("weight", "weight_scale", "bias", "input_scale", "input_zero_point"):
            constants.append(onnx.numpy_helper.from_array(getattr(layer, name).numpy(), f"{name}{i}"))
        steps = [f"input_scale{i}", f"input_zero_point{i}"]
        nodes += [onnx.helper.make_node("QuantizeLinear", [last, *steps], [f"q{i}"]),
                  onnx.helper.make_node("DequantizeLinear", [f"q{i}", *steps], [f"d{i}"]),
                  onnx.helper.make_node("DequantizeLinear", [f"weight{i}", f"weight_scale{i}"], [f"w{i}"], axis=0),
                  onnx.helper.make_node("Gemm", [f"d{i}", f"w{i}", f"bias{i}"], [f"y{i}"], transB=1)]
        last = f"y{i}"
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "g", [value("x", 1, [256, 20])], [value(last, 1, [256, 5])], constants)
    file = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    options = ort.SessionOptions()  # with its optimisation on, answers differed by more than steps on a processor without VNNI
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(file.SerializeToString(), options, providers=["CPUExecutionProvider"])
    got = session.run(None, {"x": x.numpy()})[0]
    mine = ready(x).numpy()
    step = ready[2].input_scale.item() * np.abs(ready[2].dequantized_weight().numpy()).max()
    assert np.abs(got - mine).max() <= step
    loaded = hw.onnx.load(file.SerializeToString())(x)
    assert np.abs(np.asarray(loaded.detach().numpy()) - mine).max() <= step


@pytest.mark.parametrize("name", ["minmax", "tqt", "weight_only_int4"])
def test_export(name: str, tmp_path: Any) -> None:
    pytest.importorskip("onnxruntime")
    model, x = cnn()
    ready = q.convert(q.calibrate(q.prepare(model, getattr(q.presets, name), x), [x]))
    hw.onnx.export(ready, x, tmp_path / "model.onnx", tolerance=0.1, opset=21)
    graph = pytest.importorskip("onnx").load(tmp_path / "model.onnx").graph
    kinds = [node.op_type for node in graph.node]
    assert (kinds.count("QuantizeLinear"), kinds.count("DequantizeLinear")) == ((0, 3) if name == "weight_only_int4" else (3, 6))
    assert sum(c.data_type == 3 and len(c.dims) > 1 for c in graph.initializer) == 3  # the weights are int8
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(tmp_path / "model.onnx"), options, providers=["CPUExecutionProvider"])
    got = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]
    step = 1e-4 if ready.head.input_scale is None else ready.head.input_scale.item()
    assert np.abs(got - ready(x).numpy()).max() <= step


def test_report_and_mixed_precision(tmp_path: Any) -> None:
    model, x = cnn()
    report = q.sensitivity(model, [x], inputs=x)
    assert {name for name, _ in report.rows} == {"first", "second", "head"}
    assert [loss for _, loss in report.rows] == sorted((loss for _, loss in report.rows), reverse=True)
    assert "increase" in str(report) and report.rows[0][0] in str(report)
    pytest.importorskip("matplotlib")
    report.save(tmp_path / "report.png")
    assert (tmp_path / "report.png").read_bytes()[:4] == b"\x89PNG"
    everything, none = q.mixed_precision(model, [x], 1.0, inputs=x)
    assert none == [] and isinstance(everything.first, q.QuantizedConv2d)
    mixed, kept = q.mixed_precision(model, [x], report.rows[-1][1] * 1.5, inputs=x)
    assert kept[0] == report.rows[0][0] and error(mixed(x), model(x)) <= report.rows[-1][1] * 1.5
    assert type(mixed.get_submodule(kept[0])) in (nn.Linear, nn.Conv2d)


def test_messages() -> None:
    model, x = mlp()
    with pytest.raises(TypeError, match="one of headwater.quantization.presets, got str"):
        q.prepare(model, "minmax")
    with pytest.raises(ValueError, match="skip names nowhere"):
        q.prepare(model, q.presets.minmax, skip=["nowhere"])
    with pytest.raises(ValueError, match="no Linear, Conv1d or Conv2d"):
        q.prepare(nn.ReLU(), q.presets.minmax)
    with pytest.raises(RuntimeError, match="Run calibrate"):
        q.convert(q.prepare(model, q.presets.minmax))
    with pytest.raises(ValueError, match="no prepared layer"):
        q.convert(model)
    with pytest.raises(ValueError, match="prepared already"):
        q.prepare(q.prepare(model, q.presets.minmax), q.presets.minmax)
    with pytest.raises(ValueError, match="got no batch"):
        q.calibrate(q.prepare(model, q.presets.minmax), [])
    with pytest.raises(ValueError, match="needs `data`"):
        q.prepare_qat(model, q.presets.lsq, None)
