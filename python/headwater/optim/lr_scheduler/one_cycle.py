"""The one-cycle schedule."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler


class OneCycleLR(LRScheduler):
    """Up from max_lr / div_factor to max_lr, then down to a tiny rate; called after every batch.

    Smith and Topin, "Super-convergence", arXiv:1708.07120. The momentum (or beta1) goes the other way. `three_phase`
    comes down as slowly as it went up, and only then to the end.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"a scheduler needs a headwater.optim.Optimizer, got {type(optimizer).__name__}")
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("give total_steps, or both epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"total_steps must be an int above 0, got {total_steps}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"pct_start must be in [0, 1], got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be 'cos' or 'linear', got {anneal_strategy!r}")
        self.total_steps, self.cycle_momentum = total_steps, cycle_momentum
        self._anneal = anneal_strategy
        self._phases = _phases(total_steps, pct_start, three_phase)
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, _each(optimizer, max_lr, "max_lr")):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self._prepare_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        resumed = last_epoch != -1
        super().__init__(_with_rates(optimizer, resumed), last_epoch)

    def _prepare_momentum(self, optimizer: Optimizer, base: Any, top: Any, last_epoch: int) -> None:
        if not self.cycle_momentum:
            return
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("cycle_momentum needs an optimizer with 'momentum' or 'betas'; pass cycle_momentum=False")
        self.use_beta1 = "betas" in optimizer.defaults
        if last_epoch == -1:
            lows, highs = _each(optimizer, base, "base_momentum"), _each(optimizer, top, "max_momentum")
            for group, low, high in zip(optimizer.param_groups, lows, highs):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value

    def _between(self, start: float, end: float, part: float) -> float:
        if self._anneal == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self) -> list[float]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"step {step} is beyond the {self.total_steps} steps of the schedule")
        begin = 0.0
        phases = list(self._phases)
        while step > phases[0][0] and len(phases) > 1:
            begin = phases.pop(0)[0]
        end, lr_from, lr_to, momentum_from, momentum_to = phases[0]
        part = (step - begin) / (end - begin) if end != begin else 1.0
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[lr_from], group[lr_to], part))
            if self.cycle_momentum:
                self._set_momentum(group, self._between(group[momentum_from], group[momentum_to], part))
        return rates


Phase = tuple[float, str, str, str, str]  # last step; keys in the group: rate from, to; momentum from, to


def _phases(total: int, pct_start: float, three_phase: bool) -> list[Phase]:
    up = ("initial_lr", "max_lr", "max_momentum", "base_momentum")
    if three_phase:
        return [
            (float(pct_start * total) - 1, *up),
            (float(2 * pct_start * total) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
            (total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
        ]
    return [(float(pct_start * total) - 1, *up), (total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]


def _each(optimizer: Optimizer, value: Any, name: str) -> list[float]:
    groups = len(optimizer.param_groups)
    if isinstance(value, (list, tuple)):
        if len(value) != groups:
            raise ValueError(f"there are {groups} param groups, but {len(value)} values of {name}")
        return list(value)
    return [value] * groups


def _with_rates(optimizer: Optimizer, resumed: bool) -> Optimizer:
    """The base class takes the first rate from "lr"."""
    if not resumed:
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
    return optimizer
