"""What the exporters of operators write with: nodes, constants, names; and how a formula becomes nodes."""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

import headwater as hw

from ... import _C
from ..element_types import numpy_type, onnx_type
from ..requirement import OnnxError, onnx
from ..values import _to_numpy
from .capture import Sizes

exporters: dict[str, Callable[..., Any]] = {}


def export_op(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: `function(writer, call)` writes the operators `names`; it returns the names of the outputs."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        exporters.update(dict.fromkeys(names, function))
        return function

    return register


class Writer:
    """Nodes and initialisers of the file, and what is known of the graph's values."""

    def __init__(self, graph: Any, sizes: Sizes, opset: int, names: dict[tuple[int, tuple[int, ...]], str]) -> None:
        self.graph, self.sizes, self.opset = graph, sizes, opset
        self.nodes: list[Any] = []
        self.initializers: dict[str, np.ndarray[Any, Any]] = {}
        self.name_of: dict[int, str] = {}  # values of the graph
        self.known: dict[int, Any] = {}  # values that are constant: tensors
        self.makers: dict[int, Any] = {}  # the call that makes a value
        self.last_state: dict[int, tuple[str, int]] = {}  # a value of which only one slice exists, and which
        self.input_names: list[str] = []
        self._names, self._taken = names, set(names.values())
        self._constants: dict[Any, str] = {}

    # ------------------------------------------------------------------ names and constants
    def fresh(self, hint: str) -> str:
        name, i = hint, 1
        while name in self._taken:
            name, i = f"{hint}_{i}", i + 1
        self._taken.add(name)
        return name

    def constant(self, array: np.ndarray[Any, Any], hint: str = "constant") -> str:
        array = np.ascontiguousarray(array).reshape(array.shape)
        key = (array.dtype.str, array.dtype.name, array.shape, array.tobytes()) if array.size <= 64 else None
        if key is not None and key in self._constants:
            return self._constants[key]
        name = self.fresh(hint)
        self.initializers[name] = array
        if key is not None:
            self._constants[key] = name
        return name

    def of_tensor(self, tensor: Any) -> str:
        """The initialiser for a tensor; tensors in the same place are one."""
        place = (tensor.data_ptr(), tuple(tensor.shape))
        if place in self._names and tensor.is_contiguous():
            name = self._names[place]
            if name not in self.initializers:
                self.initializers[name] = _to_numpy(tensor.detach())
            return name
        return self.constant(_to_numpy(tensor.detach().contiguous()), "constant")

    def scalar(self, value: Any, dtype: Any) -> str:
        return self.constant(np.array(value).astype(numpy_type(dtype)))

    def ints(self, values: Any) -> str:
        """A vector of int64: sizes that may change are read from the inputs."""
        values = [int(v) for v in values]
        if not any(self.sizes.symbolic(v) for v in values):
            return self.constant(np.array(values, np.int64).reshape(len(values)))
        parts = [self._size(v) if self.sizes.symbolic(v) else self.constant(np.array([v], np.int64)) for v in values]
        return str(self.emit("Concat", parts, axis=0)) if len(parts) > 1 else parts[0]

    def _size(self, number: int) -> str:
        factor, symbols, offset = self.sizes.terms(number)
        made = None
        for s in symbols:
            place, axis = self.sizes.places[s]
            read = self.emit("Gather", [self.emit("Shape", [self.input_names[place]]), self.constant(np.array([axis], np.int64))])
            made = read if made is None else self.emit("Mul", [made, read])
        if factor != 1:
            made = self.emit("Mul", [made, self.constant(np.array([factor], np.int64))])
        if offset:
            made = self.emit("Add", [made, self.constant(np.array([offset], np.int64))])
        return str(made)

    # ------------------------------------------------------------------ nodes
    def emit(self, op: str, inputs: list[Any], outputs: int = 1, **attributes: Any) -> Any:
        """Writes a node; the name of its output, or a list of names."""
        inputs = list(inputs)
        while inputs and not inputs[-1]:
            inputs.pop()
        made = [self.fresh(f"{op.lower()}_{len(self.nodes)}" + (f"_{i}" if i else "")) for i in range(outputs)]
        given = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(onnx.helper.make_node(op, [i or "" for i in inputs], made, name=made[0], **given))
        return made[0] if outputs == 1 else made

    def cast(self, name: str, dtype: Any) -> str:
        return str(self.emit("Cast", [name], to=onnx_type(dtype)))


class Call:
    """One node of the graph, for its exporter."""

    def __init__(self, writer: Writer, node: dict[str, Any]) -> None:
        self.writer, self.op, self.attrs = writer, node["op"], node["attrs"]
        self.inputs: list[int | None] = node["inputs"]
        self.outputs: list[int] = node["outputs"]
        self.facts = _C.describe_op(self.op)

    def spec(self, i: int) -> dict[str, Any]:
        value = self.inputs[i]
        return dict(self.writer.graph.spec(value))

    def shape(self, i: int = 0) -> tuple[int, ...]:
        return tuple(self.spec(i)["shape"])

    def dtype(self, i: int = 0) -> Any:
        return self.spec(i)["dtype"]

    def out(self, i: int = 0) -> dict[str, Any]:
        return dict(self.writer.graph.spec(self.outputs[i]))

    def rank(self) -> int:
        return len(self.shape())

    def has(self, i: int) -> bool:
        return i < len(self.inputs) and self.inputs[i] is not None

    def axis(self, name: str = "dim") -> int:
        value = int(self.attrs[name])
        return value % max(self.rank(), 1)

    def known(self, i: int) -> Any:
        value = self.inputs[i]
        return None if value is None else self.writer.known.get(value)

    def name(self, i: int = 0, dtype: Any = None) -> str:
        """The name of an input, in another type if one is given; empty for an input that is left out."""
        if not self.has(i):
            return ""
        value = self.inputs[i]
        assert value is not None
        own = self.dtype(i)
        if value in self.writer.known:
            tensor = self.writer.known[value]
            return self.writer.of_tensor(tensor if dtype is None or dtype == own else tensor.to(dtype))
        if value not in self.writer.name_of:
            raise OnnxError("it reads a value that ONNX has no operator for")
        name = self.writer.name_of[value]
        return name if dtype is None or dtype == own else self.writer.cast(name, dtype)

    def common(self) -> Any:
        """The type in which an operator that promotes its inputs calculates."""
        output = self.out()["dtype"]
        if output != hw.bool:
            return output
        found = None
        for i in range(len(self.inputs)):
            if self.has(i) and not self.spec(i)["number"]:
                found = self.dtype(i) if found is None else hw.promote_types(found, self.dtype(i))
        return found if found is not None else self.dtype(0)

    def operands(self) -> list[str]:
        promotes = self.facts["promotes"] != "no"
        return [self.name(i, self.common() if promotes else None) for i in range(len(self.inputs))]


# ---------------------------------------------------------------- formulas
def by_mapping(writer: Writer, call: Call) -> Any:
    """Writes an operator by the mapping that its declaration has: an ONNX operator, or a formula of some."""
    mapping = call.facts["onnx"]
    try:
        tree = ast.parse(mapping, mode="eval").body
    except SyntaxError:
        raise OnnxError(f"its mapping '{mapping}' is a description, and it has no exporter") from None
    defaults = {a["name"]: a["default"] for a in call.facts["attrs"] if not a["hidden"]}
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    for name, default in defaults.items():
        if name not in used and call.attrs.get(name) != default and name != "alpha":
            raise OnnxError(f"its mapping '{mapping}' does not cover {name}={call.attrs.get(name)}, and it has no exporter")
    made = _Formula(writer, call).write(tree if isinstance(tree, ast.Call) else ast.Call(tree, [], []), outer=True)
    alpha = call.attrs.get("alpha", 1)
    if "alpha" in defaults and "alpha" not in used and alpha != 1:
        raise OnnxError(f"its mapping '{mapping}' does not cover alpha={alpha}, and it has no exporter")
    return made


class _Formula:
    def __init__(self, writer: Writer, call: Call) -> None:
        self.writer, self.call = writer, call
        self.inputs = {d["name"]: i for i, d in enumerate(call.facts["inputs"])}
        self.dtype = call.common() if call.facts["promotes"] != "no" else call.dtype(0) if call.inputs else call.out()["dtype"]

    def write(self, node: Any, outer: bool = False) -> Any:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            arguments = [self.write(a) for a in node.args]
            if not arguments and outer:
                arguments = self.call.operands()
            attributes = {k.arg: self.attribute(k.value) for k in node.keywords if k.arg}
            return self.writer.emit(node.func.id, arguments, **attributes)
        if isinstance(node, ast.Name):
            position = self.inputs.get(node.id, 0 if node.id == "x" and "x" not in self.inputs else 1 if node.id == "y" else None)
            if position is not None and node.id not in self.call.attrs:
                return self.call.name(position, self.dtype if self.call.facts["promotes"] != "no" else None)
            if node.id in self.call.attrs:
                return self.writer.scalar(self.call.attrs[node.id], self.dtype)
        if isinstance(node, (ast.Constant, ast.UnaryOp)):
            return self.writer.scalar(ast.literal_eval(node), self.dtype)
        raise OnnxError(f"its mapping '{self.call.facts['onnx']}' names something that it does not have, and it has no exporter")

    def attribute(self, node: Any) -> Any:
        if isinstance(node, ast.Name):
            value = self.call.attrs.get(node.id, node.id)
            return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
        value = ast.literal_eval(node)
        return value
