"""`hw.compile`: a function of tensors and modules, captured as a graph, optimised, planned, and run as one chain of kernels."""
from __future__ import annotations

from .control import cond, scan, while_loop
from .function import CompiledFunction, CompileError, compile  # noqa: A004  torch's name

__all__ = ["CompileError", "CompiledFunction", "compile", "cond", "scan", "while_loop"]
