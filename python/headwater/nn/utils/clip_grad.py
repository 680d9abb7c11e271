"""Limiting gradients by their common norm or by value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

import headwater as hw

Tensors: TypeAlias = hw.Tensor | Iterable[hw.Tensor]


def _listed(tensors: Tensors) -> list[hw.Tensor]:
    return [tensors] if isinstance(tensors, hw.Tensor) else list(tensors)


def _gradients(parameters: Tensors) -> list[hw.Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


def _by_rows(parameters: Tensors) -> list[Any]:
    return [p.sparse_grad for p in _listed(parameters) if p.sparse_grad is not None]


def _together(norms: list[hw.Tensor]) -> list[hw.Tensor]:
    """Those that lie on several meshes, as of a model with stages, as ordinary tensors on every process."""
    meshes = {t.mesh if t.is_global else None for t in norms}
    return norms if len(meshes) == 1 else [t.full() if t.is_global else t for t in norms]


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> hw.Tensor:
    """The norm of all tensors taken as one vector, as a 0-d tensor."""
    tensors = _listed(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return hw.tensor(0.0)
    with hw.no_grad():
        norms = hw.stack(_together([hw.norm(t.detach(), norm_type) for t in tensors]))
        total = norms.max() if math.isinf(norm_type) and norm_type > 0 else hw.norm(norms, norm_type)
    if error_if_nonfinite and not math.isfinite(float(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients is {float(total)}, so it cannot be clipped. "
            "Set error_if_nonfinite=False to scale by it nevertheless."
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: hw.Tensor, foreach: bool | None = None
) -> None:
    """Scales all gradients by max_norm / total_norm where that is below one."""
    with hw.no_grad():
        scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in _gradients(parameters):
            grad.mul_(scale)
        for rows in _by_rows(parameters):
            rows.mul_(scale)


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> hw.Tensor:
    """Scales the gradients so that the norm of all of them together is at most max_norm; returns the norm before."""
    parameters = _listed(parameters)
    gradients, rows = _gradients(parameters), _by_rows(parameters)
    if rows and norm_type != 2:
        raise NotImplementedError("clip_grad_norm_: gradients by rows (sparse_grad) have a norm of order 2 only")
    gradients += [hw.sqrt(r.square_sum()) for r in rows]
    total = get_total_norm(gradients, norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Limits every element of the gradients to [-clip_value, clip_value]."""
    limit = float(clip_value)
    with hw.no_grad():
        for grad in _gradients(parameters):
            grad.clamp_(min=-limit, max=limit)
        for rows in _by_rows(parameters):
            rows.parts = [(index, values.clamp(min=-limit, max=limit)) for index, values in rows.parts]
