"""Cosine schedules (Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017)."""

from __future__ import annotations

import math

from ..optimizer import Optimizer
from .scheduler import LRScheduler


class CosineAnnealingLR(LRScheduler):
    """eta_min + (rate - eta_min) * (1 + cos(pi * epoch / T_max)) / 2; beyond T_max it climbs again."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self._initial:
            return self._rates()
        epoch, span = self.last_epoch, self.T_max
        if (epoch - 1 - span) % (2 * span) == 0:  # leaving a minimum, where the recursion below divides by zero
            rise = (1 - math.cos(math.pi / span)) / 2
            return [rate + (base - self.eta_min) * rise for base, rate in zip(self.base_lrs, self._rates())]
        change = (1 + math.cos(math.pi * epoch / span)) / (1 + math.cos(math.pi * (epoch - 1) / span))
        return [change * (rate - self.eta_min) + self.eta_min for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """A cosine from the base rate to `eta_min` over T_0 epochs, then anew over T_0 * T_mult, and so on.

    `step` takes fractions of an epoch too: `step(epoch + batch / batches)`.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"T_0 must be an int above 0, got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"T_mult must be an int of at least 1, got {T_mult}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        self.T_i: float = T_0
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        self._step_count += 1
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"epoch must be at least 0, got {epoch}")
            self._locate(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_rates(self.get_lr())

    def _locate(self, epoch: float) -> None:
        """Which round the epoch is in, and how far."""
        if self.T_mult == 1:
            self.T_cur, self.T_i = epoch % self.T_0, self.T_0
            return
        begin, length = 0, self.T_0
        while epoch >= begin + length:
            begin += length
            length *= self.T_mult
        self.T_cur, self.T_i = epoch - begin, length
