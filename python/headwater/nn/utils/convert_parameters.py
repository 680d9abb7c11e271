"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import headwater as hw


def parameters_to_vector(parameters: Iterable[hw.Tensor]) -> hw.Tensor:
    """The elements of all parameters, one after the other: (total,)."""
    return hw.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: hw.Tensor, parameters: Iterable[hw.Tensor]) -> None:
    """Gives each parameter its slice of the vector (a view of it, as in torch)."""
    if not isinstance(vec, hw.Tensor):
        raise TypeError(f"expected headwater.Tensor, but got: {type(vec).__name__}")
    at = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[at : at + count].reshape(parameter.shape).detach()
        at += count
