"""RMSprop, centred and with momentum where asked."""

from __future__ import annotations

from functools import partial
from typing import Any

from . import options
from .by_step import counter, lists_by_step
from .optimizer import Closure, Optimizer, Params, state_like


class RMSprop(Optimizer):
    """v = alpha * v + (1 - alpha) * g^2; param -= lr * g / (sqrt(v) + eps).

    Tieleman and Hinton, lecture 6.5 of "Neural networks for machine learning", 2012. `centered` takes the square of the
    mean gradient off v (Graves, arXiv:1308.0850); `momentum` runs the update through a buffer.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        options.at_least_zero(lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum)
        options.implementation(foreach, None, differentiable)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def _options(group: dict[str, Any]) -> tuple[Any, ...]:
        return (
            group["lr"], group["alpha"], group["eps"], group["weight_decay"], group["momentum"],
            bool(group["maximize"]),
        )  # fmt: skip

    def step(self, closure: Closure | None = None) -> Any:
        loss = self._loss_of(closure)
        for group in self.param_groups:
            momentum, centered = group["momentum"] > 0, bool(group["centered"])
            names = ("square_avg",) + ("momentum_buffer",) * momentum + ("grad_avg",) * centered

            def start(param: Any, names: tuple[str, ...] = names) -> dict[str, Any]:
                return {name: state_like(param) for name in names}

            for states, lists in lists_by_step(self._with_gradients(group), names, start):
                tensors = (*lists[:3], lists[3] if momentum else None, lists[-1] if centered else None)
                self._apply("rmsprop_step", tensors, partial(self._options, group), counter(states))
        return loss
