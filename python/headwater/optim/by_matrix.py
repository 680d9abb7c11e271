"""Optimisers that look at a parameter as a matrix: Adafactor and Muon. Written with tensor operators, as by_tensors.py."""

from __future__ import annotations

import math
from typing import Any

import headwater as hw

from . import options
from .by_tensors import ByTensors
from .optimizer import Params, state_like

_RATES = ("original", "match_rms_adamw", "spectral_unclamped")


class Adafactor(ByTensors):
    """Adam whose second moments are the product of a row and a column (Shazeer and Stern, arXiv:1804.04235).

    The rate is the smaller one of `lr` and 1 / sqrt(step), times the root mean square of the parameter, which counts as `eps[1]` at
    least. `eps[0]` None: the epsilon of the dtype.
    """

    _decays = False

    def __init__(self, params: Params, lr: float = 1e-2, beta2_decay: float = -0.8, eps: tuple[float | None, float] = (None, 1e-3),
                 d: float = 1.0, weight_decay: float = 0.0, *, foreach: bool | None = None, maximize: bool = False) -> None:
        if beta2_decay > 0:
            raise ValueError(f"beta2_decay must be at most 0, got {beta2_decay}")
        if eps[0] is not None:
            options.at_least_zero(**{"eps[0]": eps[0]})
        options.at_least_zero(lr=lr, weight_decay=weight_decay, **{"eps[1]": eps[1]})
        if not d >= 1:
            raise ValueError(f"d must be at least 1, got {d}")
        options.implementation(foreach, None, False)
        super(ByTensors, self).__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        })  # fmt: skip

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        if param.ndim < 2:
            return {"variance": state_like(param)}
        zeros = state_like(param)
        return {"row_var": zeros[..., :1].clone(), "col_var": zeros[..., :1, :].clone()}

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, (tiny, least) = state["step"], group["eps"]
        tiny = hw.finfo(param.dtype).eps if tiny is None else tiny
        change = step ** group["beta2_decay"]
        size = max(param.numel(), 1)
        rate = max(least, param.norm().item() / math.sqrt(size)) * min(group["lr"], 1 / math.sqrt(step))
        param.mul_(1 - group["lr"] * group["weight_decay"])
        if param.ndim < 2:
            variance = state["variance"].lerp_(grad * grad, change)
        else:
            square = grad * grad
            row = state["row_var"].lerp_(square.mean(-1, keepdim=True), change)
            column = state["col_var"].lerp_(square.mean(-2, keepdim=True), change)
            variance = row @ column / row.mean(-2, keepdim=True).clamp(min=tiny)
        update = grad * variance.clamp(min=tiny * tiny).rsqrt()
        param.sub_(update * (rate / max(1.0, update.norm().item() / (math.sqrt(size) * group["d"]))))


class Muon(ByTensors):
    """Momentum made orthogonal, for the weight matrices of hidden layers (Jordan et al., kellerjordan.github.io/posts/muon, 2024).

    All parameters are 2-d; others (embeddings, biases, norms) go to another optimiser. The orthogonal matrix comes from `ns_steps`
    turns of a Newton-Schulz iteration in bfloat16. `adjust_lr_fn`: "original" (the default) or "spectral_unclamped", by the ratio of
    rows to columns, or "match_rms_adamw", with which rates and weight decays tuned for AdamW serve.
    """

    _states = ("momentum_buffer",)

    def __init__(self, params: Params, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
                 ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315), eps: float = 1e-7, ns_steps: int = 5,
                 adjust_lr_fn: str | None = None) -> None:
        options.at_least_zero(lr=lr, weight_decay=weight_decay, momentum=momentum)
        if adjust_lr_fn not in (None, *_RATES):
            raise ValueError(f"adjust_lr_fn must be one of {_RATES} or None, got {adjust_lr_fn!r}")
        if len(ns_coefficients) != 3:
            raise ValueError(f"ns_coefficients must be three numbers, got {ns_coefficients}")
        if not 0 <= ns_steps < 100:
            raise ValueError(f"ns_steps must be in [0, 100), got {ns_steps}")
        super(ByTensors, self).__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "decoupled_weight_decay": True, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": tuple(ns_coefficients), "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn, "maximize": False,
        })  # fmt: skip

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        for param in self.param_groups[-1]["params"]:
            if param.ndim != 2:
                raise ValueError(f"Muon takes 2-d parameters, got one of shape {list(param.shape)}. Give others to AdamW.")

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        buffer, momentum = state["momentum_buffer"], group["momentum"]
        buffer.lerp_(grad, 1 - momentum)
        direction = _orthogonal(grad.lerp(buffer, momentum) if group["nesterov"] else buffer, group)
        rows, columns = param.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            ratio = 0.2 * math.sqrt(max(rows, columns))
        else:
            ratio = math.sqrt(rows / max(columns, 1))
            if group["adjust_lr_fn"] != "spectral_unclamped":
                ratio = max(1.0, ratio)
        param.sub_(direction.to(param.dtype) * (group["lr"] * ratio))


def _orthogonal(x: Any, group: dict[str, Any]) -> Any:
    """The nearest matrix whose singular values are about 1, in bfloat16: x <- a x + (b G + c G G) x with G = x x^T."""
    a, b, c = group["ns_coefficients"]
    tall = x.shape[0] > x.shape[1]
    x = x.to(hw.bfloat16)
    x = x.t() if tall else x
    x = x / x.norm().clamp(min=group["eps"])
    for _ in range(group["ns_steps"]):
        gram = x @ x.t()
        x = hw.addmm(x, hw.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.t() if tall else x
