"""A node of a loaded model: what the handlers see, and how they are called with what they asked for."""
from __future__ import annotations

import copy
from typing import Any

import numpy as np

import headwater as hw

from .. import recording
from .element_types import core_type, in_core
from .registry import Handler, find
from .requirement import OnnxError, onnx
from .symbolic import calculated, check_safe, meets_symbols
from .values import _to_numpy, host, is_symbolic, plain, tensor

_NEVER: Any = object()


class Node:
    """Type, attributes and names of a node, and its handler."""

    def __init__(self, op: str, domain: str, name: str, opset: int, handler: Handler) -> None:
        self.op, self.domain, self.name, self.opset, self.handler = op, domain, name, opset, handler
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.attributes: dict[str, Any] = {}
        self.opsets: dict[str, int] = {}
        self.inner: dict[str, Any] = {}  # the attributes that are graphs, callable: of the copy that runs

    def with_inner(self, graphs: dict[str, Any]) -> Node:
        """A copy for one run, so that threads do not meet in it."""
        made = copy.copy(self)
        made.inner = graphs
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "handler": None}  # found again by name

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        found = find(self.domain, self.op, self.opset)
        if found is None:
            raise OnnxError(f"{self} has no handler in this version")
        self.handler = found

    def attr(self, name: str, otherwise: Any = _NEVER) -> Any:
        """An attribute's value: a number, a text, a list, an array, or a Graph."""
        if name in self.attributes:
            return self.attributes[name]
        if otherwise is _NEVER:
            raise OnnxError(f"the attribute '{name}' is missing")
        return otherwise

    def wants(self, output: int) -> bool:
        """Whether somebody named the output."""
        return output < len(self.outputs) and bool(self.outputs[output])

    def __str__(self) -> str:
        name = f" '{self.name}'" if self.name else f" that makes '{next((o for o in self.outputs if o), '')}'"
        domain = f"{self.domain}." if self.domain else ""
        return f"node{name} ({domain}{self.op}, opset {self.opset})"

    # ------------------------------------------------------------------ running
    def run(self, values: list[Any]) -> tuple[Any, ...]:
        """The outputs for these inputs."""
        handler = self.handler
        if recording.current is not None:
            if meets_symbols(values) and (made := calculated(self, values)) is not None:
                return (made,)
            check_safe(self.op, values)
        if handler.raw:
            result = handler.function(self, *values)
        elif self._is_host(values):
            result = self._run_on_host(values)
        else:
            result = handler.function(self, *self._prepared(values))
        return tuple(result) if isinstance(result, tuple) else (result,)

    def _is_host(self, values: list[Any]) -> bool:
        known = foreign = 0
        for value in values:
            if isinstance(value, np.ndarray):
                known += 1
                foreign += not in_core(value.dtype) and not is_symbolic(value)
            elif value is not None and not foreign:
                known = -len(values)
        return bool(foreign) or (known > 0 and not self.handler.fresh)

    def _prepared(self, values: list[Any]) -> list[Any]:
        handler = self.handler
        rest = handler.host_from(len(values))
        return [
            self._host_input(i, v)
            if i in handler.host or i >= rest
            else plain(v)
            if i in handler.prefers and isinstance(v, np.ndarray)
            else tensor(plain(v))
            for i, v in enumerate(values)
        ]

    def _host_input(self, index: int, value: Any) -> Any:
        return host(value, f"input {index} ('{self.inputs[index]}')")

    def _run_on_host(self, values: list[Any]) -> tuple[Any, ...]:
        """At once, also while capturing; the result is a host value, in the type that the operator's declaration tells."""
        values = [host(v, "an input beside one of a type that the core lacks") for v in values]
        with recording.eagerly(), hw.no_grad():
            result = self.handler.function(self, *self._prepared(values))
            result = result if isinstance(result, tuple) else (result,)
            made = [_to_numpy(r.detach()) if isinstance(r, hw.Tensor) else r for r in result]
        return tuple(self._narrowed(i, m, values) for i, m in enumerate(made))

    def _narrowed(self, index: int, made: Any, values: list[Any]) -> Any:
        foreign = {i: v.dtype for i, v in enumerate(values) if isinstance(v, np.ndarray) and not in_core(v.dtype) and not is_symbolic(v)}
        if not foreign or not isinstance(made, np.ndarray):
            return made
        schema = onnx.defs.get_schema(self.op, self.opset, self.domain)
        kind = schema.outputs[min(index, len(schema.outputs) - 1)].type_str
        for i, dtype in foreign.items():
            if schema.inputs[min(i, len(schema.inputs) - 1)].type_str == kind:
                return made.astype(dtype)
        return made


def same_type(value: Any, like: Any) -> Any:
    """The tensor in the type of another."""
    return value if value.dtype == like.dtype else value.to(like.dtype)


__all__ = ["Node", "core_type", "same_type"]
