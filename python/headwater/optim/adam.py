"""Adam, AMSGrad and AdamW."""

from __future__ import annotations

from functools import partial
from typing import Any

from . import options
from .by_step import adam_options, counter, lists_by_step
from .optimizer import Closure, Optimizer, Params, state_like


class Adam(Optimizer):
    """m, v = decaying means of the gradient and its square; param -= lr * m / (sqrt(v) + eps), both without bias.

    Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015. `amsgrad` uses the largest v so far (Reddi
    et al., ICLR 2018). `decoupled_weight_decay` makes it AdamW.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        options.at_least_zero(lr=lr, eps=eps, weight_decay=weight_decay)
        options.implementation(foreach, fused, differentiable)
        defaults = {
            "lr": lr, "betas": options.betas(betas), "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    def step(self, closure: Closure | None = None) -> Any:
        loss = self._loss_of(closure)
        for group in self.param_groups:
            names = ("exp_avg", "exp_avg_sq") + (("max_exp_avg_sq",) if group["amsgrad"] else ())

            def start(param: Any, names: tuple[str, ...] = names) -> dict[str, Any]:
                return {name: state_like(param) for name in names}

            for states, lists in lists_by_step(self._with_gradients(group), names, start):
                largest = lists[4] if group["amsgrad"] else None
                self._apply("adam_step", (*lists[:4], largest), partial(adam_options, group, states), counter(states))
        return loss


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter itself: param *= 1 - lr * weight_decay.

    Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip
