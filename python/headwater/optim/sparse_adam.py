"""Adam for tables of which each step uses some rows."""

from __future__ import annotations

from typing import Any

from .. import recording
from . import options
from .optimizer import Closure, Optimizer, Params, state_like


class SparseAdam(Optimizer):
    """Adam on the rows that have a gradient; rows without one keep their values and their means (lazy Adam).

    For tables whose gradient is `sparse_grad`: Embedding with sparse=True, PartialFC. The number of the step counts for all rows.
    `eps` is added as in Adam here, to the root of the unbiased mean square; torch.optim.SparseAdam adds it to the biased one.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        options.at_least_zero(lr=lr, eps=eps)
        super().__init__(params, {"lr": lr, "betas": options.betas(betas), "eps": eps, "maximize": maximize})

    def _step_rows_of(self, param: Any, gradient: Any, group: dict[str, Any]) -> None:
        state = self.state[param]
        if not state:
            state.update(step=0, exp_avg=state_like(param), exp_avg_sq=state_like(param))
        state["step"] += 1
        attributes = (group["lr"], *group["betas"], group["eps"], 0.0, state["step"], False, bool(group["maximize"]))
        self._run_rows("adam_step", param, gradient, [state["exp_avg"], state["exp_avg_sq"]], (None, *attributes))

    def step(self, closure: Closure | None = None) -> Any:
        if recording.current is not None:
            raise NotImplementedError("SparseAdam cannot be compiled: in a compiled step gradients are dense until they are used")
        loss = self._loss_of(closure)
        for group in self.param_groups:
            if any(param.grad is not None for param in group["params"]):
                raise RuntimeError("SparseAdam takes gradients by rows (sparse=True, PartialFC); use Adam for a dense one")
        return loss
