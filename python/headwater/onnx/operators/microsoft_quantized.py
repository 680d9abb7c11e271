"""com.microsoft: quantised layers beside those of microsoft.py: attention, embeddings, LSTM, convolution with channels last, sums."""
from __future__ import annotations

from typing import Any

import headwater as hw

from ..node import Node
from ..registry import MICROSOFT, op
from ..values import tensor
from .attention import attend_packed
from .microsoft import embed_layer_norm
from .pooling import max_pool
from .quantization import _centred, dequantized, dtype_of, dynamic_quantize_linear, qlinear_conv, quantized
from .recurrent import lstm


@op("QAttention", domain=MICROSOFT, raw=True)
def qattention(
    node: Node, x: Any, weight: Any, bias: Any, x_scale: Any, w_scale: Any, mask: Any = None, x_zero: Any = None, w_zero: Any = None,
    past: Any = None,
) -> Any:  # fmt: skip
    joint = hw.matmul(dequantized(x, x_scale, x_zero), dequantized(weight, w_scale, w_zero, -1)) + tensor(bias)
    return attend_packed(node, joint, tensor(mask), tensor(past), None)


@op("QEmbedLayerNormalization", domain=MICROSOFT, raw=True)
def qembed_layer_norm(
    node: Node, ids: Any, segments: Any, words: Any, places: Any, kinds: Any, gamma: Any, beta: Any, mask: Any, *numbers: Any
) -> Any:
    """`numbers`: the five scales, then the five zero points, of words, places, kinds, gamma and beta."""
    tables = [
        None if t is None else dequantized(t, scale, zero)
        for t, scale, zero in zip((words, places, kinds, gamma, beta), numbers[:5], numbers[5:], strict=True)
    ]
    made = embed_layer_norm(node, tensor(ids), tensor(segments), *tables, tensor(mask))
    return made[:2]


@op("DynamicQuantizeLSTM", domain=MICROSOFT, raw=True)
def dynamic_lstm(
    node: Node, x: Any, w: Any, r: Any, b: Any, lengths: Any, h0: Any, c0: Any, p: Any, w_scale: Any, w_zero: Any, r_scale: Any,
    r_zero: Any,
) -> Any:  # fmt: skip
    """Weights [directions, in, 4 * hidden] in steps; what meets them (the whole input, each hidden state) is rounded to 255 steps."""

    def rounded(value: Any) -> Any:
        steps, scale, zero = dynamic_quantize_linear(node, value)
        return (steps.to(hw.float32) - zero.to(hw.float32)) * scale

    def plain(weight: Any, scale: Any, zero: Any) -> Any:
        scale, zero = tensor(scale), tensor(zero).to(hw.float32)
        shape = [scale.shape[0], 1, -1]
        return ((tensor(weight).to(hw.float32) - zero.reshape(shape)) * scale.reshape(shape)).transpose(1, 2)

    rest = [tensor(value) for value in (b, lengths, h0, c0, p)]
    return lstm(node, rounded(tensor(x)), plain(w, w_scale, w_zero), plain(r, r_scale, r_zero), *rest, hidden_seen=rounded)


@op("QLinearConv", domain=MICROSOFT, raw=True)
def qlinear_conv_last(node: Node, x: Any, *rest: Any) -> Any:
    if not node.attr("channels_last", 0):
        return qlinear_conv(node, x, *rest)
    return hw.movedim(qlinear_conv(node, hw.movedim(tensor(x), -1, 1), *rest), 1, -1)


@op("NhwcMaxPool", domain=MICROSOFT)
def max_pool_last(node: Node, x: Any) -> Any:
    made = max_pool(node, hw.movedim(x, -1, 1))
    return hw.movedim(made[0] if isinstance(made, tuple) else made, 1, -1)


@op("QLinearReduceMean", domain=MICROSOFT, raw=True)
def qlinear_mean(node: Node, x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None) -> Any:
    wide = dequantized(x, x_scale, x_zero)
    axes = node.attr("axes", list(range(wide.dim())))
    return quantized(wide.mean(axes, bool(node.attr("keepdims", 1))), y_scale, y_zero, dtype_of(x))


@op("QLinearWhere", domain=MICROSOFT, raw=True)
def qlinear_where(
    node: Node, condition: Any, x: Any, x_scale: Any, x_zero: Any, y: Any, y_scale: Any, y_zero: Any, z_scale: Any, z_zero: Any
) -> Any:
    made = hw.where(tensor(condition), dequantized(x, x_scale, x_zero), dequantized(y, y_scale, y_zero))
    return quantized(made, z_scale, z_zero, dtype_of(x))


@op("MulInteger", domain=MICROSOFT, raw=True)
def mul_integer(node: Node, a: Any, a_zero: Any = None, b: Any = None, b_zero: Any = None) -> Any:
    return (_centred(a, a_zero) * _centred(b, b_zero)).to(hw.int32)


@op("MatMulInteger16", domain=MICROSOFT)
def matmul_integer16(node: Node, a: Any, b: Any) -> Any:
    return hw.matmul(a.to(hw.float64), b.to(hw.float64)).to(hw.int32)


@op("ReduceSumInteger", domain=MICROSOFT, raw=True)
def sum_integer(node: Node, x: Any) -> Any:
    wide = tensor(x)
    axes = node.attr("axes", list(range(wide.dim())))
    made = wide.to(hw.int32).sum(axes, bool(node.attr("keepdims", 1)), dtype=hw.int32)
    return made
