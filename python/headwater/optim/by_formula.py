"""Adadelta, Adamax, NAdam, RAdam and Rprop: a step op for each, and the numbers that it takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from . import options
from .by_step import adam_options, counter, lists_by_step
from .optimizer import Closure, Optimizer, Params, state_like


class _ByFormula(Optimizer):
    _op: str
    _states: tuple[str, ...]
    _numbers: tuple[str, ...] = ()  # of the state, beside the number of the step

    def __init__(self, params: Params, defaults: dict[str, Any], given: dict[str, Any]) -> None:
        super().__init__(params, options.of_formula(defaults, given))

    def _start(self, group: dict[str, Any], param: Any) -> dict[str, Any]:
        return {name: state_like(param) for name in self._states}

    def _options(self, group: dict[str, Any], states: list[dict[str, Any]]) -> tuple[Any, ...]:
        """The attributes of the op, in their order."""
        raise NotImplementedError

    def _counted(self, group: dict[str, Any], states: list[dict[str, Any]]) -> Callable[[int], None]:
        return counter(states)

    def step(self, closure: Closure | None = None) -> Any:
        loss = self._loss_of(closure)
        for group in self.param_groups:
            start = partial(self._start, group)
            for states, lists in lists_by_step(self._with_gradients(group), self._states, start, self._numbers):
                count = self._counted(group, states)
                self._apply(self._op, tuple(lists), partial(self._options, group, states), count)
        return loss


class Adadelta(_ByFormula):
    """Steps as long as the root mean square of earlier steps over that of the gradients (Zeiler, arXiv:1212.5701)."""

    _op, _states = "adadelta_step", ("square_avg", "acc_delta")

    def __init__(self, params: Params, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
                 foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False,
                 differentiable: bool = False) -> None:
        if not 0 <= rho <= 1:
            raise ValueError(f"rho must be in [0, 1], got {rho}")
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay},
                         {"maximize": maximize, "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def _options(self, group: dict[str, Any], states: list[dict[str, Any]]) -> tuple[Any, ...]:
        return group["lr"], group["rho"], group["eps"], group["weight_decay"], bool(group["maximize"])


class Adamax(_ByFormula):
    """Adam with the infinity norm: m / max of the decayed gradients (Kingma and Ba, arXiv:1412.6980, section 7.1)."""

    _op, _states = "adamax_step", ("exp_avg", "exp_inf")

    def __init__(self, params: Params, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
                 capturable: bool = False) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay},
                         {"foreach": foreach, "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _options(self, group: dict[str, Any], states: list[dict[str, Any]]) -> tuple[Any, ...]:
        return (
            group["lr"], *group["betas"], group["eps"], group["weight_decay"], states[0]["step"], bool(group["maximize"])
        )  # fmt: skip


class NAdam(_ByFormula):
    """Adam with Nesterov's momentum (Dozat, "Incorporating Nesterov momentum into Adam", 2016)."""

    _op, _states, _numbers = "nadam_step", ("exp_avg", "exp_avg_sq"), ("mu_product",)

    def __init__(self, params: Params, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay},
                         {"maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable})

    def _start(self, group: dict[str, Any], param: Any) -> dict[str, Any]:
        return {**super()._start(group, param), "mu_product": 1.0}

    def _options(self, group: dict[str, Any], states: list[dict[str, Any]]) -> tuple[Any, ...]:
        return *adam_options(group, states), group["momentum_decay"], states[0]["mu_product"]

    def _counted(self, group: dict[str, Any], states: list[dict[str, Any]]) -> Callable[[int], None]:
        """Counts and multiplies; what is taken back is the product that was there before, bit for bit."""
        before = 1.0

        def multiply() -> None:
            nonlocal before
            before = float(states[0]["mu_product"])
            momentum = group["betas"][0] * (1 - 0.5 * 0.96 ** (states[0]["step"] * group["momentum_decay"]))
            for state in states:
                state["mu_product"] = before * momentum

        def count(by: int) -> None:
            for state in states:
                state["step"] += by
            if by > 0:
                multiply()
            else:
                for state in states:
                    state["mu_product"] = before

        multiply()
        return count


class RAdam(_ByFormula):
    """Adam that waits until the second moment can be trusted (Liu et al., arXiv:1908.03265)."""

    _op, _states = "radam_step", ("exp_avg", "exp_avg_sq")

    def __init__(self, params: Params, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "decoupled_weight_decay": decoupled_weight_decay},
                         {"maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable})

    def _options(self, group: dict[str, Any], states: list[dict[str, Any]]) -> tuple[Any, ...]:
        return adam_options(group, states)


class Rprop(_ByFormula):
    """Steps by signs only: longer while a sign stays, shorter when it turns (Riedmiller and Braun, 1993)."""

    _op, _states = "rprop_step", ("prev", "step_size")

    def __init__(self, params: Params, lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"etas must lie below and above 1, got {etas}")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes},
                         {"foreach": foreach, "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _start(self, group: dict[str, Any], param: Any) -> dict[str, Any]:
        return {"prev": state_like(param), "step_size": state_like(param) + group["lr"]}

    def _options(self, group: dict[str, Any], states: list[dict[str, Any]]) -> tuple[Any, ...]:
        return *group["etas"], *group["step_sizes"], bool(group["maximize"])
