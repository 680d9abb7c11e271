"""hw.onnx.export: from a module to a file that has been compared with it."""
from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import headwater as hw

from ... import _C
from ..element_types import onnx_type
from ..requirement import OnnxError, onnx
from ..values import _to_numpy, tensor
from .capture import Captured, Sizes, captured
from .writer import Call, Writer, by_mapping, exporters

_MOST_INSIDE = 2**30  # bytes of weights in the file itself; more go into a file beside it


@dataclass
class Report:
    """What was written, and how it compared."""

    path: str
    opset: int
    nodes: int
    weight_bytes: int
    checked_with: str = ""  # "onnxruntime 1.32.0"
    not_checked: str = "onnxruntime is not installed (pip install onnxruntime)"  # why it was not, if it was not
    largest_error: float = 0.0  # relative to the largest value of an output
    dynamic: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        compared = (
            f"run by {self.checked_with}: largest relative error {self.largest_error:.1e}"
            if self.checked_with
            else f"not compared: {self.not_checked}"
        )
        return f"{self.path}: opset {self.opset}, {self.nodes} nodes, {self.weight_bytes / 1e6:.1f} MB of weights; {compared}"


def export(
    model: Any,
    inputs: Any,
    path: Any,
    *,
    dynamic_axes: dict[Any, Any] | None = None,
    opset: int | None = None,
    input_names: list[str] | None = None,
    output_names: list[str] | None = None,
    tolerance: float = 1e-3,
) -> Report:
    """Writes a module's forward pass in evaluation mode as an ONNX file, runs the file by ONNX Runtime if that is installed, and compares.

    Args:
        inputs: an example input, or a tuple of them.
        dynamic_axes: for an input's name or number, the axes whose size may change: `{"x": {0: "batch"}}` or `{0: [0]}`. At most three
            different sizes; in the example they are 2 or more.
        opset: 13 or later; the newest of the installed package `onnx` if not given.
        tolerance: the largest relative error that is accepted.

    Raises:
        OnnxError: operators have no ONNX form; all of them are named. Or the results differ.
    """
    listed = inputs if isinstance(inputs, (tuple, list)) else [inputs]
    inputs = [i if isinstance(i, hw.Tensor) else tensor(np.asarray(i)) for i in listed]
    opset = onnx.defs.onnx_opset_version() if opset is None else opset
    if not 13 <= opset <= onnx.defs.onnx_opset_version():
        raise OnnxError(f"models are written in opset 13 to {onnx.defs.onnx_opset_version()}, not {opset}")
    names = input_names or _argument_names(model, len(inputs))
    axes = _axes(dynamic_axes or {}, names, inputs)
    was_training = bool(getattr(model, "training", False))
    if was_training:
        model.eval()
    try:
        found = captured(model, inputs, names, axes)
    finally:
        if was_training:
            model.train()
    proto, count = _written(model, found, opset, names, output_names)
    report = Report(str(path), opset, len(proto.graph.node), count, dynamic=found.sizes.names)
    _save(proto, Path(path), count)
    _compare(report, Path(path), inputs, found.results, tolerance)
    return report


def _argument_names(model: Any, count: int) -> list[str]:
    try:
        function = model.forward if isinstance(model, hw.nn.Module) else model
        found = [p.name for p in inspect.signature(function).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        found = []
    if hasattr(model, "input_names"):
        found = list(model.input_names)
    return [found[i] if i < len(found) else f"input{i}" for i in range(count)]


def _axes(given: dict[Any, Any], names: list[str], inputs: list[Any]) -> list[dict[int, str]]:
    made: list[dict[int, str]] = [{} for _ in names]
    for key, value in given.items():
        if key not in names and not (isinstance(key, int) and 0 <= key < len(names)):
            raise OnnxError(f"dynamic_axes names the input {key!r}; the inputs are {names}")
        i = names.index(key) if key in names else key
        pairs = value.items() if isinstance(value, dict) else [(a, f"{names[i]}_{a}") for a in value]
        made[i] = {a % inputs[i].dim(): str(n) for a, n in pairs}
    return made


# ---------------------------------------------------------------- writing
def _written(model: Any, found: Captured, opset: int, names: list[str], output_names: list[str] | None) -> tuple[Any, int]:
    graph, sizes = found.graph, found.sizes
    weights: dict[Any, str] = {}
    if isinstance(model, hw.nn.Module):
        for name, value in model.state_dict().items():
            weights.setdefault((value.data_ptr(), tuple(value.shape)), name)
    writer = Writer(graph, sizes, opset, weights)
    writer.input_names = [writer.fresh(n) for n in names]
    used: list[int] = []
    states = iter(found.states)
    for source in graph.sources:
        if source["kind"] == "input":
            writer.name_of[source["value"]] = writer.input_names[len(used)]
            used.append(source["value"])
        else:
            writer.known[source["value"]] = next(states) if source["kind"] == "state" else source["tensor"]
    _write_nodes(writer)
    outputs = [r["value"] for r in graph.results if r["kind"] == "output"]
    wanted = output_names or (["output"] if len(outputs) == 1 else [f"output{i}" for i in range(len(outputs))])
    if len(wanted) != len(outputs):
        raise OnnxError(f"the model returns {len(outputs)} tensors, {len(wanted)} output_names are given")
    infos = []
    for name, value in zip(wanted, outputs):
        made = writer.fresh(name)
        inner = writer.of_tensor(writer.known[value]) if value in writer.known else writer.name_of[value]
        writer.nodes.append(onnx.helper.make_node("Identity", [inner], [made], name=made))
        infos.append(_info(made, graph.spec(value), sizes))
    declared = [_info(n, graph.spec(v), sizes) for n, v in zip(writer.input_names, used)]
    arrays = [onnx.numpy_helper.from_array(a, n) for n, a in writer.initializers.items()]
    made_graph = onnx.helper.make_graph(writer.nodes, type(model).__name__, declared, infos, arrays)
    proto = onnx.helper.make_model(
        made_graph, opset_imports=[onnx.helper.make_opsetid("", opset)], producer_name="headwater", producer_version=hw.__version__
    )
    proto.ir_version = onnx.helper.find_min_ir_version_for(list(proto.opset_import))
    return proto, sum(a.nbytes for a in writer.initializers.values())


def _info(name: str, spec: dict[str, Any], sizes: Sizes) -> Any:
    shape: list[Any] = []
    for n in spec["shape"]:
        factor, symbols, offset = sizes.terms(n)
        if not symbols:
            shape.append(n)
        elif factor == 1 and offset == 0 and len(symbols) == 1:
            shape.append(sizes.names[symbols[0]])
        else:
            shape.append(None)
    return onnx.helper.make_tensor_value_info(name, onnx_type(spec["dtype"]), shape)


def _write_nodes(writer: Writer) -> None:
    needed = _needed(writer.graph)
    problems: dict[str, str] = {}
    for node in writer.graph.nodes():
        if not needed.intersection(node["outputs"]):
            continue
        call = Call(writer, node)
        for value in call.outputs:
            writer.makers[value] = call
        if _folded(writer, call):
            continue
        try:
            made = exporters[call.op](writer, call) if call.op in exporters else _by_declaration(writer, call)
        except OnnxError as error:
            problems.setdefault(f"{call.op} ({node['text'].strip()[:120]})", str(error))
            made = []
            for value in call.outputs:
                writer.name_of[value] = "missing"
        for value, name in zip(call.outputs, made if isinstance(made, list) else [made]):
            writer.name_of[value] = name
    if problems:
        lines = "\n  ".join(f"{where}: {why}" for where, why in list(problems.items())[:30])
        raise OnnxError(f"{len(problems)} operators of the model have no ONNX form:\n  {lines}")


def _by_declaration(writer: Writer, call: Call) -> Any:
    if not call.facts["onnx"]:
        raise OnnxError(call.facts["no_onnx"] or "it has no mapping")
    if call.facts["random"]:
        raise OnnxError("random numbers are not exported; export the model in evaluation mode")
    return by_mapping(writer, call)


def _needed(graph: Any) -> set[int]:
    wanted = {r["value"] for r in graph.results if r["kind"] == "output"}
    for node in reversed(graph.nodes()):
        if wanted.intersection(node["outputs"]):
            wanted.update(v for v in node["inputs"] if v is not None)
    return wanted


def _folded(writer: Writer, call: Call) -> bool:
    """What depends on weights and constants alone is calculated now."""
    if call.op == "dequantize_linear":  # weights stay integers in the file
        return False
    if any(v is not None and v not in writer.known for v in call.inputs) or call.facts["random"]:
        return False
    specs = [writer.graph.spec(v) for v in call.outputs]
    if any(writer.sizes.symbolic(n) for s in specs for n in s["shape"]) or any(_symbols_in(writer.sizes, v) for v in call.attrs.values()):
        return False
    size = sum(int(np.prod(s["shape"])) for s in specs)
    if size > 4 * sum(writer.known[v].numel() for v in call.inputs if v is not None) + 4096:
        return False
    arguments: list[Any] = [writer.known.get(v) if v is not None else None for v in call.inputs]
    variadic = [d["variadic"] for d in call.facts["inputs"]]
    if any(variadic):
        at, fixed = variadic.index(True), len(variadic) - 1
        count = len(arguments) - fixed
        arguments = [*arguments[:at], arguments[at : at + count], *arguments[at + count :]]
    given = dict(zip([d["name"] for d in call.facts["inputs"]], arguments))
    hidden = {a["name"] for a in call.facts["attrs"] if a["hidden"]}
    given.update({k: v for k, v in call.attrs.items() if k not in hidden})
    function = _C.op_function_of(call.op, False)
    positional = [given.pop(d["name"]) for d in call.facts["inputs"]]
    ordered = call.facts["order"]
    if ordered[: len(positional)] == [d["name"] for d in call.facts["inputs"]]:
        made = function(*positional, **given)
    else:
        made = function(**dict(zip([d["name"] for d in call.facts["inputs"]], positional)), **given)
    for value, result in zip(call.outputs, made if isinstance(made, (tuple, list)) else [made]):
        writer.known[value] = result
    return True


def _symbols_in(sizes: Sizes, value: Any) -> bool:
    return any(sizes.symbolic(v) for v in value) if isinstance(value, (tuple, list)) else sizes.symbolic(value)


# ---------------------------------------------------------------- saving and comparing
def _save(proto: Any, path: Path, weight_bytes: int) -> None:
    if weight_bytes > _MOST_INSIDE:
        onnx.save(proto, path, save_as_external_data=True, location=path.name + ".data", size_threshold=1024)
        return
    onnx.checker.check_model(proto)
    path.write_bytes(proto.SerializeToString())


def _compare(report: Report, path: Path, inputs: list[Any], results: list[Any], tolerance: float) -> None:
    try:
        import onnxruntime
    except ImportError:
        return
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its classes lie in a private module
        if "NOT_IMPLEMENTED" not in str(error):
            raise OnnxError(f"{path}: ONNX Runtime does not take the file: {error}") from error
        report.not_checked = f"ONNX Runtime has no kernel for it: {str(error).splitlines()[0][:200]}"
        return
    feeds = {i.name: _to_numpy(t.detach()) for i, t in zip(session.get_inputs(), inputs)}
    if len(session.get_inputs()) != len(inputs):
        raise OnnxError(f"ONNX Runtime finds {len(session.get_inputs())} inputs in {path}, {len(inputs)} are given")
    report.checked_with = f"onnxruntime {onnxruntime.__version__}"
    for number, (got, wanted) in enumerate(zip(session.run(None, feeds), results)):
        ours = _to_numpy(wanted.detach())
        if got.shape != ours.shape:
            raise OnnxError(f"{path}: output {number} has shape {list(got.shape)} in ONNX Runtime and {list(ours.shape)} in Headwater")
        difference = relative_error(got, ours)
        report.largest_error = max(report.largest_error, difference)
        if not difference <= tolerance:
            raise OnnxError(
                f"{path}: output {number} differs from ONNX Runtime's by {difference:.1e} of its largest value; "
                f"{tolerance:.1e} is accepted"
            )


def relative_error(a: Any, b: Any) -> float:
    """The largest difference, relative to the largest value. Equal infinities and NaNs do not differ."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    finite = np.abs(b[np.isfinite(b)])
    with np.errstate(invalid="ignore"):
        return float(np.where(same, 0.0, np.abs(a - b)).max() / max(finite.max(initial=0.0), 1e-6))


