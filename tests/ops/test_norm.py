"""Normalisations against torch."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from harness import FLOATS, Sample, op_test, randn

LOOSE = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 1e-4}


def layer_samples() -> list[Sample]:
    return [Sample(randn(3, 8), (8,)), Sample(randn(2, 3, 5), (3, 5), randn(3, 5), randn(3, 5)), Sample(randn(4, 37), (37,), randn(37), randn(37)),
            Sample(randn(2, 3, 4), (4,), randn(4)), Sample(randn(2, 6), (6,), bias=randn(6), eps=1e-3), Sample(randn(6), (6,), randn(6), randn(6)),
            Sample(randn(70, 520), (520,), randn(520), randn(520), sample_grad=False), Sample(randn(0, 4), (4,), sample_grad=False)]


op_test("layer_norm", torch=torch.layer_norm, samples=layer_samples, dtypes=FLOATS, grad=True, grad2=True, tol=LOOSE,
        errors=[(lambda hw: hw.layer_norm(hw.ones(2, 3), (4,)), RuntimeError, "does not match"),
                (lambda hw: hw.layer_norm(hw.ones(2, 3), (3,), hw.ones(2)), RuntimeError, "weight")])
op_test("rms_norm", torch=F.rms_norm, dtypes=FLOATS, grad=True, grad2=True, tol=LOOSE,
        samples=lambda: [Sample(randn(3, 8), (8,)), Sample(randn(2, 3, 5), (3, 5), randn(3, 5)), Sample(randn(4, 37), (37,), randn(37), 1e-3),
                         Sample(randn(70, 520), (520,), randn(520), sample_grad=False)])
