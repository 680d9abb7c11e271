"""The module that hw.onnx.load returns: it runs the nodes one after the other, so whatever runs a module runs it too."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import headwater as hw

from .. import nn
from .element_types import from_onnx, in_core, numpy_type, type_name
from .graph import Graph, GraphReader
from .node import Node
from .reader import opsets_of, read
from .requirement import OnnxError, onnx
from .values import is_symbolic, plain, tensor


class Declared:
    """What the file says of an input or output: its name, and for tensors the type and the sizes (a number, a name, or None)."""

    def __init__(self, proto: Any) -> None:
        self.name: str = proto.name
        self.kind: str = proto.type.WhichOneof("value") or "tensor_type"
        self.type, self.shape = 0, None
        if self.kind == "tensor_type":
            self.type = proto.type.tensor_type.elem_type
            if proto.type.tensor_type.HasField("shape"):
                self.shape = [self._size(d) for d in proto.type.tensor_type.shape.dim]

    @staticmethod
    def _size(dim: Any) -> int | str | None:
        if dim.HasField("dim_value"):
            return int(dim.dim_value) if dim.dim_value >= 0 else None
        return str(dim.dim_param) or None

    def __repr__(self) -> str:
        if self.kind != "tensor_type":
            return f"{self.name}: {self.kind.removesuffix('_type')}"
        shape = "" if self.shape is None else str(["?" if s is None else s for s in self.shape])
        return f"{self.name}: {type_name(self.type)}{shape}"


class OnnxModule(nn.Module):
    """A model from an ONNX file. Call it with one tensor, array or list for each input, in the file's order.

    One output is returned as it is, several as a tuple. Tensors whose type Headwater lacks, and texts, are NumPy arrays. Floating-point
    initialisers are parameters; running statistics and large tables of integers are buffers; what shapes are made of is constant.
    """

    def __init__(self, source: Any) -> None:
        super().__init__()
        proto, name = read(source)
        self.opsets = opsets_of(proto, name)
        reader = GraphReader(self.opsets, name)
        graph = reader.graph(proto.graph)
        if reader.missing:
            raise OnnxError(_missing_text(name, reader.missing, self.opsets))
        if graph.outer:
            names = ", ".join(f"'{n}'" for n in sorted(graph.outer)[:5])
            raise OnnxError(f"{name}: nothing makes the value {names}, which the graph reads")
        arrays = {t.name for t in proto.graph.initializer} | {t.values.name for t in proto.graph.sparse_initializer}
        self.input_specs = [Declared(i) for i in proto.graph.input if i.name not in arrays]
        self.output_specs = [Declared(o) for o in proto.graph.output]
        self._graph, self._file = graph, name
        for weight, (array, trained) in reader.weights.items():
            data = tensor(array).clone()  # memory shared with NumPy would count as changing at any time
            if trained:
                self.register_parameter(weight, nn.Parameter(data))
            else:
                self.register_buffer(weight, data)

    @property
    def input_names(self) -> list[str]:
        return [d.name for d in self.input_specs]

    @property
    def output_names(self) -> list[str]:
        return [d.name for d in self.output_specs]

    def extra_repr(self) -> str:
        return f"{', '.join(map(repr, self.input_specs))} -> {', '.join(map(repr, self.output_specs))}"

    def forward(self, *inputs: Any) -> Any:
        specs = self.input_specs
        if len(inputs) != len(specs):
            raise TypeError(f"{self._file} takes {len(specs)} inputs ({', '.join(map(repr, specs))}), got {len(inputs)}")
        values = {spec.name: _accepted(spec, value, self._file) for spec, value in zip(specs, inputs)}
        made = run_graph(self._graph, values, self._weight)
        results = [_returned(value) for value in made]
        return results[0] if len(results) == 1 else tuple(results)

    def _weight(self, name: str) -> Any:
        return getattr(self, name)


def _missing_text(name: str, missing: list[str], opsets: dict[str, int]) -> str:
    lines = "\n  ".join(missing[:50]) + (f"\n  and {len(missing) - 50} more" if len(missing) > 50 else "")
    versions = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in opsets.items())
    return (
        f"{name} has {len(missing)} node{'s' * (len(missing) > 1)} of operators that Headwater does not support:\n  {lines}\n"
        f"Opsets of the file: {versions}. "
        "A handler can be added with headwater.onnx.registry.op"
    )


# ---------------------------------------------------------------- running
def run_graph(graph: Graph, values: dict[str, Any], weight: Callable[[str], Any]) -> list[Any]:
    """The graph's outputs; `values` are its inputs, and for an inner graph what it reads from those around it."""
    values.update(graph.constants)
    values.update((name, weight(stored)) for name, stored in graph.weights.items())
    for node, dying in zip(graph.nodes, graph.last_use):
        _run_node(node, values, weight)
        for name in dying:
            values.pop(name, None)
    return [values[name] if name else None for name in graph.outputs]


def _run_node(node: Node, values: dict[str, Any], weight: Callable[[str], Any]) -> None:
    try:
        inputs = [values[name] if name else None for name in node.inputs]
        graphs = {k: _Inner(g, values, weight) for k, g in node.attributes.items() if isinstance(g, Graph)}
        made = (node.with_inner(graphs) if graphs else node).run(inputs)
    except hw.CompileError as error:
        raise type(error)(f"{node}: {error}") from error
    except (RuntimeError, TypeError, ValueError, IndexError, KeyError, ArithmeticError, AttributeError, MemoryError) as error:
        raise OnnxError(f"{node}: {error or type(error).__name__}") from error
    for name, value in zip(node.outputs, made):
        if name:
            values[name] = value
    for name in node.outputs[len(made) :]:
        if name:
            raise OnnxError(f"{node}: there is no output {len(made)}, which is named '{name}'")


class _Inner:
    """The body of an If, Loop or Scan, ready to be called with its inputs."""

    def __init__(self, graph: Graph, around: dict[str, Any], weight: Callable[[str], Any]) -> None:
        self.graph, self._weight = graph, weight
        self._outer = {name: around[name] for name in graph.outer if name in around}

    def __call__(self, *inputs: Any) -> list[Any]:
        if len(inputs) != len(self.graph.inputs):
            raise OnnxError(f"its graph '{self.graph.name}' has {len(self.graph.inputs)} inputs, {len(inputs)} are given")
        return run_graph(self.graph, {**self._outer, **dict(zip(self.graph.inputs, inputs))}, self._weight)


# ---------------------------------------------------------------- inputs and outputs
def _accepted(spec: Declared, value: Any, file: str) -> Any:
    """The value for an input, after comparing it with what the file declares."""
    if spec.kind != "tensor_type":
        return _nested(value)
    if isinstance(value, (bool, int, float, str)):  # stays a number while a function is captured, with a guard on its value
        value = np.asarray(value, from_onnx(spec.type) if spec.type else None)
        if not value.dtype.kind == "O" and (spec.shape is None or not spec.shape):
            return value
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    if not isinstance(value, (hw.Tensor, np.ndarray, np.generic)):
        raise TypeError(f"{file}: the input {spec!r} takes a tensor or an array, got {type(value).__name__}")
    value = np.asarray(value) if isinstance(value, np.generic) else value
    found = numpy_type(value.dtype) if isinstance(value, hw.Tensor) else value.dtype
    wanted = from_onnx(spec.type) if spec.type else found
    if found.kind in "UST" and wanted.kind == "O":
        value, found = value.astype(object), wanted
    if found != wanted:
        raise TypeError(f"{file}: the input {spec!r} got values of type {found.name}; convert them to {wanted.name}")
    shape = tuple(value.shape)
    if spec.shape is not None:
        fits = len(shape) == len(spec.shape) and all(not isinstance(w, int) or s == w for s, w in zip(shape, spec.shape))
        if not fits:
            raise ValueError(f"{file}: the input {spec!r} got the shape {list(shape)}")
    return _tensor_if_core(value)


def _tensor_if_core(value: Any) -> Any:
    return tensor(value) if isinstance(value, np.ndarray) and in_core(value.dtype) else value


def _nested(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_nested(v) for v in value]
    return _tensor_if_core(np.asarray(value) if isinstance(value, np.generic) else value)


def _returned(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_returned(v) for v in value]
    if is_symbolic(value):
        return tensor(plain(value))
    return _tensor_if_core(value)


def load(source: Any) -> OnnxModule:
    """The model in an ONNX file (a path, bytes, or an onnx.ModelProto) as a module.

    Opset 7 to the newest of the installed package `onnx`; initialisers may lie in external files beside the model.

    Raises:
        OnnxError: the file is damaged, or has operators that are not supported; all of them are named.

    >>> model = hw.onnx.load("model.onnx")      # doctest: +SKIP
    >>> model(np.zeros((1, 3, 224, 224), np.float32))      # doctest: +SKIP
    """
    return OnnxModule(source)


__all__ = ["OnnxError", "OnnxModule", "load", "onnx", "run_graph"]
