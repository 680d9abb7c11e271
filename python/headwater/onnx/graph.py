"""A graph of a loaded model: nodes in order, what each reads, and when a value is needed for the last time."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import nn
from .element_types import in_core, is_floating, is_text
from .node import Node
from .registry import Handler, find
from .requirement import OnnxError, onnx

_SMALL = 64  # integers that stay host values: shapes, axes, indices; larger arrays are tables


class Graph:
    """Nodes of a GraphProto. The body of an If or a Loop is a Graph as well; it reads values of the graphs around it by name."""

    def __init__(self) -> None:
        self.name = ""
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.nodes: list[Node] = []
        self.constants: dict[str, Any] = {}  # host values
        self.weights: dict[str, str] = {}  # the name of an initialiser -> the module's tensor that holds it
        self.outer: set[str] = set()  # what it reads from the graphs around it
        self.last_use: list[list[str]] = []

    def finish(self, file_name: str) -> None:
        """Notes when values die, after checking that every one is made before it is read."""
        made = {*self.inputs, *self.constants, *self.weights}
        for node in self.nodes:
            for name in _reads(node):
                if name not in made:
                    self.outer.add(name)
            for name in node.outputs:
                if name in made:
                    raise OnnxError(f"{file_name}: the value '{name}' of {node} is made twice")
                if name:
                    made.add(name)
                    if name in self.outer:
                        raise OnnxError(
                            f"{file_name}: the value '{name}' is read before {node} makes it; the nodes are not in order, or form a circle"
                        )
        self.outer |= {name for name in self.outputs if name and name not in made}
        kept = set(self.outputs)
        seen: set[str] = set()
        for node in reversed(self.nodes):
            dying = {n for n in (*_reads(node), *node.outputs) if n} - seen - kept
            seen |= dying
            self.last_use.append(sorted(dying))
        self.last_use.reverse()


def _reads(node: Node) -> Iterable[str]:
    yield from (n for n in node.inputs if n)
    for value in node.attributes.values():
        for graph in value if isinstance(value, list) else [value]:
            if isinstance(graph, Graph):
                yield from graph.outer


class GraphReader:
    """Makes Graphs of GraphProtos, collecting the operators that nobody handles and the arrays of initialisers."""

    def __init__(self, opsets: dict[str, int], file_name: str) -> None:
        self.opsets, self.file_name = opsets, file_name
        self.missing: list[str] = []
        self.weights: dict[str, tuple[np.ndarray[Any, Any], bool]] = {}  # by the tensor's name in the module; whether it trains
        self._numbers: dict[str, int] = {}

    def graph(self, proto: Any, depth: int = 0) -> Graph:
        if depth > 50:
            raise OnnxError(f"{self.file_name}: graphs are nested more than 50 deep")
        made = Graph()
        made.name = proto.name
        arrays = {t.name: self.array(t) for t in proto.initializer}
        arrays.update({s.values.name: dense(self, s) for s in proto.sparse_initializer})
        made.inputs = [i.name for i in proto.input if i.name not in arrays]
        made.outputs = [o.name for o in proto.output]
        for n in proto.node:
            node = self.node(n, depth)
            if node is None:
                continue
            if node.op == "Constant" and not node.domain and (value := self._constant(node)) is not None:
                if node.outputs[0] in arrays:
                    raise OnnxError(f"{self.file_name}: the value '{node.outputs[0]}' of {node} is made twice")
                arrays[node.outputs[0]] = value
                continue
            made.nodes.append(node)
        self._place(made, arrays)
        made.finish(self.file_name)
        return made

    def _constant(self, node: Node) -> Any:
        for name, value in node.attributes.items():
            if name in ("value", "sparse_value"):
                return value
            if name.startswith("value_"):
                kind = object if "string" in name else np.float32 if "float" in name else np.int64
                return np.array(value, kind)
        raise OnnxError(f"{self.file_name}: {node} has no value")

    # ------------------------------------------------------------------ nodes
    def node(self, proto: Any, depth: int) -> Node | None:
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        opset = self.opsets.get(domain, 1)
        handler = find(domain, proto.op_type, opset)
        node = Node(proto.op_type, domain, proto.name, opset, handler or _MISSING)
        node.inputs, node.outputs, node.opsets = list(proto.input), list(proto.output), self.opsets
        if handler is None and proto.op_type != "Constant":
            self.missing.append(str(node))
        if not node.outputs:
            raise OnnxError(f"{self.file_name}: {node} has no output")
        for a in proto.attribute:
            node.attributes[a.name] = self._attribute(a, depth)
        return node

    def _attribute(self, proto: Any, depth: int) -> Any:
        kind = proto.type
        types = onnx.AttributeProto
        if kind == types.TENSOR:
            return self.array(proto.t)
        if kind == types.SPARSE_TENSOR:
            return dense(self, proto.sparse_tensor)
        if kind == types.GRAPH:
            return self.graph(proto.g, depth + 1)
        if kind == types.GRAPHS:
            return [self.graph(g, depth + 1) for g in proto.graphs]
        if kind == types.TENSORS:
            return [self.array(t) for t in proto.tensors]
        if kind == types.STRING:
            return proto.s.decode("utf-8", "replace")
        if kind == types.STRINGS:
            return [s.decode("utf-8", "replace") for s in proto.strings]
        if proto.ref_attr_name:
            raise OnnxError(f"{self.file_name}: the attribute '{proto.name}' refers to one of a function, outside of any function")
        return onnx.helper.get_attribute_value(proto)

    def array(self, proto: Any) -> np.ndarray[Any, Any]:
        """The elements of a TensorProto, whose size is that of the bytes at hand."""
        try:
            array = onnx.numpy_helper.to_array(proto)
        except Exception as error:
            raise OnnxError(
                f"{self.file_name}: the tensor '{proto.name}' of shape {list(proto.dims)} cannot be read: {error}"
            ) from error
        return array.astype(object) if is_text(array.dtype) else array

    # ------------------------------------------------------------------ weights and constants
    def _place(self, graph: Graph, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Initialisers of floats that meet data become the module's parameters, the others constants."""
        constants, buffers = _constant_names(graph, arrays)
        for name, array in arrays.items():
            small = array.ndim == 0 or (array.size <= _SMALL and not is_floating(array.dtype))
            if name in constants or small or not in_core(array.dtype):
                graph.constants[name] = array
                continue
            graph.weights[name] = self._new_name(name)
            self.weights[graph.weights[name]] = (array, is_floating(array.dtype) and name not in buffers)

    def _new_name(self, name: str) -> str:
        plain = re.sub(r"\W", "_", name) or "weight"
        plain = plain if not plain[0].isdigit() and not hasattr(nn.Module, plain) else f"_{plain}"
        made = plain
        while made in self.weights:
            self._numbers[plain] = self._numbers.get(plain, 1) + 1
            made = f"{plain}_{self._numbers[plain]}"
        return made


def dense(reader: GraphReader, proto: Any) -> np.ndarray[Any, Any]:
    """A sparse tensor written out."""
    dims = list(proto.dims)
    if any(d < 0 for d in dims) or int(np.prod([float(d) for d in dims])) > 2**28:
        raise OnnxError(f"{reader.file_name}: a sparse tensor of shape {dims} is too large to be written out")
    values, indices = reader.array(proto.values), reader.array(proto.indices)
    made = np.zeros(dims, values.dtype)
    try:
        if indices.ndim == 2:
            made[tuple(indices.T)] = values
        else:
            made.reshape(-1)[indices] = values
    except IndexError as error:
        raise OnnxError(f"{reader.file_name}: a sparse tensor of shape {dims} has an index outside of it: {error}") from error
    return made


_SOURCES = ("Shape", "Size")


def _constant_names(graph: Graph, arrays: dict[str, Any]) -> tuple[set[str], set[str]]:
    """The initialisers that must stay constants, because they are calculated with sizes or an operator needs the numbers; and those
    that are state which no optimiser trains."""
    constants: set[str] = set()
    buffers: set[str] = set()
    hosts = {name for name, a in arrays.items() if not is_floating(a.dtype)}
    sized: set[str] = set()
    for node in graph.nodes:
        handler = node.handler
        rest = handler.host_from(len(node.inputs))
        for i, name in enumerate(node.inputs):
            if name in arrays and (i in handler.host or i in handler.prefers or i >= rest):
                constants.add(name)
            if i in handler.buffers:
                buffers.add(name)
        inputs = [n for n in node.inputs if n]
        small = all(n in hosts or n in sized or n in arrays and arrays[n].size <= _SMALL for n in inputs)
        if node.op in _SOURCES or small and any(n in sized for n in inputs):
            sized.update(node.outputs)
            constants.update(n for n in inputs if n in arrays)
    return constants, buffers


def _not_handled(node: Node, *inputs: Any) -> Any:
    raise OnnxError(f"{node} has no handler")


_MISSING = Handler(_not_handled)
