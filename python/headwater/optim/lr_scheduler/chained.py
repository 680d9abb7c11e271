"""Schedules made of schedules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler


def _same_optimizer(optimizer: Optimizer, schedulers: Sequence[LRScheduler]) -> None:
    for number, scheduler in enumerate(schedulers):
        if scheduler.optimizer is not optimizer:
            raise ValueError(f"scheduler {number} ({type(scheduler).__name__}) belongs to another optimizer")


class _ManyLR(LRScheduler):
    _transient = ("optimizer", "_schedulers")
    _schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(saved)


class SequentialLR(_ManyLR):
    """One scheduler after the other: at each of `milestones` the next takes over, from its own epoch 0."""

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if not schedulers:
            raise ValueError("SequentialLR needs at least one scheduler")
        if len(milestones) != len(schedulers) - 1:
            many = len(schedulers)
            raise ValueError(f"{many} schedulers need {many - 1} milestones, got {len(milestones)}")
        for number, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"scheduler {number} ({type(scheduler).__name__}) has no optimizer")
        _same_optimizer(optimizer, schedulers)
        self.optimizer = optimizer
        self._schedulers, self._milestones = list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        # Each scheduler took its first step when it was made: undo those, then start the first one anew.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        self._start(self._schedulers[0])

    def _start(self, scheduler: LRScheduler) -> None:
        """Epoch 0 of a scheduler, by its recursion as when it was made."""
        initial, scheduler._initial = scheduler._initial, True
        scheduler._step_count = 0
        scheduler.step()
        scheduler._initial = initial
        self._last_lr = scheduler.get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def get_lr(self) -> list[float]:
        return self._last_lr


class ChainedScheduler(_ManyLR):
    """Steps all schedulers, one on top of the other."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler needs at least one scheduler")
        self.optimizer = optimizer or schedulers[0].optimizer
        _same_optimizer(self.optimizer, schedulers)
        self._schedulers = list(schedulers)
        self._last_lr = self._rates()

    def step(self, epoch: int | None = None) -> None:
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()

    def get_lr(self) -> list[float]:
        return self._last_lr
