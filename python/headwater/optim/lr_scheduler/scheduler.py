"""The base of the schedules."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable
from typing import Any

from ... import recording
from ..optimizer import Optimizer


def _in_each_run(step: Callable[..., None]) -> Callable[..., None]:
    """The step of a schedule; inside a compiled function it becomes an effect of each run."""

    @functools.wraps(step)
    def run(self: LRScheduler, *args: Any, **kwargs: Any) -> None:
        if recording.current is None:
            step(self, *args, **kwargs)
        else:
            args = tuple(float(a) if hasattr(a, "item") else a for a in args)  # a loss has no value yet: float() says so
            recording.current.effect(functools.partial(step, self, *args, **kwargs))

    return run


class LRScheduler:
    """Sets the learning rates of an optimiser, epoch by epoch.

    Subclasses define `get_lr`, which gives the rates of all groups for `self.last_epoch`, by recursion from the rates
    that the groups have now. With `last_epoch` other than -1, a schedule is resumed: the groups must have "initial_lr".
    """

    optimizer: Optimizer
    last_epoch: int
    _transient: tuple[str, ...] = ("optimizer",)  # what state_dict leaves out

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _in_each_run(cls.step)  # type: ignore[method-assign]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"a scheduler needs a headwater.optim.Optimizer, got {type(optimizer).__name__}")
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copy.copy(group["lr"]))  # that of an earlier schedule stays
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param group {number} has no 'initial_lr', which resuming (last_epoch={last_epoch}) needs; "
                    "load the optimizer's state dict first"
                )
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial = True
        self._steps_seen = optimizer._steps_taken
        self._step_count = 0
        self._last_lr: list[float] = []
        self.step()
        self._initial = False

    def get_lr(self) -> list[float]:
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def get_last_lr(self) -> list[float]:
        """The rates set by the last step, one for each group."""
        return self._last_lr

    def _rates(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    @_in_each_run
    def step(self, epoch: int | None = None) -> None:
        """Goes to the next epoch (or to `epoch`) and sets the rates."""
        self._step_count += 1
        if self._step_count == 2 and self.optimizer._steps_taken == self._steps_seen:
            warnings.warn(
                "lr_scheduler.step() was called before optimizer.step(): the first rate of the schedule is skipped. "
                "Call optimizer.step() first.",
                UserWarning,
                stacklevel=2,
            )
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            closed = getattr(self, "_get_closed_form_lr", None)
            rates = closed() if closed else self.get_lr()
        self._set_rates(rates)

    def _set_rates(self, rates: list[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates):
            group["lr"] = rate
        self._last_lr = self._rates()

    def state_dict(self) -> dict[str, Any]:
        """All that changes, without the optimiser."""
        return {key: value for key, value in self.__dict__.items() if key not in self._transient}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)
