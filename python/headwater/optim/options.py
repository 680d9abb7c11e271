"""Checks of the options that the optimisers share. Each raises ValueError with the option, its value and its range."""

from __future__ import annotations

import math
from typing import Any


def at_least_zero(**options: Any) -> None:
    for name, value in options.items():
        if not math.isfinite(float(value)) or float(value) < 0:
            raise ValueError(f"{name} must be a number of at least 0, got {value}")


def in_unit_interval(**options: Any) -> None:
    for name, value in options.items():
        if not 0 <= float(value) < 1:
            raise ValueError(f"{name} must be in [0, 1), got {value}")


def betas(pair: Any) -> tuple[Any, Any]:
    if len(pair) != 2:
        raise ValueError(f"betas must be two numbers, got {pair}")
    in_unit_interval(**{"betas[0]": pair[0], "betas[1]": pair[1]})
    return tuple(pair)


def of_formula(defaults: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """What an optimiser without options of its own kind checks: its numbers, and `given`, which only say how. All of them."""
    at_least_zero(**{n: defaults[n] for n in ("lr", "eps", "weight_decay", "momentum_decay") if n in defaults})
    if "betas" in defaults:
        betas(defaults["betas"])
    implementation(given.get("foreach"), None, given.get("differentiable", False))
    return {**defaults, **given}


def implementation(foreach: bool | None, fused: bool | None, differentiable: bool) -> None:
    """There is one implementation: a fused kernel over all parameters. `foreach` and `fused` are accepted."""
    if differentiable:
        raise NotImplementedError("differentiable=True is not supported: steps are not recorded on the tape")
    if foreach and fused:
        raise RuntimeError("foreach and fused cannot both be True")
