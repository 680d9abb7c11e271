"""Headwater as an `onnx.backend.base.Backend`, for the conformance tests of the package onnx."""
from __future__ import annotations

from typing import Any

import numpy as np
from onnx.backend.base import Backend, BackendRep

import headwater as hw

from .model import OnnxModule, load
from .values import host


class HeadwaterRep(BackendRep):
    """A loaded model; `run` takes the inputs in order and gives NumPy arrays."""

    def __init__(self, model: OnnxModule) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        if isinstance(inputs, (np.ndarray, hw.Tensor)):
            inputs = [inputs]
        with hw.no_grad():
            made = self.model(*inputs)
        return tuple(_array(m) for m in (made if isinstance(made, tuple) else (made,)))


def _array(value: Any) -> Any:
    if isinstance(value, list):
        return [_array(v) for v in value]
    return host(value) if isinstance(value, hw.Tensor) else value


class HeadwaterBackend(Backend):
    """Runs models on the CPU."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> HeadwaterRep:
        return HeadwaterRep(load(model))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.split(":")[0] == "CPU"


prepare = HeadwaterBackend.prepare
run_model = HeadwaterBackend.run_model
supports_device = HeadwaterBackend.supports_device
