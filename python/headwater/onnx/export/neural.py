"""Exporters: convolutions, pooling, normalisation, products, activations, attention, recurrent layers."""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from ..requirement import OnnxError
from .writer import Call, Writer, export_op


def _spatial(c: Call, name: str) -> list[int]:
    given, rank = list(c.attrs[name]), c.rank() - 2
    return [int(v) for v in (given * rank if len(given) == 1 else given)]


@export_op("convolution")
def convolution(w: Writer, c: Call) -> Any:
    pads = _spatial(c, "padding")
    return w.emit(
        "Conv", [c.name(0), c.name(1), c.name(2)], strides=_spatial(c, "stride"), pads=pads * 2, dilations=_spatial(c, "dilation"),
        group=c.attrs["groups"], kernel_shape=list(c.shape(1)[2:]),
    )  # fmt: skip


@export_op("convolution_input_grad")
def conv_transpose(w: Writer, c: Call) -> Any:
    stride, pads, dilation = _spatial(c, "stride"), _spatial(c, "padding"), _spatial(c, "dilation")
    kernel, wanted = list(c.shape(1)[2:]), list(c.out()["shape"][2:])
    extra = [
        n - ((m - 1) * s - 2 * p + (k - 1) * d + 1)
        for n, m, s, p, k, d in zip(wanted, c.shape()[2:], stride, pads, kernel, dilation)
    ]
    return w.emit(
        "ConvTranspose", [c.name(0), c.name(1)], strides=stride, pads=pads * 2, dilations=dilation, group=c.attrs["groups"],
        kernel_shape=kernel, output_padding=extra if any(extra) else None,
    )  # fmt: skip


@export_op("linear")
def linear(w: Writer, c: Call) -> Any:
    weight = c.known(1)
    if c.rank() == 2 and len(c.shape(1)) == 2:
        return w.emit("Gemm", [c.name(0), c.name(1), c.name(2)], transB=1)
    name = w.of_tensor(weight.t().contiguous()) if weight is not None else w.emit("Transpose", [c.name(1)], perm=[1, 0])
    made = w.emit("MatMul", [c.name(0), name])
    return w.emit("Add", [made, c.name(2)]) if c.has(2) else made


@export_op("add", "sub")
def add(w: Writer, c: Call) -> Any:
    a, b = c.operands()
    if c.attrs["alpha"] != 1:
        b = w.emit("Mul", [b, w.scalar(c.attrs["alpha"], c.common())])
    if c.common() == hw.bool:
        return w.emit("Or", [a, b])
    return w.emit("Add" if c.op == "add" else "Sub", [a, b])


@export_op("mul")
def mul(w: Writer, c: Call) -> Any:
    return w.emit("And" if c.common() == hw.bool else "Mul", c.operands())


@export_op("div")
def div(w: Writer, c: Call) -> Any:
    a, b = c.operands()
    how, dtype = c.attrs["rounding_mode"], c.common()
    if how is None:
        return w.emit("Div", [a, b])
    if not dtype.is_floating_point:
        if how == "floor":
            return _floored(w, a, b, dtype)
        return w.emit("Div", [a, b])
    made = w.emit("Div", [a, b])
    if how == "floor":
        return w.emit("Floor", [made])
    zero = w.scalar(0, dtype)
    return w.emit("Where", [w.emit("Less", [made, zero]), w.emit("Ceil", [made]), w.emit("Floor", [made])])


def _floored(w: Writer, a: str, b: str, dtype: Any) -> Any:
    """Integers: the division of ONNX truncates."""
    rest = w.emit("Mod", [a, b])
    return w.emit("Div", [w.emit("Sub", [a, rest]), b])


@export_op("floor_divide")
def floor_divide(w: Writer, c: Call) -> Any:
    a, b = c.operands()
    if c.common().is_floating_point:
        return w.emit("Floor", [w.emit("Div", [a, b])])
    return _floored(w, a, b, c.common())


@export_op("remainder")
def remainder(w: Writer, c: Call) -> Any:
    a, b = c.operands()
    if c.common().is_floating_point:
        return w.emit("Sub", [a, w.emit("Mul", [w.emit("Floor", [w.emit("Div", [a, b])]), b])])
    return w.emit("Mod", [a, b])


@export_op("fmod")
def fmod(w: Writer, c: Call) -> Any:
    return w.emit("Mod", c.operands(), fmod=1)


@export_op("bitwise_left_shift", "bitwise_right_shift")
def shift(w: Writer, c: Call) -> Any:
    if c.common() != hw.uint8:
        raise OnnxError("ONNX shifts unsigned integers only")
    return w.emit("BitShift", c.operands(), direction="LEFT" if "left" in c.op else "RIGHT")


@export_op("logical_and", "logical_or", "logical_xor", "logical_not")
def logical(w: Writer, c: Call) -> Any:
    return w.emit(c.facts["onnx"], [c.name(i, hw.bool) for i in range(len(c.inputs))])


@export_op("where")
def where(w: Writer, c: Call) -> Any:
    dtype = c.out()["dtype"]
    return w.emit("Where", [c.name(0, hw.bool), c.name(1, dtype), c.name(2, dtype)])


@export_op("hardshrink", "softshrink")
def shrink(w: Writer, c: Call) -> Any:
    lambd = float(c.attrs["lambd"])
    return w.emit("Shrink", [c.name()], lambd=lambd, bias=lambd if c.op == "softshrink" else 0.0)


@export_op("isinf")
def isinf(w: Writer, c: Call) -> Any:
    return w.emit("IsInf", [c.name()])


@export_op("round")
def round_(w: Writer, c: Call) -> Any:
    if c.attrs["decimals"]:
        raise OnnxError("rounding to decimals is not exported")
    return w.emit("Round", [c.name(0, c.common())]) if c.common().is_floating_point else w.emit("Identity", [c.name()])


# ---------------------------------------------------------------- activations
@export_op("gelu")
def gelu(w: Writer, c: Call) -> Any:
    return w.emit("Gelu", [c.name()], approximate=c.attrs["approximate"])


@export_op("leaky_relu")
def leaky_relu(w: Writer, c: Call) -> Any:
    return w.emit("LeakyRelu", [c.name()], alpha=float(c.attrs["negative_slope"]))


@export_op("elu", "celu")
def elu(w: Writer, c: Call) -> Any:
    return w.emit("Elu" if c.op == "elu" else "Celu", [c.name()], alpha=float(c.attrs["alpha"]))


@export_op("softplus")
def softplus(w: Writer, c: Call) -> Any:
    beta, dtype = float(c.attrs["beta"]), c.dtype()
    if beta == 1.0:
        return w.emit("Softplus", [c.name()])
    made = w.emit("Softplus", [w.emit("Mul", [c.name(), w.scalar(beta, dtype)])])
    return w.emit("Div", [made, w.scalar(beta, dtype)])


@export_op("softmax", "log_softmax")
def softmax(w: Writer, c: Call) -> Any:
    if not c.rank():
        return w.scalar(1 if c.op == "softmax" else 0, c.out()["dtype"])
    return w.emit("Softmax" if c.op == "softmax" else "LogSoftmax", [c.name(0, c.out()["dtype"])], axis=c.axis())


# ---------------------------------------------------------------- pooling
def _windows(c: Call, name: str) -> list[int]:
    given, rank = list(c.attrs[name]), len(c.attrs["kernel_size"])
    return [int(v) for v in (given * rank if len(given) == 1 else given)]


@export_op("max_pool")
def max_pool(w: Writer, c: Call) -> Any:
    return [
        w.emit(
            "MaxPool", [c.name()], kernel_shape=_windows(c, "kernel_size"), strides=_windows(c, "stride"),
            pads=_windows(c, "padding") * 2, dilations=_windows(c, "dilation"), ceil_mode=int(c.attrs["ceil_mode"]),
        )
    ]  # fmt: skip


@export_op("avg_pool")
def avg_pool(w: Writer, c: Call) -> Any:
    if c.attrs["divisor_override"] is not None:
        raise OnnxError("divisor_override is not exported")
    return w.emit(
        "AveragePool", [c.name()], kernel_shape=_windows(c, "kernel_size"), strides=_windows(c, "stride"),
        pads=_windows(c, "padding") * 2, ceil_mode=int(c.attrs["ceil_mode"]), count_include_pad=int(c.attrs["count_include_pad"]),
    )  # fmt: skip


@export_op("adaptive_avg_pool", "adaptive_max_pool")
def adaptive_pool(w: Writer, c: Call) -> Any:
    kind, wanted = ("Average" if "avg" in c.op else "Max"), list(c.attrs["output_size"])
    sizes = list(c.shape()[-len(wanted) :])
    if all(o == 1 for o in wanted):
        made = w.emit(f"Global{kind}Pool", [c.name()])
    elif all(not w.sizes.symbolic(n) and n % o == 0 for n, o in zip(sizes, wanted)):
        windows = [n // o for n, o in zip(sizes, wanted)]
        made = w.emit(f"{kind}Pool", [c.name()], kernel_shape=windows, strides=windows)
    else:
        raise OnnxError(f"pooling of {sizes} to {wanted}: ONNX has no windows of unequal sizes")
    return [made]


# ---------------------------------------------------------------- normalisation
@export_op("_layer_norm")
def layer_norm(w: Writer, c: Call) -> Any:
    inner, dtype = list(c.attrs["normalized_shape"]), c.dtype()
    axis, eps = -len(inner), c.attrs["eps"]
    scale = c.name(1) or w.constant(np.ones(inner, hw.ones(1, dtype=dtype).numpy().dtype))
    if c.attrs["centred"]:
        return [w.emit("LayerNormalization", [c.name(0), scale, c.name(2)], axis=axis, epsilon=eps)]
    if w.opset >= 23:
        return [w.emit("RMSNormalization", [c.name(0), scale], axis=axis, epsilon=eps)]
    square = w.emit("ReduceMean", [w.emit("Mul", [c.name(0)] * 2), w.ints(range(axis, 0))])
    root = w.emit("Sqrt", [w.emit("Add", [square, w.scalar(eps, dtype)])])
    return [w.emit("Mul", [w.emit("Div", [c.name(0), root]), scale])]


@export_op("_batch_norm")
def batch_norm(w: Writer, c: Call) -> Any:
    """In training mode: by the statistics of the batch."""
    channels = c.shape()[1]
    ones, zeros = (w.constant(np.full(channels, v, np.float32)) for v in (1, 0))
    made = w.emit(
        "BatchNormalization", [c.name(0), c.name(1) or ones, c.name(2) or zeros, zeros, ones], 3, epsilon=c.attrs["eps"], training_mode=1
    )
    return made[:1]


# ---------------------------------------------------------------- attention, resizing
@export_op("_attention")
def attention(w: Writer, c: Call) -> Any:
    """Written out, so that every runtime since opset 13 takes it and fuses it as it likes."""
    q, k, v, dtype = c.name(0), c.name(1), c.name(2), c.dtype()
    rank = c.rank()
    keys = w.emit("Transpose", [k], perm=[*range(rank - 2), rank - 1, rank - 2])
    scores = w.emit("MatMul", [w.emit("Mul", [q, w.scalar(c.attrs["scale"], dtype)]), keys])
    if c.attrs["is_causal"]:
        allowed = _lower(w, c)
        scores = w.emit("Where", [allowed, scores, w.scalar(-np.inf, dtype)])
    if c.has(3):
        if c.dtype(3) == hw.bool:
            scores = w.emit("Where", [c.name(3), scores, w.scalar(-np.inf, dtype)])
        else:
            scores = w.emit("Add", [scores, c.name(3)])
    return [w.emit("MatMul", [w.emit("Softmax", [scores], axis=-1), v])]


def _lower(w: Writer, c: Call) -> Any:
    rows, columns = c.shape(0)[-2], c.shape(1)[-2]

    def count(n: int) -> Any:
        return w.emit("Range", [w.scalar(0, hw.int64), w.emit("Squeeze", [w.ints([n])]), w.scalar(1, hw.int64)])

    return w.emit("GreaterOrEqual", [w.emit("Unsqueeze", [count(rows), w.ints([1])]), count(columns)])


@export_op("_interpolate")
def interpolate(w: Writer, c: Call) -> Any:
    mode, size = c.attrs["mode"], list(c.attrs["size"])
    kinds = {"nearest": "nearest", "nearest-exact": "nearest", "linear": "linear", "bilinear": "linear", "trilinear": "linear",
             "bicubic": "cubic"}  # fmt: skip
    if mode not in kinds:
        raise OnnxError(f"interpolation in mode '{mode}' is not exported")
    how = "asymmetric" if mode == "nearest" else "align_corners" if c.attrs["align_corners"] else "half_pixel"
    sizes = w.ints([*c.shape()[: c.rank() - len(size)], *size])
    if any(c.attrs["scales"]):
        raise OnnxError("interpolation by factors that are not those of the sizes is not exported; give recompute_scale_factor=True")
    nearest = {"nearest": "floor", "nearest-exact": "round_prefer_ceil"}.get(mode)
    return w.emit(
        "Resize", [c.name(), "", "", sizes], mode=kinds[mode], coordinate_transformation_mode=how, nearest_mode=nearest,
        cubic_coeff_a=-0.75 if mode == "bicubic" else None,
    )  # fmt: skip


# ---------------------------------------------------------------- recurrent
def _gates(value: Any) -> Any:
    """From input, forget, cell, output to input, output, forget, cell."""
    i, f, g, o = value.chunk(4, 0)
    return hw.cat([i, o, f, g])


@export_op("_lstm_layer")
def lstm_layer(w: Writer, c: Call) -> Any:
    """The product with the weights of the input stands before the layer here, and is part of it in ONNX."""
    recurrent, projected = c.known(1), c.inputs[0]
    if recurrent is None or projected is None:
        raise OnnxError("an LSTM whose weights are computed from the inputs is not exported")
    maker, hidden = w.makers.get(projected), recurrent.shape[1]
    weight, bias = hw.eye(4 * hidden, dtype=recurrent.dtype), hw.zeros(4 * hidden, dtype=recurrent.dtype)
    x = ""
    if maker is not None and maker.op == "linear" and maker.known(1) is not None and (not maker.has(2) or maker.known(2) is not None):
        x, weight = maker.name(0), maker.known(1)
        bias = maker.known(2) if maker.has(2) else bias
    x = x or c.name(0)
    parts = [w.of_tensor(_gates(t).unsqueeze(0)) for t in (weight, recurrent)]
    both = w.of_tensor(hw.cat([_gates(bias), hw.zeros_like(bias)]).unsqueeze(0))
    states = [w.emit("Unsqueeze", [c.name(i), w.ints([0])]) for i in (2, 3)]
    y, last, cell = w.emit(
        "LSTM", [x, *parts, both, "", *states], 3, hidden_size=hidden, direction="reverse" if c.attrs["reverse"] else "forward"
    )
    w.last_state[c.outputs[1]] = (w.emit("Squeeze", [cell, w.ints([0])]), 0 if c.attrs["reverse"] else -1)
    return [w.emit("Squeeze", [y, w.ints([1])])]
