"""hw.onnx.load: what the module is like, and what it says when something does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="pip install onnx")

import headwater as hw  # noqa: E402
import headwater.onnx as ox  # noqa: E402


def parse(text: str, opset: int = 18, more: str = "") -> Any:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}{more}]> {text}')


def with_weights(model: Any, **arrays: np.ndarray) -> Any:
    for name, array in arrays.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model


LINEAR = "net (float[n, 3] x) => (float[n, 2] y) { h = MatMul(x, w) y = Add(h, b) }"


@pytest.fixture
def linear() -> Any:
    return with_weights(parse(LINEAR), w=np.arange(6, dtype=np.float32).reshape(3, 2), b=np.ones(2, np.float32))


def test_arrays_and_tensors_in_order(linear: Any) -> None:
    model = ox.load(linear.SerializeToString())
    x = np.ones((4, 3), np.float32)
    assert model(x).tolist() == model(hw.from_numpy(x)).tolist() == [[7.0, 10.0]] * 4
    assert model.input_names == ["x"] and model.output_names == ["y"]
    assert "x: float['n', 3]" in repr(model)


def test_it_trains(linear: Any) -> None:
    model = ox.load(linear)
    assert {n: tuple(p.shape) for n, p in model.named_parameters()} == {"w": (3, 2), "b": (2,)}
    optimizer = hw.optim.SGD(model.parameters(), lr=0.05)
    x, target = hw.randn(8, 3), hw.zeros(8, 2)

    @hw.compile
    def step(x: Any, target: Any) -> Any:
        loss = hw.nn.functional.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    losses = [step(x, target).item() for _ in range(40)]
    assert losses[-1] < 0.5 * losses[0] and step.captures == 1
    copy = ox.load(linear)
    copy.load_state_dict(model.state_dict())
    assert (copy(x) == model(x)).all()


def test_external_data(linear: Any, tmp_path: Path) -> None:
    onnx.save(linear, tmp_path / "m.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert ox.load(tmp_path / "m.onnx")(np.ones((1, 3), np.float32)).tolist() == [[7.0, 10.0]]
    with pytest.raises(ox.OnnxError, match="load the model by its path"):
        ox.load((tmp_path / "m.onnx").read_bytes())
    (tmp_path / "weights.bin").write_bytes(b"123")
    with pytest.raises(ox.OnnxError, match="claims bytes"):
        ox.load(tmp_path / "m.onnx")
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(ox.OnnxError, match="is missing from"):
        ox.load(tmp_path / "m.onnx")


def test_external_data_outside_of_the_folder_is_not_read(linear: Any, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"\0" * 64)
    (tmp_path / "model").mkdir()
    onnx.save(linear, tmp_path / "model/m.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    data = (tmp_path / "model/m.onnx").read_bytes().replace(b"weights.bin", b"../secret\0\0"[:11])
    model = onnx.ModelProto.FromString(data)
    for t in model.graph.initializer:
        for e in t.external_data:
            if e.key == "location":
                e.value = "../secret"
    (tmp_path / "model/m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ox.OnnxError, match="not below the model's folder"):
        ox.load(tmp_path / "model/m.onnx")


def test_all_that_is_not_supported_is_one_error() -> None:
    model = parse("g (float[2] x) => (float[2] y) { a = my.Odd(x) b = Exp(a) y = my.Even(b) }", more=', "my" : 3')
    model.graph.node[0].name = "first"
    with pytest.raises(ox.OnnxError) as caught:
        ox.load(model)
    text = str(caught.value)
    assert "2 nodes" in text and "node 'first' (my.Odd, opset 3)" in text and "my.Even" in text and "ai.onnx 18" in text


def test_functions_of_the_model_are_inlined() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18, "my" : 1]> g (float[2] x) => (float[2] y) { y = my.Twice <k = 3.0> (x) } '
        '<domain: "my", opset_import: ["" : 18]> Twice <k: float = 2.0> (x) => (y) { '
        "c = Constant <value_float: float = @k> () y = Mul(x, c) }"
    )
    assert ox.load(model)(np.array([1, 2], np.float32)).tolist() == [3.0, 6.0]


RESHAPES = """g (float[a, b, c] x) => (float[n, m] y) {
    s = Shape(x)  zero = Constant<value_int=0>()  one = Constant<value_ints=[1]>()  two = Constant<value_ints=[2]>()
    first = Gather<axis=0>(s, zero)  f = Unsqueeze(first, axis)  rest = Slice(s, one, end)
    p = ReduceProd<keepdims=1>(rest)  half = Div(p, two)  double = Mul(f, two)
    shape = Concat<axis=0>(double, half)  y = Reshape(x, shape)
}"""


def test_shapes_that_are_calculated_compile() -> None:
    """Shape, Gather, Slice, arithmetic and Concat stay numbers while a function is captured; guards on the sizes make it right."""
    model = ox.load(with_weights(parse(RESHAPES), axis=np.array([0]), end=np.array([9])))
    fast = hw.compile(model)
    for shape in ((2, 3, 4), (3, 5, 2), (2, 3, 4)):
        x = hw.randn(*shape)
        assert fast(x).shape == model(x).shape == (2 * shape[0], shape[1] * shape[2] // 2)
        assert (fast(x) == model(x)).all()


CONTROL = """g (float[2] x, int64 n, bool b) => (float[2] y, float[t, 2] rows) {
    y, rows = Loop(n, b, x) <body = body (int64 i, bool c, float[2] v) => (bool c_out, float[2] w, float[2] row) {
        c_out = Identity(c)  w = Add(v, v)  row = Identity(v) }>
}"""


def test_loops_follow_values() -> None:
    model = ox.load(parse(CONTROL))
    y, rows = model(np.ones(2, np.float32), 3, True)
    assert y.tolist() == [8.0, 8.0] and rows.tolist() == [[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]]
    fast = hw.compile(model)
    for turns in (3, 2, 3):
        assert fast(np.ones(2, np.float32), turns, True)[0].tolist() == [2.0**turns] * 2
    assert fast.captures == 2
    for _ in range(2):  # NumPy's numbers are told by their value, too
        assert fast(np.ones(2, np.float32), np.array(3), np.array(True))[0].tolist() == [8.0, 8.0]
    assert fast.captures == 3
    with pytest.raises(hw.CompileError, match="how many turns the loop has depends on the values of the inputs"):
        fast(np.ones(2, np.float32), hw.tensor(3), hw.tensor(True))


BRANCH = """g (float[2] x) => (float[2] y) {
    zero = Constant<value_float=0.0>()  s = ReduceSum<keepdims=0>(x)  c = Greater(s, zero)
    y = If(c) <then_branch = a () => (float[2] u) { u = Exp(x) }, else_branch = b () => (float[2] v) { v = Neg(x) }>
}"""


def test_a_branch_on_data_compiles_to_cond() -> None:
    model = ox.load(parse(BRANCH))
    fast = hw.compile(model)
    for x in (np.ones(2, np.float32), -np.ones(2, np.float32)):
        assert hw.allclose(fast(x), model(x))
    assert fast.captures == 1


def test_types_that_the_core_lacks_are_arrays() -> None:
    model = ox.load(parse("g (uint32[n] x) => (uint32[n] y, string[n] z) { y = Add(x, x) z = Cast<to=8>(y) }"))
    y, z = model(np.array([1, 2**31], np.uint32))
    assert y.dtype == np.uint32 and y.tolist() == [2, 0] and z.tolist() == ["2", "0"]


def test_messages(linear: Any) -> None:
    model = ox.load(linear)
    with pytest.raises(TypeError, match="takes 1 inputs .*, got 2"):
        model(np.ones((1, 3), np.float32), 1)
    with pytest.raises(TypeError, match="got values of type float64; convert them to float32"):
        model(np.ones((1, 3)))
    with pytest.raises(ValueError, match=r"got the shape \[1, 4\]"):
        model(np.ones((1, 4), np.float32))
    broken = with_weights(parse(LINEAR), w=np.ones((4, 2), np.float32), b=np.ones(2, np.float32))
    with pytest.raises(ox.OnnxError, match=r"node that makes 'h' \(MatMul, opset 18\): "):
        ox.load(broken)(np.ones((1, 3), np.float32))
    with pytest.raises(ox.OnnxError, match="supported are 7 to"):
        newer = parse(LINEAR)
        newer.opset_import[0].version = 999
        ox.load(newer)
    with pytest.raises(TypeError, match="takes a path, bytes or a ModelProto"):
        ox.load(3)


def test_the_module_can_be_copied_and_pickled(linear: Any) -> None:
    import copy
    import pickle

    model, x = ox.load(linear), np.ones((1, 3), np.float32)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert (twin(x) == model(x)).all()


MICROSOFT = [
    ("y = com.microsoft.FusedMatMul<alpha=2.0, transB=1>(x, w)", {"w": (5, 4)}),
    ("y = com.microsoft.BiasGelu(x, w)", {"w": (4,)}),
    ("y = com.microsoft.FastGelu(x, w)", {"w": (4,)}),
    ("y = com.microsoft.QuickGelu(x)", {}),
    ("y = com.microsoft.SkipLayerNormalization<epsilon=0.001>(x, s, g, b)", {"s": (2, 3, 4), "g": (4,), "b": (4,)}),
    ("y = com.microsoft.SkipSimplifiedLayerNormalization<epsilon=0.001>(x, s, g)", {"s": (2, 3, 4), "g": (4,)}),
    ("y = com.microsoft.Attention<num_heads=2>(x, w, b)", {"w": (4, 12), "b": (12,)}),
    ("y = com.microsoft.Attention<num_heads=2, unidirectional=1>(x, w, b)", {"w": (4, 12), "b": (12,)}),
    ("y = com.microsoft.MultiHeadAttention<num_heads=2>(x, x, x)", {}),
]


@pytest.mark.parametrize("text, weights", MICROSOFT, ids=lambda v: v.split("(")[0].split(".")[-1] if isinstance(v, str) else "")
def test_microsofts_operators(text: str, weights: dict[str, tuple[int, ...]]) -> None:
    ort = pytest.importorskip("onnxruntime", reason="pip install onnxruntime")
    rng = np.random.default_rng(0)
    model = parse(f"g (float[2, 3, 4] x) => (float[] y) {{ {text} }}", more=', "com.microsoft" : 1')
    model.graph.output[0].type.tensor_type.ClearField("shape")
    with_weights(model, **{n: rng.standard_normal(s).astype(np.float32) for n, s in weights.items()})
    x = rng.standard_normal((2, 3, 4)).astype(np.float32)
    (wanted,) = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(ox.load(model)(x).detach().numpy(), wanted, rtol=2e-4, atol=2e-5)


def test_quantised_operators_of_onnx_runtime() -> None:
    ort = pytest.importorskip("onnxruntime", reason="pip install onnxruntime")
    text = """g (float[1, 4, 6, 6] x) => (float[] y) {
        q = QuantizeLinear(x, s, z)  c = QLinearConv<kernel_shape=[3, 3], pads=[1, 1, 1, 1]>(q, s, z, w, ws, wz, s2, z, bias)
        a = com.microsoft.QLinearAdd(q, s, z, c, s2, z, s2, z)
        p = com.microsoft.QLinearGlobalAveragePool<channels_last=0>(a, s2, z, s2, z)  y = DequantizeLinear(p, s2, z) }"""
    model = parse(text, 17, ', "com.microsoft" : 1')
    model.graph.output[0].type.tensor_type.ClearField("shape")
    rng = np.random.default_rng(0)
    with_weights(
        model, s=np.float32(0.03), s2=np.float32(0.05), z=np.uint8(128), w=rng.integers(-100, 100, (4, 4, 3, 3)).astype(np.int8),
        ws=np.full(4, 0.004, np.float32), wz=np.zeros(4, np.int8), bias=rng.integers(-500, 500, 4).astype(np.int32),
    )  # fmt: skip
    for t, name in zip(model.graph.initializer, ("s", "s2", "z")):
        assert t.name == name
    x = rng.standard_normal((1, 4, 6, 6)).astype(np.float32)
    (wanted,) = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(ox.load(model)(x).numpy(), wanted, atol=0.051)


def test_the_guide_lists_the_operators() -> None:
    page = (Path(__file__).parents[2] / "docs/guide/onnx.md").read_text()
    rows = [f"| {domain or 'ai.onnx'} | {', '.join(names)} |" for domain, names in ox.supported().items() if domain != "my.company"]
    missing = [row for row in rows if row not in page]
    assert not missing, "docs/guide/onnx.md lacks:\n" + "\n".join(missing)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("shape", ["2, 3, 8", "2, 2, 3, 4"])
def test_rotary_embedding_of_onnx_runtime(interleaved: int, shape: str) -> None:
    ort = pytest.importorskip("onnxruntime", reason="pip install onnxruntime")
    text = f"g (float[{shape}] x, int64[2, 3] p) => (float[{shape}] y) {{ "
    text += f"y = com.microsoft.RotaryEmbedding<interleaved={interleaved}>(x, p, c, s) }}"
    angles = np.outer(np.arange(9), [1.0, 0.1]).astype(np.float32)
    model = with_weights(parse(text, more=', "com.microsoft" : 1'), c=np.cos(angles), s=np.sin(angles))
    inputs = {"x": np.random.default_rng(0).standard_normal(eval(f"({shape})")).astype(np.float32), "p": np.array([[0, 1, 2], [4, 5, 8]])}
    (wanted,) = ort.InferenceSession(model.SerializeToString()).run(None, inputs)
    np.testing.assert_allclose(ox.load(model)(*inputs.values()).detach().numpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("zeros", [False, True])
def test_weights_of_four_bits(zeros: bool) -> None:
    ort = pytest.importorskip("onnxruntime", reason="pip install onnxruntime")
    rng = np.random.default_rng(0)
    text = "g (float[3, 40] x) => (float[3, 6] y) { y = com.microsoft.MatMulNBits<K=40, N=6, bits=4, block_size=16>"
    model = parse(text + f"(x, w, s{', z' if zeros else ''}) }}", more=', "com.microsoft" : 1')
    arrays = {"w": rng.integers(0, 256, (6, 3, 8)).astype(np.uint8), "s": rng.random(18).astype(np.float32)}
    if zeros:
        arrays["z"] = rng.integers(0, 256, (6 * 2,)).astype(np.uint8)
    with_weights(model, **arrays)
    x = rng.standard_normal((3, 40)).astype(np.float32)
    (wanted,) = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(ox.load(model)(x).detach().numpy(), wanted, rtol=1e-3, atol=1e-3)
