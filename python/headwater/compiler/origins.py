"""Where an operation was called: the path of modules and the user's line."""
from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import Any

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_internal: dict[CodeType, bool] = {}


def is_internal(code: CodeType) -> bool:
    """Whether code belongs to this package."""
    known = _internal.get(code)
    if known is None:
        known = _internal[code] = os.path.abspath(code.co_filename).startswith(HERE)
    return known


def _child_name(parent: Any, child: Any) -> str:
    for name in parent._module_names:
        if parent.__dict__.get(name) is child:
            return str(name)
    for name, module in parent.named_modules():  # called past a container
        if module is child:
            return str(name)
    return type(child).__name__


class Origins:
    """Texts such as "Net.layers.0 (train.py:31)". Names of modules are looked up once."""

    def __init__(self) -> None:
        self._names: dict[tuple[int, int], str] = {}

    def _name(self, parent: Any, child: Any) -> str:
        if parent is None:
            return type(child).__name__
        key = (id(parent), id(child))
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = _child_name(parent, child)
        return name

    def text(self) -> str:
        """The innermost line outside of this package, and the modules being called."""
        frame: FrameType | None = sys._getframe(1)
        modules: list[Any] = []
        place = ""
        while frame is not None:
            code = frame.f_code
            if code.co_name == "forward" and code.co_argcount:
                owner = frame.f_locals.get(code.co_varnames[0])
                if hasattr(owner, "_module_names"):
                    modules.append(owner)
            if not place and not is_internal(code):
                place = f"{os.path.basename(code.co_filename)}:{frame.f_lineno}"
            frame = frame.f_back
        path, parent = [], None
        for module in reversed(modules):
            path.append(self._name(parent, module))
            parent = module
        where = ".".join(path)
        return f"{where} ({place})" if where else place


def user_line(error: BaseException) -> str:
    """The innermost line of the user in a traceback: "train.py:31: loss.item()"."""
    import linecache

    found = ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_internal(code):
            line = linecache.getline(code.co_filename, trace.tb_lineno).strip()
            found = f"{os.path.basename(code.co_filename)}:{trace.tb_lineno}: {line}"
        trace = trace.tb_next
    return found
