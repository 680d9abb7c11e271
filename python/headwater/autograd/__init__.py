"""Automatic differentiation: grad, backward, modes, custom functions, recomputation, anomaly detection."""
from __future__ import annotations

from .anomaly import detect_anomaly, set_detect_anomaly
from .derivatives import backward, grad
from .function import Function, FunctionCtx, once_differentiable
from .functional import hessian, hvp, jacobian, jvp, vjp
from .gradcheck import gradcheck, gradgradcheck
from .modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .recompute import recompute

__all__ = ["grad", "backward", "Function", "FunctionCtx", "once_differentiable", "no_grad", "enable_grad", "set_grad_enabled",
           "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "detect_anomaly", "set_detect_anomaly", "gradcheck",
           "gradgradcheck", "recompute", "jacobian", "hessian", "vjp", "jvp", "hvp"]
