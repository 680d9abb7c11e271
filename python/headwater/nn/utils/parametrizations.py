"""Weight normalisation and spectral normalisation."""

from __future__ import annotations

import headwater as hw

from ..functional.distance import normalize
from ..modules.module import Module
from .parametrize import register_parametrization


def _norm_except(weight: hw.Tensor, dim: int) -> hw.Tensor:
    """The 2-norm over all axes but `dim` (over all axes for -1), kept as axes of size one."""
    if dim == -1:
        return hw.norm(weight)
    return hw.norm(weight, 2, tuple(axis for axis in range(weight.ndim) if axis != dim), keepdim=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: hw.Tensor, weight_v: hw.Tensor) -> hw.Tensor:
        return weight_v * (weight_g / _norm_except(weight_v, self.dim))

    def right_inverse(self, weight: hw.Tensor) -> tuple[hw.Tensor, hw.Tensor]:
        return _norm_except(weight, self.dim), weight.clone()


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Length (original0) and direction (original1) of a weight as separate parameters (Salimans and Kingma 2016)."""
    return register_parametrization(module, name, _WeightNorm(dim))


class _SpectralNorm(Module):
    def __init__(self, weight: hw.Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % weight.ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.ndim > 1:
            with hw.no_grad():
                matrix = self._matrix(weight)
                self.register_buffer("_u", normalize(hw.randn(matrix.shape[0], dtype=weight.dtype), dim=0, eps=eps))
                self.register_buffer("_v", normalize(hw.randn(matrix.shape[1], dtype=weight.dtype), dim=0, eps=eps))
                self._iterate(matrix, 15)

    _u: hw.Tensor
    _v: hw.Tensor

    def _matrix(self, weight: hw.Tensor) -> hw.Tensor:
        if self.dim != 0:
            weight = weight.permute((self.dim, *[axis for axis in range(weight.ndim) if axis != self.dim]))
        return weight.flatten(1)

    def _iterate(self, matrix: hw.Tensor, count: int) -> None:
        for _ in range(count):
            self._u.copy_(normalize(matrix @ self._v, dim=0, eps=self.eps))
            self._v.copy_(normalize(matrix.t() @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: hw.Tensor) -> hw.Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            with hw.no_grad():
                self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / (u * (matrix @ v)).sum()

    def right_inverse(self, value: hw.Tensor) -> hw.Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int = 0
) -> Module:
    """Divides a weight by its largest singular value, found by power iteration (Miyato et al. 2018)."""
    weight = module._parameters.get(name)
    if weight is None:
        raise ValueError(f"Module '{type(module).__name__}' has no parameter with name '{name}'")
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
