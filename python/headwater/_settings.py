"""Settings that other frameworks have, and what they mean on this one: a CPU, full precision, the same bits on every run."""
from __future__ import annotations

from typing import Any

from . import _C  # noqa: F401  the extension is loaded before the device type is
from ._types import device as _device

__all__ = ["set_default_device", "get_default_device", "set_float32_matmul_precision", "get_float32_matmul_precision",
           "use_deterministic_algorithms", "are_deterministic_algorithms_enabled", "is_deterministic_algorithms_warn_only_enabled"]

_chosen: dict[str, Any] = {"precision": "highest", "deterministic": False, "warn_only": False}


def set_default_device(device: Any) -> None:
    """Accepts "cpu" (or None), where all tensors live. Raises RuntimeError for any other device."""
    if device is not None:
        _device(str(device))


def get_default_device() -> _device:
    """Where new tensors are made: `device("cpu")`, the only device."""
    return _device("cpu")


def set_float32_matmul_precision(precision: str) -> None:
    """Remembers "highest", "high" or "medium" and changes nothing: products of float32 are computed in float32 in each of them,
    which "high" and "medium" allow. For speed use `hw.autocast`. Raises ValueError for another word."""
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"set_float32_matmul_precision: precision must be 'highest', 'high' or 'medium', got {precision!r}")
    _chosen["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What set_float32_matmul_precision was told last; "highest" at the start."""
    return _chosen["precision"]


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Remembers `mode` and changes nothing: with the same seed, thread count and machine every operator gives the same bits in any
    mode, and none is refused. `hw.tuning.set_mode("measure")` chooses kernels by time and so can differ from process to process; leave it
    off where bits count."""
    if not isinstance(mode, bool):
        raise TypeError(f"use_deterministic_algorithms: mode must be a bool, got {type(mode).__name__}")
    _chosen["deterministic"], _chosen["warn_only"] = mode, bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What use_deterministic_algorithms was told last; False at the start, where results are repeatable all the same."""
    return _chosen["deterministic"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The `warn_only` that use_deterministic_algorithms was told last."""
    return _chosen["warn_only"]
