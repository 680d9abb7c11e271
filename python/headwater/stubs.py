"""Type stubs of the package, written from the operator declarations: `python -m headwater.stubs DIR` writes DIR/__init__.pyi.

The wheel carries the result, so that editors and type checkers know every operator's arguments and documentation.
"""
from __future__ import annotations

import inspect
import keyword
import re
import sys
from pathlib import Path
from typing import Any

from . import _C, _functions, _settings
from .aliases import ALIASES

_TYPES = {"bool": "_bool", "int": "_int", "float": "_float", "number": "_Number", "str": "str", "ints": "_int | Sequence[_int]",
          "floats": "Sequence[_float]", "dtype": "_dtype"}

_HEAD = '''"""Type stubs of headwater, written from the operator declarations."""
from builtins import bool as _bool, float as _float, int as _int
from collections.abc import Sequence
from typing import Any, TypeAlias

from . import amp as amp, autograd as autograd, data as data, memory as memory, nn as nn, ops as ops, optim as optim, random as random
from ._types import Size as Size, device as device
from .autograd import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from .random import (
    default_generator as default_generator,
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    seed as seed,
    set_rng_state as set_rng_state,
)
from .serialization import load as load, save as save

_Number: TypeAlias = _bool | _int | _float | complex

class dtype:
    is_floating_point: _bool
    is_complex: _bool
    is_signed: _bool
    itemsize: _int
    name: str

_dtype: TypeAlias = dtype

class Generator:
    def __init__(self, device: Any = ...) -> None: ...
    def manual_seed(self, seed: _int) -> Generator: ...
    def initial_seed(self) -> _int: ...
    def seed(self) -> _int: ...
    def get_state(self) -> tuple[_int, _int]: ...
    def set_state(self, state: tuple[_int, _int]) -> None: ...

'''


def _identifier(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def _parameters(facts: dict[str, Any], method: bool) -> str:
    inputs = {i["name"]: i for i in facts["inputs"]}
    attrs = {a["name"]: a for a in facts["attrs"]}
    parts: list[str] = []
    starred = optional = False
    for place, name in enumerate(facts["order"]):
        if method and place == 0:
            parts.append("self")
            continue
        if name in inputs:
            i = inputs[name]
            kind = "Sequence[Tensor]" if i["variadic"] else "Tensor | _Number"
            default = "" if not i["optional"] else " | None = ..."
        else:
            a = attrs[name]
            if a["hidden"]:
                continue
            kind = _TYPES[a["kind"]]
            if a["varargs"] and name == facts["order"][-1]:
                parts.append(f"*{name}: {kind}")
                starred = True
                continue
            if a["nullable"]:
                kind += " | None"
            default = "" if a["required"] else " = ..."
            if a["keyword_only"] and not starred:
                parts.append("*")
                starred = True
        if not default and optional and not starred:
            default = " = ..."  # what follows an optional argument cannot be required in Python
        optional = optional or bool(default)
        parts.append(f"{_identifier(name)}: {kind}{default}")
    if not starred:
        parts.append("*")
    creation = "device: Any = ..., requires_grad: _bool = ..., generator: Generator | None = ..."
    parts.append("out: Any = ..." if facts["inputs"] else creation)
    return ", ".join(parts)


def _result(facts: dict[str, Any]) -> str:
    outputs = facts["outputs"]
    if len(outputs) > 1:
        return f"tuple[{', '.join(['Tensor'] * len(outputs))}]"
    return "tuple[Tensor, ...]" if outputs[0].endswith("...") else "Tensor"


def _definition(name: str, facts: dict[str, Any], indent: str, method: bool) -> str:
    doc = facts["doc"].replace("\\", "\\\\").replace('"""', "'''")
    return f'{indent}def {name}({_parameters(facts, method)}) -> {_result(facts)}:\n{indent}    """{doc}"""\n'


def _plain_methods(known: set[str]) -> list[str]:
    """Methods of Tensor that are no operators."""
    lines = []
    for name, value in sorted(vars(_C.Tensor).items()):
        if name in known or name in ALIASES or (name.startswith("_") and not re.fullmatch(r"__\w+__", name)):
            continue
        if name in ("__new__", "__doc__", "__module__", "__dict__", "__weakref__", "__hash__", "__array_priority__", "__array_ufunc__"):
            continue
        if isinstance(value, property) or inspect.isgetsetdescriptor(value):
            lines.append(f"    @property\n    def {name}(self) -> Any: ...\n")
            if name in ("grad", "requires_grad", "data"):
                lines.append(f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...\n")
        elif callable(value):
            lines.append(f"    def {name}(self, *args: Any, **kwargs: Any) -> Any: ...\n")
    return lines


def _functional_names() -> list[str]:
    import headwater

    return sorted(headwater._FUNCTIONAL)


def text() -> str:
    """The stubs as one text."""
    ops = {n: _C.describe_op(n) for n in _C.op_names()}
    public = {n: f for n, f in ops.items() if not f["internal"]}
    out = [_HEAD]
    out += [f"{d}: dtype\n" for d in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
                                      "complex64", "complex128", "half", "float", "double", "short", "int", "long", "cfloat", "cdouble")]
    out.append("\nclass Tensor:\n    def __init__(self, *data: Any) -> None: ...\n")
    known = set()
    for name, facts in public.items():
        if facts["method"] and not facts["inputs"][0]["variadic"]:
            mutates = name.endswith("_")
            if not mutates or name == "copy_":
                out.append(_definition(name, facts, "    ", True))
                known.add(name)
            if facts["inplace"] and not mutates:
                out.append(_definition(name + "_", facts, "    ", True))
                known.add(name + "_")
    out += _plain_methods(known)
    out.append("\n")
    out += [_definition(n, f, "", False) for n, f in public.items()]
    out += [_definition(n + "_", f, "", False) for n, f in public.items() if f["inplace"] and not n.endswith("_")]
    out += [f"{alias} = {name}\n" for alias, name in ALIASES.items() if name in public and alias not in public]
    out += [f"{n}: Any\n" for n in (*_functions.__all__, *_settings.__all__, *_functional_names()) if n not in public]
    out.append("e: _float\ninf: _float\nnan: _float\npi: _float\nnewaxis: None\n")
    out.append("__version__: str\n")
    return "".join(out)


def main(argv: list[str] | None = None) -> int:
    """Writes __init__.pyi into the folder given."""
    arguments = sys.argv[1:] if argv is None else argv
    if len(arguments) != 1:
        print("usage: python -m headwater.stubs DIR", file=sys.stderr)
        return 2
    Path(arguments[0], "__init__.pyi").write_text(text())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
