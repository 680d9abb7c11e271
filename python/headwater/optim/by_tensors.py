"""Optimisers written with tensor operators, one parameter after the other: the base class, and ASGD.

They have no fused kernel, and hw.compile refuses their steps: the number of the step is part of the formula.
"""

from __future__ import annotations

from typing import Any

import headwater as hw

from .. import recording
from . import options
from .optimizer import Closure, Optimizer, Params, state_like


class ByTensors(Optimizer):
    _states: tuple[str, ...] = ()
    _decays = True  # weight decay is what all of them do first

    def __init__(self, params: Params, defaults: dict[str, Any], given: dict[str, Any]) -> None:
        super().__init__(params, options.of_formula(defaults, given))

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {name: state_like(param) for name in self._states}

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError

    def step(self, closure: Closure | None = None) -> Any:
        if recording.current is not None:
            raise NotImplementedError(f"{type(self).__name__}.step() cannot be compiled; call it outside of the compiled function")
        loss = self._loss_of(closure)
        with hw.no_grad():
            for group in self.param_groups:
                for param, grad, state in self._with_gradients(group):
                    if not state:
                        state.update(self._start(param, group), step=0)
                    state["step"] += 1
                    grad = -grad if group["maximize"] else grad
                    decay = group.get("weight_decay", 0) if self._decays else 0
                    if decay and group.get("decoupled_weight_decay"):
                        param.mul_(1 - group["lr"] * decay)
                    elif decay:
                        grad = grad + decay * param
                    self._update(param, grad, state, group)
        return loss


class ASGD(ByTensors):
    """SGD with a decreasing rate, which keeps the average of its parameters in `ax` (Polyak and Juditsky, 1992)."""

    _states = ("ax",)

    def __init__(self, params: Params, lr: float = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
                 weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
                 capturable: bool = False) -> None:
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay},
                         {"foreach": foreach, "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {**super()._start(param, group), "eta": float(group["lr"]), "mu": 1.0}

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, average, decay = state["step"], state["ax"], group["lambd"]
        eta, mu = float(state["eta"]), float(state["mu"])
        param.mul_(1 - decay * eta).sub_(grad * eta)
        average.lerp_(param, mu)
        state["eta"] = group["lr"] / (1 + decay * group["lr"] * step) ** group["alpha"]
        state["mu"] = 1 / max(1, step - group["t0"])
