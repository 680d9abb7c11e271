"""Adagrad: rates that fall with the squares of all gradients so far."""

from __future__ import annotations

from functools import partial
from typing import Any

import headwater as hw

from . import options
from .by_step import counter, lists_by_step
from .optimizer import Closure, Optimizer, Params


class Adagrad(Optimizer):
    """sum += g^2; param -= lr / (1 + (step - 1) * lr_decay) * g / (sqrt(sum) + eps).

    Duchi, Hazan and Singer, "Adaptive subgradient methods", JMLR 12 (2011).
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        options.at_least_zero(
            lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, eps=eps,
            initial_accumulator_value=initial_accumulator_value,
        )  # fmt: skip
        options.implementation(foreach, fused, differentiable)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = {"step": 0, **self._start(param, group)}

    @staticmethod
    def _start(param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"sum": hw.full_like(param, float(group["initial_accumulator_value"]), requires_grad=False)}

    @staticmethod
    def _options(group: dict[str, Any], states: list[dict[str, Any]]) -> tuple[Any, ...]:
        return (
            group["lr"], group["lr_decay"], group["eps"], group["weight_decay"], states[0]["step"],
            bool(group["maximize"]),
        )  # fmt: skip

    def _step_rows_of(self, param: Any, gradient: Any, group: dict[str, Any]) -> None:
        self._only_lazy(gradient, weight_decay=group["weight_decay"])
        state = self.state[param]
        if not state:
            state.update(self._start(param, group), step=0)
        state["step"] += 1
        self._run_rows("adagrad_step", param, gradient, [state["sum"]], self._options(group, [state]))

    def step(self, closure: Closure | None = None) -> Any:
        loss = self._loss_of(closure)
        for group in self.param_groups:

            def start(param: Any, group: dict[str, Any] = group) -> dict[str, Any]:
                return self._start(param, group)

            for states, lists in lists_by_step(self._with_gradients(group), ("sum",), start):
                self._apply("adagrad_step", tuple(lists), partial(self._options, group, states), counter(states))
        return loss
