"""The cyclic schedule."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .one_cycle import _each
from .scheduler import LRScheduler


class CyclicLR(LRScheduler):
    """Up from base_lr to max_lr and down again, over and over; called after every batch (Smith, arXiv:1506.01186).

    `mode`: "triangular" keeps the height, "triangular2" halves it with each cycle, "exp_range" scales it by gamma**batch. `scale_fn`
    takes its place: of the cycle or of the batch, as `scale_mode` says. With `cycle_momentum` the momentum (or beta1) goes the other
    way.
    """

    _transient = ("optimizer", "_scale")

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"a scheduler needs a headwater.optim.Optimizer, got {type(optimizer).__name__}")
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"mode must be 'triangular', 'triangular2' or 'exp_range', got {mode!r}")
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError(f"scale_mode must be 'cycle' or 'iterations', got {scale_mode!r}")
        up, down = float(step_size_up), float(step_size_up if step_size_down is None else step_size_down)
        if not (up > 0 and down > 0):
            raise ValueError(f"the parts of a cycle must be longer than 0, got {step_size_up} and {step_size_down}")
        self.total_size, self.step_ratio = up + down, up / (up + down)
        self.max_lrs = _each(optimizer, max_lr, "max_lr")
        self.mode, self.gamma, self._scale = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, _each(optimizer, base_lr, "base_lr"), strict=True):
                group["lr"] = low
        if cycle_momentum:
            if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
                raise ValueError("cycle_momentum needs an optimizer with 'momentum' or 'betas'; pass cycle_momentum=False")
            self.use_beta1 = "betas" in optimizer.defaults
            self.base_momentums = _each(optimizer, base_momentum, "base_momentum")
            self.max_momentums = _each(optimizer, max_momentum, "max_momentum")
        super().__init__(optimizer, last_epoch)
        self.base_lrs = _each(optimizer, base_lr, "base_lr")

    def _height(self) -> float:
        """How far up it is: 0 at base_lr, 1 at max_lr, before scaling by mode."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        at = 1 + self.last_epoch / self.total_size - cycle
        height = at / self.step_ratio if at <= self.step_ratio else (at - 1) / (self.step_ratio - 1)
        place = cycle if self.scale_mode == "cycle" else self.last_epoch
        if self._scale is not None:
            return height * self._scale(place)
        return height * {"triangular": 1.0, "triangular2": 0.5 ** (place - 1), "exp_range": self.gamma**place}[self.mode]

    def get_lr(self) -> list[float]:
        height = self._height()
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True):
                self._set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value
