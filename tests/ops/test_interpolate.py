"""Resizing against torch."""
from __future__ import annotations

import torch

import headwater as hw
from harness import Sample, op_test, randn

x1, x2, x3 = (2, 3, 5), (1, 2, 4, 5), (1, 2, 3, 2, 4)


def z(*shape: int) -> hw.Tensor:
    return hw.full(shape, 0.0)


op_test("interpolate", torch=torch.nn.functional.interpolate, grad=True, grad2=True, tol={"bfloat16": 3e-2, "float16": 4e-3, "float32": 2e-5},
        samples=lambda: [
            Sample(randn(*x1), 8), Sample(randn(*x2), (7, 3)), Sample(randn(*x3), scale_factor=2.0), Sample(randn(*x2), scale_factor=(1.5, 0.6)),
            Sample(randn(*x2), (7, 3), mode="nearest-exact"), Sample(randn(*x1), 9, mode="linear"), Sample(randn(*x1), 9, mode="linear", align_corners=True),
            Sample(randn(*x2), (7, 3), mode="bilinear"), Sample(randn(*x2), scale_factor=1.7, mode="bilinear"),
            Sample(randn(*x2), scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
            Sample(randn(*x2), (7, 3), mode="bilinear", align_corners=True), Sample(randn(*x2), (9, 8), mode="bicubic"),
            Sample(randn(*x2), (2, 3), mode="bicubic", align_corners=True), Sample(randn(*x3), (4, 5, 3), mode="trilinear"),
            Sample(randn(*x3), 1, mode="trilinear", align_corners=True), Sample(randn(*x2), (3, 2), mode="area"),
            *(Sample(randn(1, 2, *size), to, mode=mode, antialias=True, align_corners=align)
              for mode in ("bilinear", "bicubic") for align in (False, True) for size, to in (((9, 8), (4, 3)), ((4, 5), (7, 3)), ((5, 7), (1, 12)))),
            Sample(randn(*x2), scale_factor=(0.6, 0.45), mode="bilinear", antialias=True)],
        errors=[(lambda hw: hw.interpolate(z(1, 1, 4, 4)), RuntimeError, "give either size or scale_factor"),
                (lambda hw: hw.interpolate(z(1, 1, 4, 4), 8, mode="linear"), RuntimeError, "resizes 1 spatial axes, the input has 2"),
                (lambda hw: hw.interpolate(z(1, 1, 4, 4), 8, align_corners=True), RuntimeError, "align_corners has no meaning"),
                (lambda hw: hw.interpolate(z(1, 1, 4, 4), 0), RuntimeError, "must be positive"),
                (lambda hw: hw.interpolate(z(1, 1, 4, 4), 8, mode="nearest", antialias=True), ValueError, "antialias needs mode")])
