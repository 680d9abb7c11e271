"""Convolutions against torch."""
from __future__ import annotations

import torch

from harness import Sample, op_test, randn

F = torch.nn.functional
TOL = {"float16": 2e-2, "bfloat16": 8e-2, "float32": 1e-4, "float64": 1e-9}


def conv(x: tuple, w: tuple, bias: bool = True, out: int | None = None, **kwargs) -> Sample:
    return Sample(randn(*x), randn(*w), *([randn(out or w[0])] if bias else []), **kwargs)


op_test("conv2d", torch=F.conv2d, grad=True, grad2=True, tol=TOL,
        samples=lambda: [conv((2, 3, 6, 5), (4, 3, 3, 3), padding=1), conv((1, 4, 7, 6), (6, 2, 3, 2), stride=2, groups=2, padding=(0, 1)),
                         conv((2, 3, 6, 6), (3, 1, 3, 3), groups=3, padding=1), conv((3, 5, 5), (2, 3, 2, 2)),
                         conv((1, 2, 6, 6), (3, 2, 3, 3), bias=False, dilation=2, padding="same"), conv((1, 2, 5, 5), (3, 2, 2, 2), padding="same"),
                         conv((1, 2, 5, 5), (3, 2, 1, 1), padding="valid"), conv((0, 2, 5, 5), (3, 2, 3, 3)), conv((1, 2, 8, 8), (3, 2, 3, 3), stride=3),
                         conv((2, 40, 15, 14), (36, 40, 3, 3), padding=1, sample_dtypes=("float32",))],
        errors=[(lambda hw: hw.conv2d(hw.full((1, 3, 5, 5,), 1.0), hw.full((4, 2, 3, 3,), 1.0)), RuntimeError, "input has 3 channels"),
                (lambda hw: hw.conv2d(hw.full((1, 2, 2, 2,), 1.0), hw.full((4, 2, 3, 3,), 1.0)), RuntimeError, "the padded input has only 2"),
                (lambda hw: hw.conv2d(hw.full((1, 2, 9, 9,), 1.0), hw.full((4, 2, 3, 3,), 1.0), stride=0), RuntimeError, "stride must be positive"),
                (lambda hw: hw.conv2d(hw.full((1, 2, 9, 9,), 1.0), hw.full((4, 2, 3, 3,), 1.0), stride=2, padding="same"), RuntimeError, "'same' needs a stride of 1"),
                (lambda hw: hw.conv2d(hw.full((1, 2, 9, 9,), 1.0), hw.full((4, 2, 3, 3,), 1.0), hw.full((3,), 1.0)), RuntimeError, "does not fit 4 output channels")])
op_test("conv1d", torch=F.conv1d, grad=True, grad2=True, tol=TOL,
        samples=lambda: [conv((2, 3, 9), (4, 3, 3), padding=1, stride=2), conv((4, 9), (4, 2, 3), groups=2), conv((1, 2, 9), (3, 2, 4), padding="same")])
op_test("conv3d", torch=F.conv3d, grad=True, grad2=True, tol=TOL,
        samples=lambda: [conv((1, 2, 4, 4, 3), (2, 2, 2, 3, 2), padding=(1, 0, 1)), conv((1, 2, 3, 4, 5), (2, 1, 2, 2, 2), groups=2, stride=(1, 2, 1))])
op_test("conv_transpose2d", torch=F.conv_transpose2d, grad=True, grad2=True, tol=TOL,
        samples=lambda: [conv((2, 3, 4, 5), (3, 4, 3, 3), out=4, padding=1), conv((1, 4, 3, 3), (4, 2, 3, 2), out=4, stride=2, groups=2, output_padding=1),
                         conv((3, 4, 4), (3, 2, 2, 2), out=2, dilation=2), conv((1, 3, 4, 4), (3, 2, 4, 4), bias=False, stride=2, padding=1)],
        errors=[(lambda hw: hw.conv_transpose2d(hw.full((1, 3, 5, 5,), 1.0), hw.full((2, 2, 3, 3,), 1.0)), RuntimeError, "input has 3 channels, weight takes 2"),
                (lambda hw: hw.conv_transpose2d(hw.full((1, 2, 5, 5,), 1.0), hw.full((2, 2, 3, 3,), 1.0), output_padding=1), RuntimeError, "output_padding")])
op_test("conv_transpose1d", torch=F.conv_transpose1d, grad=True, grad2=True, tol=TOL,
        samples=lambda: [conv((2, 3, 5), (3, 4, 3), out=4, stride=2, padding=1, output_padding=1), conv((3, 5), (3, 2, 3), out=2)])
op_test("conv_transpose3d", torch=F.conv_transpose3d, grad=True, grad2=True, tol=TOL,
        samples=lambda: [conv((1, 2, 2, 3, 2), (2, 2, 2, 2, 2), out=2, stride=(1, 2, 1))])


