"""com.microsoft: the operators that ONNX Runtime's optimiser writes into transformers and quantised models."""
from __future__ import annotations

from typing import Any

import headwater as hw

from ..node import Node
from ..registry import MICROSOFT, op
from ..values import tensor
from .convolution import convolve
from .linalg import product
from .pooling import average_pool
from .quantization import dequantized, dtype_of, quantized
from .recurrent import activation


@op("BiasGelu", domain=MICROSOFT)
def bias_gelu(node: Node, x: Any, bias: Any) -> Any:
    return hw.gelu(x + bias)


@op("Gelu", domain=MICROSOFT)
def gelu(node: Node, x: Any) -> Any:
    return hw.gelu(x)


@op("FastGelu", domain=MICROSOFT)
def fast_gelu(node: Node, x: Any, bias: Any = None) -> Any:
    return hw.gelu(x if bias is None else x + bias, approximate="tanh")


@op("QuickGelu", domain=MICROSOFT)
def quick_gelu(node: Node, x: Any) -> Any:
    return x * hw.sigmoid(x * node.attr("alpha", 1.702))


@op("BiasAdd", domain=MICROSOFT)
def bias_add(node: Node, x: Any, bias: Any, skip: Any) -> Any:
    return x + bias + skip


def _normalized(node: Node, x: Any, gamma: Any, beta: Any) -> Any:
    return hw.layer_norm(x, [x.shape[-1]], gamma, beta, node.attr("epsilon", 1e-12))


@op("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_norm(node: Node, x: Any, skip: Any, gamma: Any, beta: Any = None, bias: Any = None) -> Any:
    total = x + skip if bias is None else x + skip + bias
    mean = total.mean(-1, True)
    rstd = (hw.square(total - mean).mean(-1, True) + node.attr("epsilon", 1e-12)).rsqrt() if node.wants(2) else None
    return _normalized(node, total, gamma, beta), mean, rstd, total


@op("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_rms_norm(node: Node, x: Any, skip: Any, gamma: Any, bias: Any = None) -> Any:
    total = x + skip if bias is None else x + skip + bias
    rstd = (hw.square(total).mean(-1, True) + node.attr("epsilon", 1e-12)).rsqrt()
    return total * rstd * gamma, hw.zeros_like(rstd), rstd, total


@op("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_norm(
    node: Node, ids: Any, segments: Any, words: Any, places: Any, kinds: Any = None, gamma: Any = None, beta: Any = None,
    mask: Any = None, positions: Any = None,
) -> Any:  # fmt: skip
    where = hw.arange(ids.shape[1]) if positions is None else positions.to(hw.int64)
    total = hw.embedding(ids.to(hw.int64), words) + hw.embedding(where, places)
    if segments is not None and kinds is not None:
        total = total + hw.embedding(segments.to(hw.int64), kinds)
    lengths = hw.zeros(ids.shape[0], dtype=hw.int32) if mask is None else (mask != 0).sum(1, dtype=hw.int32)
    return _normalized(node, total, gamma, beta), lengths, total


@op("FusedConv", domain=MICROSOFT)
def fused_conv(node: Node, x: Any, weight: Any, bias: Any = None, added: Any = None) -> Any:
    made = convolve(node, x, weight, bias)
    made = made if added is None else made + added
    name, numbers = node.attr("activation", ""), [*node.attr("activation_params", []), None, None]
    return activation(name, numbers[0], numbers[1])(made) if name else made


# ---------------------------------------------------------------- quantised
@op("QLinearAdd", "QLinearMul", domain=MICROSOFT, raw=True)
def qlinear_binary(
    node: Node, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any = None
) -> Any:
    x, y = dequantized(a, a_scale, a_zero), dequantized(b, b_scale, b_zero)
    return quantized(x + y if node.op == "QLinearAdd" else x * y, y_scale, y_zero, dtype_of(a))


@op("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "QLinearGlobalAveragePool", "QLinearAveragePool", domain=MICROSOFT, raw=True)
def qlinear_unary(node: Node, x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None) -> Any:
    wide = dequantized(x, x_scale, x_zero)
    if node.op == "QLinearGlobalAveragePool":
        axes = list(range(1, wide.dim() - 1)) if node.attr("channels_last", 0) else list(range(2, wide.dim()))
        made = wide.mean(axes, True)
    elif node.op == "QLinearAveragePool":
        made = average_pool(node, wide)
    elif node.op == "QLinearSoftmax":
        made = hw.softmax(wide, node.attr("axis", -1))
    else:
        made = hw.sigmoid(wide) if node.op == "QLinearSigmoid" else hw.leaky_relu(wide, node.attr("alpha", 0.01))
    return quantized(made, y_scale, y_zero, dtype_of(x))


@op("QLinearConcat", domain=MICROSOFT, raw=True)
def qlinear_concat(node: Node, y_scale: Any, y_zero: Any, *parts: Any) -> Any:
    wide = [dequantized(*parts[i : i + 3]) for i in range(0, len(parts), 3)]
    return quantized(hw.cat(wide, node.attr("axis")), y_scale, y_zero, dtype_of(parts[0]))


@op("MatMulIntegerToFloat", domain=MICROSOFT, raw=True)
def matmul_to_float(
    node: Node, a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero: Any = None, b_zero: Any = None, bias: Any = None
) -> Any:
    made = product(dequantized(a, a_scale, a_zero, -1), dequantized(b, b_scale, b_zero, -1))
    return made if bias is None else made + tensor(bias)


@op("DynamicQuantizeMatMul", domain=MICROSOFT, raw=True)
def dynamic_matmul(node: Node, a: Any, b: Any, b_scale: Any, b_zero: Any = None, bias: Any = None) -> Any:
    from .quantization import dynamic_quantize_linear

    steps, scale, zero = dynamic_quantize_linear(node, tensor(a))
    return matmul_to_float(node, steps, b, scale, b_scale, zero, b_zero, bias)


@op("QGemm", domain=MICROSOFT, raw=True)
def qgemm(
    node: Node, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, c: Any = None, y_scale: Any = None,
    y_zero: Any = None,
) -> Any:  # fmt: skip
    x, y = dequantized(a, a_scale, a_zero), dequantized(b, b_scale, b_zero, 0 if node.attr("transB", 0) else 1)
    x, y = (x.t() if node.attr("transA", 0) else x), (y.t() if node.attr("transB", 0) else y)
    made = product(x, y) * node.attr("alpha", 1.0)
    if c is not None:
        made = made + tensor(c).to(made.dtype) * (tensor(a_scale) * tensor(b_scale))
    return made if y_scale is None else quantized(made, y_scale, y_zero, dtype_of(a))
