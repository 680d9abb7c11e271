"""Puts the operators into the package and onto Tensor. Reads the C++ declarations; nothing is listed here."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

from . import _C

OP_NAMES: list[str] = _C.op_names()


def result_type(name: str, outputs: list[str]) -> type:
    """A named tuple class for an op with several outputs."""
    return namedtuple(name, outputs, module="headwater.return_types")


def install(namespace: dict[str, Any], tensor: type) -> None:
    """Functions, methods and in-place methods of every op; result types of those with several outputs."""
    result_types: dict[str, type] = {}
    problems = []
    for name in OP_NAMES:
        facts = _C.describe_op(name)
        if facts["problems"]:
            problems.append(f"{name} ({facts['file']}): {facts['problems']}")
        public = not facts["internal"]
        mutates = name.endswith("_") and not name.endswith("__")
        if public and len(facts["outputs"]) > 1:
            result_types[name] = result_type(name, facts["outputs"])
        function = _C.op_function_of(name, mutates)
        if public:
            namespace[name] = function
        if public and facts["method"] and not hasattr(tensor, name):
            setattr(tensor, name, function)
        if public and facts["inplace"] and not mutates:
            function = _C.op_function_of(name, True)
            setattr(tensor, name + "_", function)
            namespace[name + "_"] = function
    if problems:
        raise ImportError("incomplete operator declarations:\n  " + "\n  ".join(problems))
    _C.set_result_types(result_types)
