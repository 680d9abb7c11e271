"""Averages of a model's weights over the steps of a training: SWA and EMA (Izmailov et al., arXiv:1803.05407)."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import headwater as hw

from .lr_scheduler import LRScheduler
from .lr_scheduler.one_cycle import _each
from .optimizer import Optimizer

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn"]

Average = Callable[[Any, Any, Any], Any]  # (averaged, new, how many so far)


def get_swa_avg_fn() -> Average:
    """The mean of all: averaged + (new - averaged) / (n + 1)."""

    def mean(averaged: Any, new: Any, num_averaged: Any) -> Any:
        return averaged + (new - averaged) / (num_averaged + 1)

    return mean


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The exponential moving average: decay * averaged + (1 - decay) * new."""
    _check_decay(decay)

    def moving(averaged: Any, new: Any, num_averaged: Any) -> Any:
        return decay * averaged + (1 - decay) * new

    return moving


def _multiple(average: Average) -> Callable[[list[Any], list[Any], Any], None]:
    def update(averaged: list[Any], new: list[Any], num_averaged: Any) -> None:
        for a, b in zip(averaged, new, strict=True):
            a.copy_(average(a, b, num_averaged))

    return update


def get_swa_multi_avg_fn() -> Callable[[list[Any], list[Any], Any], None]:
    """As get_swa_avg_fn, on lists and in place."""
    return _multiple(get_swa_avg_fn())


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[list[Any], list[Any], Any], None]:
    """As get_ema_avg_fn, on lists and in place."""
    _check_decay(decay)

    def update(averaged: list[Any], new: list[Any], num_averaged: Any) -> None:
        for a, b in zip(averaged, new, strict=True):
            if a.dtype.is_floating_point:
                a.lerp_(b, 1 - decay)
            else:  # counters
                a.copy_(decay * a + (1 - decay) * b)

    return update


def _check_decay(decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ValueError(f"decay must be in [0, 1], got {decay}")


class AveragedModel(hw.nn.Module):
    """A copy of `model`, `.module`, whose parameters are the averages of those that update_parameters was given.

    The first call copies, later ones average: all alike, or by `avg_fn(averaged, new, n)` for each parameter, or by
    `multi_avg_fn(averaged_list, new_list, n)`, in place. Buffers are averaged with `use_buffers`, else copied; after SWA of a model with
    batch norm and copied buffers call update_bn.

    >>> model = hw.nn.Linear(1, 1)
    >>> averaged = hw.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> averaged.n_averaged
    tensor(1)
    """

    n_averaged: hw.Tensor

    def __init__(self, model: hw.nn.Module, device: Any = None, avg_fn: Average | None = None,
                 multi_avg_fn: Callable[[list[Any], list[Any], Any], None] | None = None, use_buffers: bool = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("give avg_fn or multi_avg_fn, not both")
        self.module = copy.deepcopy(model) if device is None else copy.deepcopy(model).to(device)
        self.register_buffer("n_averaged", hw.tensor(0))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: hw.nn.Module) -> None:
        """Takes the parameters of `model` into the averages."""
        with hw.no_grad():
            averaged, new = self._tensors(self.module), self._tensors(model)
            if self.n_averaged.item() == 0:
                for a, b in zip(averaged, new, strict=True):
                    a.copy_(b)
            elif self.multi_avg_fn is not None:
                self.multi_avg_fn(averaged, new, self.n_averaged)
            else:
                _multiple(self.avg_fn or get_swa_avg_fn())(averaged, new, self.n_averaged)
            if not self.use_buffers:
                for kept, given in zip(self.module.buffers(), model.buffers(), strict=True):
                    kept.copy_(given)
            self.n_averaged += 1

    def _tensors(self, model: hw.nn.Module) -> list[Any]:
        buffers = model.buffers() if self.use_buffers else ()
        return [t.detach() for t in itertools.chain(model.parameters(), buffers)]


def update_bn(loader: Iterable[Any], model: hw.nn.Module, device: Any = None) -> None:
    """Sets the running statistics of all batch norms to the means over the batches of `loader`: tensors, or lists whose first item is
    the input of the model."""
    norms = {m: m.momentum for m in model.modules() if isinstance(m, hw.nn.modules.batchnorm._BatchNorm)}
    if not norms:
        return
    training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    try:
        with hw.no_grad():
            for batch in loader:
                batch = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(batch if device is None else batch.to(device))
    finally:
        for norm, momentum in norms.items():
            norm.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """Goes from the rate of each group to `swa_lr` in `anneal_epochs` epochs, by a cosine or a line, and stays there."""

    def __init__(self, optimizer: Optimizer, swa_lr: float | list[float], anneal_epochs: int = 10, anneal_strategy: str = "cos",
                 last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"a scheduler needs a headwater.optim.Optimizer, got {type(optimizer).__name__}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be 'cos' or 'linear', got {anneal_strategy!r}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be an int of at least 0, got {anneal_epochs}")
        for group, rate in zip(optimizer.param_groups, _each(optimizer, swa_lr, "swa_lr"), strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs, self._strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _part(self, epoch: float) -> float:
        """How far the way to swa_lr is done after so many epochs."""
        at = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return at if self._strategy == "linear" else (1 - math.cos(math.pi * at)) / 2

    def get_lr(self) -> list[float]:
        # `_step_count` counts the call of the constructor: the first epoch keeps the rate.
        step = self._step_count - (1 if self.anneal_epochs else 0)
        before, now = self._part(max(0, step - 1)), self._part(max(0, step))
        rates = []
        for group in self.optimizer.param_groups:
            # The rate that it started from, as other schedules may have set it since.
            start = group["lr"] if before == 1 else (group["lr"] - group["swa_lr"] * before) / (1 - before)
            rates.append(group["swa_lr"] * now + start * (1 - now))
        return rates
