"""From bytes to a checked ModelProto: size limits, external data, inlined functions. Files may come from anybody."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .registry import find
from .requirement import OnnxError, onnx

_MOST_NODES = 2_000_000
OLDEST_OPSET = 7
_BODIES = "headwater.bodies"  # the domain of functions that stand for operators without a handler


def read(source: Any) -> tuple[Any, str]:
    """The ModelProto in a file, in bytes, or one that is there already; and what to call it in messages."""
    if isinstance(source, onnx.ModelProto):
        return _checked(source, "the model"), "the model"
    if isinstance(source, (bytes, bytearray, memoryview)):
        model, name, folder = _parsed(bytes(source), "the model"), "the model", None
    elif isinstance(source, (str, os.PathLike)):
        path = Path(source)
        name, folder = path.name, path.parent
        model = _parsed(path.read_bytes(), name)
    else:
        raise TypeError(f"hw.onnx.load takes a path, bytes or a ModelProto, got {type(source).__name__}")
    if folder is None:
        for tensor in _external(model):
            raise OnnxError(f"{name}: the tensor '{tensor.name}' lies in a file of its own; load the model by its path")
    else:
        _load_external(model, folder, name)
    return _checked(model, name), name


def _parsed(data: bytes, name: str) -> Any:
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # protobuf's own class, which differs between its versions
        raise OnnxError(f"{name} is no ONNX file: {error}") from error
    if not model.HasField("graph"):
        raise OnnxError(f"{name} is no ONNX file: it holds no graph ({len(data)} bytes)")
    return model


# ---------------------------------------------------------------- external data
def _external(model: Any) -> list[Any]:
    found: list[Any] = []

    def visit(graph: Any) -> None:
        tensors = [*graph.initializer]
        for node in graph.node:
            for a in node.attribute:
                tensors += [*([a.t] if a.HasField("t") else []), *a.tensors]
                for inner in [*([a.g] if a.HasField("g") else []), *a.graphs]:
                    visit(inner)
        found.extend(t for t in tensors if t.data_location == onnx.TensorProto.EXTERNAL)

    visit(model.graph)
    return found


def _load_external(model: Any, folder: Path, name: str) -> None:
    for tensor in _external(model):
        facts = {e.key: e.value for e in tensor.external_data}
        location = facts.get("location", "")
        path = (folder / location).resolve()
        if not location or not path.is_relative_to(folder.resolve()):
            raise OnnxError(f"{name}: the tensor '{tensor.name}' names the file '{location}', which is not below the model's folder")
        if not path.is_file():
            raise OnnxError(f"{name}: the file '{location}' with the tensor '{tensor.name}' is missing from {folder}")
        try:
            offset, size = int(facts.get("offset") or 0), path.stat().st_size
            length = int(facts["length"]) if facts.get("length") else size - offset
        except ValueError as error:
            raise OnnxError(f"{name}: the tensor '{tensor.name}' has a place in '{location}' that is no number: {error}") from error
        if offset < 0 or length < 0 or offset + length > size:
            raise OnnxError(
                f"{name}: the tensor '{tensor.name}' claims bytes {offset} to {offset + length} of '{location}', which has {size}"
            )
        with path.open("rb") as file:
            file.seek(offset)
            tensor.raw_data = file.read(length)
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]


# ---------------------------------------------------------------- opsets and functions
def opsets_of(model: Any, name: str) -> dict[str, int]:
    found = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in model.opset_import}
    newest = onnx.defs.onnx_opset_version()
    if "" not in found and (found or not model.opset_import):
        found[""] = newest if found else 1
    if found[""] < OLDEST_OPSET:
        try:
            model.CopyFrom(onnx.version_converter.convert_version(model, OLDEST_OPSET))
            found[""] = OLDEST_OPSET
        except Exception:  # the error below says what is supported
            pass
    opset = found[""]
    if not OLDEST_OPSET <= opset <= newest:
        raise OnnxError(
            f"{name} is written in opset {opset}; supported are {OLDEST_OPSET} to {newest}, the newest of the installed package onnx "
            f"{onnx.__version__}. onnx.version_converter can rewrite it"
        )
    return found


def _checked(model: Any, name: str) -> Any:
    opsets = opsets_of(model, name)
    if len(model.graph.node) > _MOST_NODES:
        raise OnnxError(f"{name}: {len(model.graph.node)} nodes are more than {_MOST_NODES}")
    if model.functions:
        model = _inlined(model, name)
    expand = sorted(_to_expand(model.graph, opsets))
    if not expand:
        return model
    try:
        return onnx.inliner.inline_selected_functions(model, expand, inline_schema_functions=True)
    except Exception:  # it does not take inputs that are left out: the bodies become functions of the model
        return _with_bodies(model, set(expand), opsets)


def _with_bodies(model: Any, expand: set[tuple[str, str]], opsets: dict[str, int]) -> Any:
    """As far as it goes: what stays is named in the one error about operators that are not supported."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    try:
        inferred = onnx.shape_inference.infer_shapes(model).graph
        types = {v.name: v.type for v in (*inferred.input, *inferred.value_info, *inferred.output)}
        types.update((t.name, onnx.helper.make_tensor_type_proto(t.data_type, t.dims)) for t in model.graph.initializer)
        for number, node in enumerate(made.graph.node):
            if (node.domain, node.op_type) in expand:
                made.functions.append(_body_of(node, types, opsets, f"{node.op_type}_{number}"))
                node.domain, node.op_type = _BODIES, f"{node.op_type}_{number}"
                del node.attribute[:]
        made.opset_import.append(onnx.helper.make_opsetid(_BODIES, 1))
        return onnx.inliner.inline_local_functions(made, convert_version=True)
    except Exception:
        return model


def _body_of(node: Any, types: dict[str, Any], opsets: dict[str, int], name: str) -> Any:
    """The function that an operator's declaration gives for this node."""
    schema: Any = onnx.defs.get_schema(node.op_type, opsets.get(node.domain, 1), node.domain)
    given = [types.get(i, onnx.TypeProto()).SerializeToString() for i in node.input]
    function = onnx.FunctionProto()
    function.ParseFromString(schema.get_context_dependent_function(node.SerializeToString(), given))
    function.name, function.domain = name, _BODIES
    attributes = {a.name: a for a in node.attribute}
    for inner in function.node:
        for a in inner.attribute:
            if a.ref_attr_name in attributes:
                key, reference = a.name, a.ref_attr_name
                a.CopyFrom(attributes[reference])
                a.name = key
    del function.attribute[:], function.attribute_proto[:]
    return function


def _inlined(model: Any, name: str) -> Any:
    _refuse_circles(model, name)
    try:
        return onnx.inliner.inline_local_functions(model, convert_version=True)
    except Exception as error:
        raise OnnxError(f"{name}: its functions cannot be inlined: {error}") from error


def _refuse_circles(model: Any, name: str) -> None:
    """A function that calls itself has no end, and a few that call each other twice grow beyond all bounds."""
    functions = {(f.domain, f.name): f for f in model.functions}
    sizes: dict[tuple[str, str], int] = {}

    def size(key: tuple[str, str], above: tuple[Any, ...]) -> int:
        if key in above:
            raise OnnxError(f"{name}: the function {key[1]} calls itself")
        if key not in sizes:
            calls = [(n.domain, n.op_type) for n in functions[key].node]
            sizes[key] = 1 + sum(size(c, (*above, key)) if c in functions else 1 for c in calls)
        return sizes[key]

    total = sum(size((n.domain, n.op_type), ()) for n in model.graph.node if (n.domain, n.op_type) in functions)
    if total > _MOST_NODES:
        raise OnnxError(f"{name}: its functions have {total} nodes when written out, more than {_MOST_NODES}")


def _to_expand(graph: Any, opsets: dict[str, int]) -> set[tuple[str, str]]:
    """Operators without a handler whose declaration comes with a body of other operators."""
    found: set[tuple[str, str]] = set()
    for node in graph.node:
        domain = "" if node.domain == "ai.onnx" else node.domain
        if find(domain, node.op_type, opsets.get(domain, 1)) is None and node.op_type != "Constant":
            try:
                schema = onnx.defs.get_schema(node.op_type, opsets.get(domain, 1), domain)
            except Exception:  # no such operator: reported with all others
                continue
            facts: Any = schema
            if facts.has_function or facts.has_context_dependent_function:
                found.add((domain, node.op_type))
                _write_defaults(node, schema)
        for a in node.attribute:
            for inner in [*([a.g] if a.HasField("g") else []), *a.graphs]:
                found |= _to_expand(inner, opsets)
    return found


def _write_defaults(node: Any, schema: Any) -> None:
    """The bodies refer to attributes by name, so those left out are written down."""
    given = {a.name for a in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.type:
            node.attribute.append(attribute.default_value)
