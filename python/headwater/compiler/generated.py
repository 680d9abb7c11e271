"""The one message where regions could run as generated code and there is no compiler for it."""

from __future__ import annotations

import warnings

from .. import _C

_told = False


def tell_once() -> None:
    """Warns the first time that code was wanted and could not be made."""
    global _told
    if _told:
        return
    missing = _C.codegen_stats()["missing"]
    if missing:
        _told = True
        warnings.warn(
            f"headwater runs fused regions in tiles, which is slower than generated code: {missing}. Results are the same. "
            "Install it (on Debian and Ubuntu: sudo apt-get install libllvm19), name the library with HEADWATER_LLVM, "
            "or set HEADWATER_CODEGEN=off to run in tiles without this message.",
            RuntimeWarning,
            stacklevel=2,
        )
