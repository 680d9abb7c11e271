"""com.microsoft's operators and support vector machines: eager, compiled and frozen against ONNX Runtime, or against NumPy where its CPU
build has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="pip install onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="pip install onnxruntime")
from onnx import helper, numpy_helper  # noqa: E402

import headwater as hw  # noqa: E402
import headwater.onnx as ox  # noqa: E402

rng = np.random.default_rng(0)
F, I32, I64 = np.float32, np.int32, np.int64


def f(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(F)


def u8(*shape: int) -> np.ndarray:
    return rng.integers(0, 256, shape).astype(np.uint8)


def s8(*shape: int) -> np.ndarray:
    """Of seven bits: ONNX Runtime's sums of two products saturate at 16 bits on processors without VNNI."""
    return rng.integers(-60, 61, shape).astype(np.int8)


def step(value: float = 0.02) -> np.ndarray:
    return np.array(value, F)


def zero(value: int = 128) -> np.ndarray:
    return np.array(value, np.uint8)


def model_of(op: str, inputs: list[Any], outputs: int, constant: set[int], attributes: dict[str, Any]) -> tuple[Any, list[Any]]:
    """A model of one node, and what it is called with: the inputs that are not constant."""
    domain, _, op = op.rpartition("/")
    names = [f"i{k}" if a is not None else "" for k, a in enumerate(inputs)]
    given = {f"i{k}": np.asarray(a) for k, a in enumerate(inputs) if a is not None}
    declared = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in given.items() if int(n[1:]) not in constant
    ]  # fmt: skip
    arrays = [numpy_helper.from_array(a, n) for n, a in given.items() if int(n[1:]) in constant]
    made = [f"o{k}" for k in range(outputs)]
    node = helper.make_node(op, names, made, domain=domain or "com.microsoft", **attributes)
    graph = helper.make_graph([node], "g", declared, [helper.make_value_info(n, onnx.TypeProto()) for n in made], arrays)
    opsets = [helper.make_opsetid(*o) for o in (("", 18), ("com.microsoft", 1), ("ai.onnx.ml", 3))]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return model, [a for n, a in given.items() if int(n[1:]) not in constant]


def ways(model: Any, inputs: list[Any]) -> dict[str, list[np.ndarray]]:
    net = ox.load(model)
    tensors = tuple(hw.from_numpy(np.array(x)) for x in inputs)
    made = {}
    with hw.no_grad():
        for name, way in (("eager", net), ("compiled", hw.compile(net)), ("frozen", hw.infer.load(hw.freeze(net, tensors)))):
            results = way(*tensors)
            made[name] = [r.numpy() for r in (results if isinstance(results, tuple) else (results,))]
    return made


def check(model: Any, inputs: list[Any], wanted: list[Any], tolerance: float = 1e-4) -> None:
    for name, results in ways(model, inputs).items():
        for made, w in zip(results, wanted):
            assert made.dtype == w.dtype and made.shape == w.shape, name
            np.testing.assert_allclose(made, w, tolerance, tolerance * max(0.01, 0.05 * float(np.abs(w).max())), err_msg=name)


# ---------------------------------------------------------------- against ONNX Runtime
B, S, H, G, D, P = 2, 5, 4, 2, 16, 6  # batch, sequence, heads, groups, size, past
ANGLES = np.outer(np.arange(32), 0.5 ** np.arange(D // 2)).astype(F)
TURNS = [np.cos(ANGLES), np.sin(ANGLES)]
GROUPED = {"num_heads": H, "kv_num_heads": G}


def grouped(batch: int, count: int, past: int, lengths: list[int], *rest: Any) -> list[Any]:
    cache = [f(batch, G, past, D), f(batch, G, past, D)] if past else [None, None]
    total = np.array(max(lengths) + 1, I32)
    return [f(batch, count, H * D), f(batch, count, G * D), f(batch, count, G * D), *cache, np.array(lengths, I32), total, *rest]


def lstm(directions: int, columns: int, *, kind: Callable[..., Any] = s8, batch: int = 1, lengths: Any = None) -> list[Any]:
    shape = (directions, columns) if columns else (directions,)
    numbers = [(rng.random(shape) * 0.01 + 0.001).astype(F), np.full(shape, 0 if kind is s8 else 128, kind(1).dtype)]
    weights = [kind(directions, 6, 32), kind(directions, 8, 32), f(directions, 64)]
    return [f(S, batch, 6), *weights, lengths, f(directions, batch, 8), f(directions, batch, 8), None, *numbers, *numbers]


LSTM = {1, 2, 3, 8, 9, 10, 11}
SVC = {"kernel_type": "RBF", "kernel_params": [0.5, 0.0, 0.0]}


def vectors(classes: int, **more: Any) -> dict[str, Any]:
    pairs, count = classes * (classes - 1) // 2, 2 * classes
    made = {
        "coefficients": f((classes - 1) * count).tolist(), "support_vectors": f(count * 3).tolist(), "rho": f(pairs).tolist(),
        "vectors_per_class": [2] * classes, "classlabels_ints": list(range(3, 3 + classes)), **SVC, **more,
    }  # fmt: skip
    if "prob_a" in more:
        made |= {"prob_a": (-abs(f(pairs)) - 0.5).tolist(), "prob_b": f(pairs).tolist()}
    return made


# name: inputs, number of outputs, which inputs are constant, attributes
RUNTIME: dict[str, tuple[str, list[Any], int, set[int], dict[str, Any]]] = {
    "prompt": ("GroupQueryAttention", grouped(B, S, 0, [S - 1] * B), 3, {6}, GROUPED),
    "prompt turned": ("GroupQueryAttention", grouped(B, S, 0, [S - 1] * B, *TURNS), 3, {6, 7, 8}, {**GROUPED, "do_rotary": 1}),
    "next": ("GroupQueryAttention", grouped(1, 1, P, [P], *TURNS), 3, {6, 7, 8},
             {**GROUPED, "do_rotary": 1, "rotary_interleaved": 1, "local_window_size": 2}),
    "next softcap": ("GroupQueryAttention", grouped(1, 1, P, [P]), 3, {6}, {**GROUPED, "softcap": 2.0, "scale": 0.3}),
    "smooth": ("GroupQueryAttention", grouped(B, S, 0, [S - 1] * B), 3, {6}, {**GROUPED, "smooth_softmax": 1}),
    "sink": ("GroupQueryAttention", grouped(B, S, 0, [S - 1] * B, None, None, None, None, f(H)), 3, {6}, GROUPED),
    "bias": ("GroupQueryAttention", grouped(B, S, 0, [S - 1] * B, None, None, None, f(1, H, S, S)), 3, {6}, GROUPED),
    "packed": ("GroupQueryAttention", [f(B, S, 64), *[None] * 4, np.full(B, S - 1, I32), np.array(S, I32)], 3, {6}, GROUPED),
    "lengths": ("MultiHeadAttention", [f(2, 3, 8), f(2, 4, 8), f(2, 4, 8), f(24), np.array([2, 4], I32)], 1, set(), {"num_heads": 2}),
    "mask": ("MultiHeadAttention", [f(2, 3, 8), f(2, 4, 8), f(2, 4, 12), None, np.array([[1, 1, 0, 0], [1, 1, 1, 0]], I32)], 1, set(),
             {"num_heads": 2, "scale": 0.2}),
    "cross": ("MultiHeadAttention", [f(2, 3, 8), f(2, 2, 4, 4), f(2, 2, 4, 4), f(24)], 1, set(), {"num_heads": 2}),
    "past": ("MultiHeadAttention", [*(f(2, 3, 8) for _ in range(3)), None, None, f(1, 2, 3, 8), f(2, 2, 5, 4), f(2, 2, 5, 4)], 3, set(),
             {"num_heads": 2, "unidirectional": 1}),
    "cross decoder": ("DecoderMaskedMultiHeadAttention", [f(2, 1, 8), f(2, 2, 5, 4), f(2, 2, 5, 4)], 1, set(), {"num_heads": 2}),
    "starts and ends": ("Attention", [f(2, 4, 8), f(8, 24), f(24), np.array([4, 4, 1, 0], I32)], 1, {1, 2}, {"num_heads": 2}),
    "with past": ("Attention", [f(2, 4, 8), f(8, 24), f(24), None, f(2, 2, 2, 3, 4)], 2, {1, 2}, {"num_heads": 2, "unidirectional": 1}),
    "two bits": ("MatMulNBits", [f(3, 40), u8(6, 3, 4), f(18), u8(6)], 1, {1, 2, 3}, {"K": 40, "N": 6, "bits": 2, "block_size": 16}),
    "eight bits": ("MatMulNBits", [f(3, 40), u8(6, 3, 16), f(18), u8(18)], 1, {1, 2, 3}, {"K": 40, "N": 6, "bits": 8, "block_size": 16}),
    "order": ("MatMulNBits", [f(3, 40), u8(6, 3, 8), f(18), None, rng.integers(0, 3, 40).astype(I32)], 1, {1, 2, 4},
              {"K": 40, "N": 6, "bits": 4, "block_size": 16}),
    "fp4": ("MatMulBnb4", [f(3, 32), u8(96), f(12)], 1, {1, 2}, {"K": 32, "N": 6, "block_size": 16, "quant_type": 0}),
    "nf4": ("MatMulBnb4", [f(3, 32), u8(96), f(12)], 1, {1, 2}, {"K": 32, "N": 6, "block_size": 16, "quant_type": 1}),
    "table": ("GatherBlockQuantized", [u8(10, 16), np.array([[1, 3], [9, 0]], I64), f(10, 2), u8(10, 1)], 1, {0, 2, 3},
              {"bits": 4, "block_size": 16, "gather_axis": 0, "quantize_axis": 1}),
    "both ways": ("DynamicQuantizeLSTM", lstm(2, 0), 3, LSTM, {"hidden_size": 8, "direction": "bidirectional"}),
    "by column": ("DynamicQuantizeLSTM", lstm(1, 32, kind=u8), 3, LSTM, {"hidden_size": 8, "direction": "reverse"}),
    "masked": ("QAttention", [u8(2, 4, 8), s8(8, 24), f(24), step(), step(0.01), np.array([2, 4], I32), zero(), np.array(0, np.int8)], 1,
               {1, 2, 3, 4, 6, 7}, {"num_heads": 2}),
    "words": ("QEmbedLayerNormalization", [np.array([[1, 9, 4]], I32), np.array([[0, 1, 1]], I32), u8(10, 8), u8(6, 8), u8(2, 8), u8(8),
              u8(8), np.array([[1, 1, 0]], I32), *(step() for _ in range(5)), *(zero() for _ in range(5))],
              2, {*range(2, 7), *range(8, 18)}, {}),
    "channels last": ("QLinearConv", [u8(1, 6, 6, 4), step(), zero(), s8(8, 4, 3, 3), step(), np.array(0, np.int8), step(0.5), zero()], 1,
                      set(range(1, 8)), {"channels_last": 1, "kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    "bytes": ("NhwcMaxPool", [u8(1, 6, 6, 4)], 1, set(), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "which": ("QLinearWhere", [f(2, 3) > 0, u8(2, 3), step(), zero(), u8(2, 3), step(0.03), zero(9), step(0.04), zero()], 1,
              {2, 3, 5, 6, 7, 8}, {}),
    "old pad": ("Pad", [f(2, 3), np.array([1, 0, 0, 2]), np.array([1.5], F)], 1, {1, 2}, {}),
    "inverse": ("Inverse", [f(2, 3, 3)], 1, set(), {}),
    "distance": ("CDist", [f(3, 4), f(5, 4)], 1, set(), {"metric": "euclidean"}),
    "windows": ("UnfoldTensor", [f(2, 9)], 1, set(), {"dim": 1, "size": 4, "step": 2}),
    "repeats": ("NGramRepeatBlock", [np.array([[0, 1, 2, 0, 1], [3, 3, 3, 3, 3]]), f(2, 6)], 1, set(), {"ngram_size": 3}),
    "crops": ("CropAndResize", [f(2, 3, 6, 6), np.array([[0.1, 0.1, 0.8, 0.9], [-0.2, 0, 1.2, 1]], F), np.array([0, 1], I32),
              np.array([4, 5], I32)], 1, {3}, {"mode": "bilinear", "extrapolation_value": 0.5}),
    "regression": ("ai.onnx.ml/SVMRegressor", [f(5, 3)], 1, set(), {
        "coefficients": f(4).tolist(), "support_vectors": f(12).tolist(), "n_supports": 4, "rho": [0.3], "kernel_type": "POLY",
        "kernel_params": [0.5, 1.0, 3.0]}),
    "two classes": ("ai.onnx.ml/SVMClassifier", [f(9, 3)], 2, set(), vectors(2)),
    "four classes": ("ai.onnx.ml/SVMClassifier", [f(9, 3)], 2, set(), vectors(4, post_transform="SOFTMAX")),
    "probabilities": ("ai.onnx.ml/SVMClassifier", [f(9, 3)], 2, set(), vectors(3, prob_a=[])),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNTIME)
def test_agrees_with_onnx_runtime(name: str) -> None:
    model, inputs = model_of(*RUNTIME[name])
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, dict(zip([i.name for i in session.get_inputs()], inputs, strict=True)))
    if np.isinf(wanted[0]).any() if wanted[0].dtype == F else False:
        for results in ways(model, inputs).values():
            np.testing.assert_array_equal(results[0], wanted[0])
        return
    check(model, inputs, wanted)


def test_sequences_of_several_lengths_in_a_cache() -> None:
    """Each row of the batch is what it is alone. (ONNX Runtime leaves what lies behind a row's length undefined.)"""
    inputs = grouped(B, 1, P, [P, P - 3], *TURNS)
    model, given = model_of("GroupQueryAttention", inputs, 3, {6, 7, 8}, {**GROUPED, "do_rotary": 1})
    together = ways(model, given)["eager"][0]
    for row, length in enumerate([P, P - 3]):
        alone = [x[row : row + 1] for x in inputs[:3]] + [x[row : row + 1, :, :length] for x in inputs[3:5]]
        alone += [np.array([length], I32), np.array(length + 1, I32), *TURNS]
        one, given = model_of("GroupQueryAttention", alone, 3, {6, 7, 8}, {**GROUPED, "do_rotary": 1})
        np.testing.assert_allclose(ways(one, given)["eager"][0], together[row : row + 1], rtol=1e-4, atol=1e-5)


def test_dynamic_lstm_with_lengths_is_close() -> None:
    """ONNX Runtime rounds the hidden states of the rows that still run; here those that have ended count as well."""
    inputs = lstm(1, 0, batch=3, lengths=np.array([5, 3, 1], I32))
    model, given = model_of("DynamicQuantizeLSTM", inputs, 3, LSTM, {"hidden_size": 8})
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    check(model, given, session.run(None, dict(zip([i.name for i in session.get_inputs()], given, strict=True))), 2e-2)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op, gates", [("LSTM", 4), ("GRU", 3)])
@pytest.mark.parametrize("cells", [False, True])
def test_sequence_lengths(op: str, gates: int, direction: str, cells: bool) -> None:
    """By one operator where it gives all that is asked for, step by step for the last cells of shorter sequences."""
    d = 2 if direction == "bidirectional" else 1
    lengths, states = np.array([5, 1, 3, 0], I32), [f(d, 4, 8) for _ in range(1 + (op == "LSTM"))]
    inputs = [f(S, 4, 6), f(d, gates * 8, 6), f(d, gates * 8, 8), f(d, 2 * gates * 8), lengths, *states]
    attributes = {"hidden_size": 8, "direction": direction} | ({"linear_before_reset": 1} if op == "GRU" else {})
    model, given = model_of(op, inputs, 3 if cells and op == "LSTM" else 2, {1, 2, 3}, attributes)
    model.graph.node[0].domain = ""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    check(model, given, session.run(None, dict(zip([i.name for i in session.get_inputs()], given, strict=True))))


# ---------------------------------------------------------------- against NumPy
def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gelu(x: np.ndarray) -> np.ndarray:
    return np.asarray(hw.gelu(hw.from_numpy(x)).numpy())


def normalized(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, groups: int, **_: Any) -> np.ndarray:
    """Channels last, then SiLU."""
    n, h, w, c = x.shape
    parts = x.reshape(n, h * w, groups, c // groups)
    mean, variance = parts.mean((1, 3), keepdims=True), parts.var((1, 3), keepdims=True)
    y = ((parts - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape) * gamma + beta
    return y * sigmoid(y)


def buckets(table: np.ndarray, rows: np.ndarray, columns: np.ndarray, max_distance: int, is_bidirectional: int = 0) -> np.ndarray:
    made = np.empty((1, table.shape[1], int(rows[0]), int(columns[0])), F)
    for i in range(int(rows[0])):
        for j in range(int(columns[0])):
            count, first, distance = len(table), 0, i - j
            if is_bidirectional:
                count //= 2
                first = count if distance < 0 else 0
                distance = abs(distance)
            distance, near = max(distance, 0), count // 2
            if distance >= near:
                distance = min(count - 1, near + int(np.log(distance / near) / np.log(max_distance / near) * (count - near)))
            made[0, :, i, j] = table[first + distance]
    return made


def gated(q: Any, q_bias: Any, places: Any, weight: Any, bias: Any, constant: Any, num_heads: int) -> np.ndarray:
    rows = (q + q_bias).reshape(*q.shape[:2], num_heads, -1).transpose(0, 2, 1, 3)
    gates = sigmoid((rows @ weight + bias).reshape(*rows.shape[:3], 2, -1).sum(-1))
    return (gates[..., :1] * (gates[..., 1:] * constant - 1) + 2) * places


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


NUMPY: dict[str, tuple[list[Any], set[int], dict[str, Any], Callable[..., Any]]] = {
    "GroupNorm": ([f(2, 4, 4, 8), f(8), f(8)], {1, 2}, {"groups": 4, "activation": 1}, normalized),
    "SkipGroupNorm": ([f(2, 4, 4, 8), f(8), f(8), f(2, 8), f(8)], {1, 2}, {"groups": 4, "activation": 1},
                      lambda x, g, b, s, bias, **a: normalized(x + s[:, None, None] + bias, g, b, **a)),
    "BiasSplitGelu": ([f(1, 4, 16), f(16)], {1}, {}, lambda x, b: (x + b)[..., :8] * gelu(np.ascontiguousarray((x + b)[..., 8:]))),
    "SwiGLU": ([f(2, 8)], set(), {"activation_alpha": 1.7, "activation_beta": 1.0, "limit": 0.5},
               lambda x, **_: np.minimum(x[:, :4], 0.5) * sigmoid(F(1.7) * np.minimum(x[:, :4], 0.5)) * (np.clip(x[:, 4:], -0.5, 0.5) + 1)),
    "BiasSoftmax": ([f(2, 3, 4, 5), f(2, 5)], set(), {"axis": 3, "is_inner_broadcast": 1}, lambda x, b, **_: softmax(x + b[:, None, None])),
    "BiasDropout": ([f(2, 3), f(3), f(2, 3)], set(), {}, lambda x, b, r: x + b + r),
    "ComplexMul": ([f(2, 3, 2), f(2, 3, 2)], set(), {}, lambda a, b: (a.view(np.complex64) * b.view(np.complex64)).view(F)),
    "Rfft": ([f(2, 8)], set(), {"signal_ndim": 1, "normalized": 0, "onesided": 1},
             lambda x, **_: np.fft.rfft(x).astype(np.complex64)[..., None].view(F)),
    "Irfft": ([f(2, 5, 2)], set(), {"signal_ndim": 1, "normalized": 0, "onesided": 1},
              lambda x, **_: np.fft.irfft(x.view(np.complex64)[..., 0]).astype(F)),
    "GemmFastGelu": ([f(3, 4), f(4, 5)], set(), {},
                     lambda x, w: 0.5 * (x @ w) * (1 + np.tanh(F(0.7978845608) * ((x @ w) + F(0.044715) * (x @ w) ** 3)))),
    "FusedMatMulActivation": ([f(2, 3), f(4, 3)], set(), {"activation": "Relu", "transB": 1}, lambda a, b, **_: np.maximum(a @ b.T, 0)),
    "RelativePositionBias": ([f(32, 4), np.array([40]), np.array([40])], {1, 2}, {"max_distance": 128, "is_bidirectional": 1}, buckets),
    "GatedRelativePositionBias": ([f(2, 3, 8), f(8), f(1, 2, 3, 3), f(4, 8), f(8), f(1, 2, 1, 1)], set(), {"num_heads": 2}, gated),
    "QLinearReduceMean": ([u8(2, 3, 4), step(), zero(), step(0.01), zero()], {1, 2, 3, 4}, {"axes": [1], "keepdims": 0},
                          lambda x, s, z, t, w, **_: np.clip(np.round((x.astype(F) - 128).mean(1) * s / t) + 128, 0, 255).astype(np.uint8)),
    "MulInteger": ([u8(2, 3), zero(), u8(2, 3), zero(3)], {1, 3}, {}, lambda a, p, b, q: (a.astype(I32) - 128) * (b.astype(I32) - 3)),
    "ReduceSumInteger": ([s8(2, 3, 4)], set(), {"axes": [1], "keepdims": 1}, lambda x, **_: x.sum(1, dtype=I32, keepdims=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMPY)
def test_agrees_with_numpy(name: str) -> None:
    inputs, constant, attributes, function = NUMPY[name]
    model, given = model_of(name, inputs, 1, constant, attributes)
    check(model, given, [np.asarray(function(*inputs, **attributes))])


def test_what_is_not_supported_has_words() -> None:
    model, given = model_of("Attention", [f(2, 4, 16), f(16, 48), f(48)], 1, {1, 2}, {"num_heads": 2, "do_rotary": 1})
    with pytest.raises(ox.OnnxError, match="do_rotary=1 is not supported"):
        ox.load(model)(*given)
