"""Optimisers written with tensor operators, one parameter after the other: Adadelta, Adamax, ASGD, NAdam, RAdam, Rprop.

They have no fused kernel, and hw.compile refuses their steps: the number of the step is part of the formula.
"""

from __future__ import annotations

import math
from typing import Any

import headwater as hw

from .. import recording
from . import options
from .optimizer import Closure, Optimizer, Params, state_like


class _ByFormula(Optimizer):
    _states: tuple[str, ...] = ()
    _decays = True  # weight decay is what all of them do first

    def __init__(self, params: Params, defaults: dict[str, Any], given: dict[str, Any]) -> None:
        options.at_least_zero(**{n: defaults[n] for n in ("lr", "eps", "weight_decay", "momentum_decay") if n in defaults})
        if "betas" in defaults:
            options.betas(defaults["betas"])
        options.implementation(given.get("foreach"), None, given.get("differentiable", False))
        super().__init__(params, {**defaults, **given})

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

    @staticmethod
    def _moments(grad: Any, state: dict[str, Any], betas: Any) -> tuple[Any, Any]:
        first, second = state["exp_avg"], state["exp_avg_sq"]
        first.lerp_(grad, 1 - betas[0])
        second.mul_(betas[1]).addcmul_(grad, grad, value=1 - betas[1])
        return first, second


class Adadelta(_ByFormula):
    """Steps as long as the root mean square of earlier steps over that of the gradients (Zeiler, arXiv:1212.5701)."""

    _states = ("square_avg", "acc_delta")

    def __init__(self, params: Params, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
                 foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False,
                 differentiable: bool = False) -> None:
        if not 0 <= rho <= 1:
            raise ValueError(f"rho must be in [0, 1], got {rho}")
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay},
                         {"maximize": maximize, "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        rho, eps = group["rho"], group["eps"]
        square, acc = state["square_avg"], state["acc_delta"]
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = (acc + eps).sqrt() / (square + eps).sqrt() * grad
        acc.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.sub_(delta * group["lr"])


class Adamax(_ByFormula):
    """Adam with the infinity norm: m / max of the decayed gradients (Kingma and Ba, arXiv:1412.6980, section 7.1)."""

    _states = ("exp_avg", "exp_inf")

    def __init__(self, params: Params, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
                 capturable: bool = False) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay},
                         {"foreach": foreach, "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        first, largest = state["exp_avg"], state["exp_inf"]
        b1, b2 = group["betas"]
        first.lerp_(grad, 1 - b1)
        largest.copy_(hw.maximum(largest * b2, grad.abs() + group["eps"]))
        param.sub_(first / largest * (group["lr"] / (1 - b1 ** state["step"])))


class ASGD(_ByFormula):
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


class NAdam(_ByFormula):
    """Adam with Nesterov's momentum (Dozat, "Incorporating Nesterov momentum into Adam", 2016)."""

    _states = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: Params, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay},
                         {"maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable})

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {**super()._start(param, group), "mu_product": 1.0}

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        (b1, b2), step, lr = group["betas"], state["step"], group["lr"]
        mu, following = (b1 * (1 - 0.5 * 0.96 ** (n * group["momentum_decay"])) for n in (step, step + 1))
        product = state["mu_product"] = float(state["mu_product"]) * mu
        first, second = self._moments(grad, state, group["betas"])
        divisor = (second / (1 - b2**step)).sqrt() + group["eps"]
        param.sub_(grad / divisor * (lr * (1 - mu) / (1 - product)))
        param.sub_(first / divisor * (lr * following / (1 - product * following)))


class RAdam(_ByFormula):
    """Adam that waits until the second moment can be trusted (Liu et al., arXiv:1908.03265)."""

    _states = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: Params, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "decoupled_weight_decay": decoupled_weight_decay},
                         {"maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable})

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        (b1, b2), step = group["betas"], state["step"]
        first, second = self._moments(grad, state, group["betas"])
        move = first * (group["lr"] / (1 - b1**step))
        limit = 2 / (1 - b2) - 1
        length = limit - 2 * step * b2**step / (1 - b2**step)
        if length > 5:
            ratio = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
            move = move / (second.sqrt() + group["eps"]) * math.sqrt(ratio * (1 - b2**step))
        param.sub_(move)


class Rprop(_ByFormula):
    """Steps by signs only: longer while a sign stays, shorter when it turns (Riedmiller and Braun, 1993)."""

    def __init__(self, params: Params, lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"etas must lie below and above 1, got {etas}")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes},
                         {"foreach": foreach, "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"prev": state_like(param), "step_size": state_like(param) + group["lr"]}

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        (down, up), (least, most) = group["etas"], group["step_sizes"]
        agreement, size = grad * state["prev"], state["step_size"]
        size.copy_(hw.where(agreement > 0, size * up, hw.where(agreement < 0, size * down, size)).clamp(least, most))
        grad = hw.where(agreement < 0, hw.zeros_like(grad), grad)
        param.sub_(grad.sign() * size)
        state["prev"].copy_(grad)
