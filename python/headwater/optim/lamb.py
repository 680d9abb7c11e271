"""LAMB: Adam's direction, scaled for each tensor to the size of the parameter."""

from __future__ import annotations

from functools import partial
from typing import Any

from . import options
from .by_step import counter, lists_by_step
from .optimizer import Closure, Optimizer, Params, state_like


class LAMB(Optimizer):
    """u = m / (sqrt(v) + eps) + weight_decay * param; param -= lr * (|param| / |u|) * u, for each tensor.

    m and v are Adam's means without bias; the ratio is 1 where either norm is 0. You et al., "Large batch optimization
    for deep learning: training BERT in 76 minutes", ICLR 2020, arXiv:1904.00962, algorithm 2 with phi(x) = x.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        options.at_least_zero(lr=lr, eps=eps, weight_decay=weight_decay)
        options.implementation(foreach, fused, False)
        defaults = {
            "lr": lr, "betas": options.betas(betas), "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def _start(param: Any) -> dict[str, Any]:
        return {"exp_avg": state_like(param), "exp_avg_sq": state_like(param)}

    @staticmethod
    def _options(group: dict[str, Any], states: list[dict[str, Any]]) -> tuple[Any, ...]:
        return (
            group["lr"], *group["betas"], group["eps"], group["weight_decay"], states[0]["step"],
            bool(group["maximize"]),
        )  # fmt: skip

    def step(self, closure: Closure | None = None) -> Any:
        loss = self._loss_of(closure)
        for group in self.param_groups:
            found = self._with_gradients(group)
            for states, lists in lists_by_step(found, ("exp_avg", "exp_avg_sq"), self._start):
                self._apply("lamb_step", tuple(lists), partial(self._options, group, states), counter(states))
        return loss
