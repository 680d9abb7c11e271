"""Sizes that change from call to call: arithmetic on them, and which operators may meet them.

A host value may hold SymInts, which stand for sizes of later calls too. What is listed here calculates with them as they are; any
other operator that meets one, in a host value or in a tensor's shape, asks for a capture per size. A list of what is safe, because
NumPy would take a SymInt's placeholder for a number without a word.
"""
from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

import headwater as hw

from ..compiler.symbols import SizeIsNeeded, SymInt
from .values import host, ints, is_symbolic, sizes_array

_Array = np.ndarray[Any, Any]

# Handlers of these look at shapes with Python's arithmetic and Headwater's operators alone, or not at all.
_SAFE = frozenset(
    """Abs Acos Acosh Add And Asin Asinh Atan Atanh BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil Celu Clip Concat ConstantOfShape
    Conv Cos Cosh CumSum Div Dropout Elu Equal Erf Exp Expand Flatten Floor Gather GatherElements Gelu Gemm GlobalAveragePool
    GlobalMaxPool Greater GreaterOrEqual HardSigmoid HardSwish Identity If InstanceNormalization IsInf IsNaN LayerNormalization LeakyRelu
    Less LessOrEqual Log LogSoftmax LSTM MatMul Max MaxPool AveragePool Mean Min Mish Mod Mul Neg Not Or PRelu Pad Pow RMSNormalization
    Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu
    Reshape Resize Round Selu Shape Sigmoid Sign Sin Sinh Size Slice Softmax Softplus Softsign Split Sqrt Squeeze Sub Sum Swish Tan Tanh
    ThresholdedRelu Tile Transpose Trilu Unsqueeze Where Xor BatchNormalization BiasGelu FastGelu FusedMatMul QuickGelu
    SkipLayerNormalization SimplifiedLayerNormalization SkipSimplifiedLayerNormalization ScatterElements GRU""".split()
)


def fixed_sizes(value: Any) -> None:
    """Asks for a capture per size if one of the tensor's changes: what follows needs numbers."""
    if any(type(size) is SymInt for size in value.shape):
        raise SizeIsNeeded


def check_safe(op: str, values: list[Any]) -> None:
    """For an operator that runs on tensors while a function is captured."""
    if op in _SAFE:
        return
    for value in values:
        if isinstance(value, hw.Tensor):
            fixed_sizes(value)


def meets_symbols(values: list[Any]) -> bool:
    return any(is_symbolic(v) for v in values)


def _objects(value: Any) -> _Array:
    return np.asarray(host(value)).astype(object)


def _array(values: Any, shape: tuple[int, ...]) -> _Array:
    return sizes_array(values).reshape(shape)


def _elementwise(function: Callable[[Any, Any], Any]) -> Callable[..., _Array]:
    def run(node: Any, *values: Any) -> _Array:
        arrays = np.broadcast_arrays(*map(_objects, values))
        return _array([reduce(function, row) for row in zip(*(a.flat for a in arrays))], arrays[0].shape)

    return run


def _compared(function: Callable[[Any, Any], Any]) -> Callable[..., _Array]:
    def run(node: Any, x: Any, y: Any) -> _Array:
        a, b = np.broadcast_arrays(_objects(x), _objects(y))
        return np.array([bool(function(p, q)) for p, q in zip(a.flat, b.flat)], bool).reshape(a.shape)

    return run


def _divided(a: Any, b: Any) -> Any:
    return a // b if type(a) is SymInt or type(b) is SymInt else int(a / b)


def _taken(node: Any, x: _Array, index: Any) -> _Array:
    made = np.take(_objects(x), np.asarray(host(index)).astype(np.int64), node.attr("axis", 0))
    return _array(np.asarray(made, object).flat, np.shape(made))


def _cut(node: Any, x: _Array, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None) -> _Array:
    if x.ndim != 1 or starts is None or meets_symbols([starts, ends]):
        raise SizeIsNeeded
    step = 1 if steps is None else ints(steps)[0]
    return _array(list(x)[ints(starts)[0] : ints(ends)[0] : step], (-1,))


def _joined(node: Any, *parts: Any) -> _Array:
    made = np.concatenate([_objects(p) for p in parts], node.attr("axis", 0))
    return _array(made.flat, made.shape)


def _squeezed(node: Any, x: _Array, axes: Any = None) -> _Array:
    given = node.attr("axes", None) if axes is None else ints(axes)
    return np.squeeze(x, None if given is None else tuple(given))


def _unsqueezed(node: Any, x: _Array, axes: Any = None) -> _Array:
    return np.expand_dims(x, tuple(node.attr("axes") if axes is None else ints(axes)))


def _cast(node: Any, x: _Array) -> _Array:
    if node.attr("to") not in (6, 7):  # int32, int64: counts of elements fit both
        raise SizeIsNeeded
    return x


def _product(node: Any, x: _Array, axes: Any = None) -> _Array:
    if x.ndim != 1:
        raise SizeIsNeeded
    return _array([reduce(operator.mul, list(x), 1)], (1,) if node.attr("keepdims", 1) else ())


def _chosen(node: Any, condition: Any, x: Any, y: Any) -> _Array:
    c, a, b = np.broadcast_arrays(np.asarray(host(condition)), _objects(x), _objects(y))
    return _array([p if k else q for k, p, q in zip(c.flat, a.flat, b.flat)], a.shape)


def _range(node: Any, start: Any, limit: Any, delta: Any) -> Any:
    first, stop, step = (np.asarray(host(v)).reshape(-1)[0] for v in (start, limit, delta))
    if type(first) is SymInt or type(step) is SymInt or int(first) or int(step) != 1:
        raise SizeIsNeeded
    return hw.arange(stop)


_OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": _elementwise(operator.add), "Sub": _elementwise(operator.sub), "Mul": _elementwise(operator.mul), "Div": _elementwise(_divided),
    "Max": _elementwise(lambda a, b: a if a > b else b), "Min": _elementwise(lambda a, b: a if a < b else b),
    "Equal": _compared(operator.eq), "Greater": _compared(operator.gt), "Less": _compared(operator.lt),
    "GreaterOrEqual": _compared(operator.ge), "LessOrEqual": _compared(operator.le), "Gather": _taken, "Slice": _cut, "Concat": _joined,
    "Squeeze": _squeezed, "Unsqueeze": _unsqueezed, "Cast": _cast, "Identity": lambda node, x: x, "ReduceProd": _product, "Where": _chosen,
    "Range": _range,
}  # fmt: skip


def calculated(node: Any, values: list[Any]) -> Any:
    """The host value that an operator makes of sizes; None if it has to run as any other does."""
    if node.domain or node.op not in _OPERATORS or any(isinstance(v, hw.Tensor) for v in values):
        return None
    if node.op in ("Gather", "Slice", "Squeeze", "Unsqueeze", "Cast", "ReduceProd") and not is_symbolic(values[0]):
        return None
    return _OPERATORS[node.op](node, *values)
