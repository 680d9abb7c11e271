"""Stochastic gradient descent, with momentum, weight decay and Nesterov's look-ahead."""

from __future__ import annotations

from typing import Any

from .. import recording
from . import options
from .optimizer import Closure, Optimizer, Params, state_like


class SGD(Optimizer):
    """g = grad + weight_decay * param; b = momentum * b + (1 - dampening) * g; param -= lr * b.

    Of a table with a gradient by rows (`sparse_grad`) the used rows are stepped; for PartialFC momentum and weight decay act on
    them only, with a buffer that starts as zero.

    The buffer b starts as the first g. With `nesterov`, param -= lr * (g + momentum * b) (Sutskever et al., ICML 2013).
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        options.at_least_zero(lr=lr, momentum=momentum, weight_decay=weight_decay)
        options.implementation(foreach, fused, differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("nesterov needs a momentum above 0 and a dampening of 0")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def step(self, closure: Closure | None = None) -> Any:
        loss = self._loss_of(closure)
        for group in self.param_groups:
            if group["momentum"]:
                self._step_with_momentum(group)
            else:
                found = [(param, param.grad) for param in group["params"] if param.grad is not None]
                self._run(group, [p for p, _ in found], [g for _, g in found], None, False)
        return loss

    def _step_rows_of(self, param: Any, gradient: Any, group: dict[str, Any]) -> None:
        self._only_lazy(gradient, momentum=group["momentum"], weight_decay=group["weight_decay"])
        buffers: list[Any] = []
        if group["momentum"]:
            state = self.state[param]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = state_like(param)
            buffers = [state["momentum_buffer"]]
        options = (
            group["lr"], group["momentum"], group["dampening"], group["weight_decay"], bool(group["nesterov"]),
            bool(group["maximize"]), False,
        )  # fmt: skip
        self._run_rows("sgd_step", param, gradient, buffers, options if buffers else (None, *options))

    def _step_with_momentum(self, group: dict[str, Any]) -> None:
        known: tuple[list[Any], ...] = ([], [], [])
        fresh: tuple[list[Any], ...] = ([], [], [])
        for param, grad, state in self._with_gradients(group):
            lists, buffer = known, state.get("momentum_buffer")
            if buffer is None:
                lists = fresh
                with recording.eagerly():
                    buffer = state["momentum_buffer"] = state_like(param)
                if recording.current is not None:
                    recording.current.on_failure(state.clear)
            if recording.current is not None:
                recording.current.holds(state, "momentum_buffer", buffer)
            for one, value in zip(lists, (param, grad, buffer)):
                one.append(value)
        for (params, grads, buffers), first in ((fresh, True), (known, False)):
            self._run(group, params, grads, buffers, first)

    @classmethod
    def _run(
        cls, group: dict[str, Any], params: list[Any], grads: list[Any], buffers: list[Any] | None, first: bool
    ) -> None:
        if not params:
            return
        steps = [0]  # made with these lists

        def options() -> tuple[Any, ...]:
            return (
                group["lr"], group["momentum"], group["dampening"], group["weight_decay"],
                bool(group["nesterov"]), bool(group["maximize"]), first and steps[0] == 1,
            )  # fmt: skip

        def count(by: int) -> None:
            steps[0] += by

        count(1)
        cls._apply("sgd_step", (params, grads, buffers), options, count)
