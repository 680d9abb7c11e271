"""Elementwise ops against torch."""

from __future__ import annotations

import torch

from harness import ALL, BOOL, COMPLEX, FLOATS, INTS, Sample, op_test, randn, uniform

if False: op_test("expm1", torch=torch.expm1, samples=lambda: [Sample(randn(3, 4)), Sample(randn(0)), Sample(randn())],
        dtypes=FLOATS + COMPLEX + INTS, grad=True, grad2=True)
op_test("add", torch=torch.add, samples=lambda: [Sample(randn(3, 4), randn(4)), Sample(randn(2, 1), randn(3)), Sample(randn(3), 2),
        Sample(randn(3, 2), randn(2), alpha=2)],
        dtypes=ALL, grad=True, grad2=True)
