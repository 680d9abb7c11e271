"""Gradients to second order through random programs of views and in-place writes are torch's.

    HEADWATER_PROGRAMS=5000 pytest tests/autograd/test_programs.py
"""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
import torch
from programs import Drawing, apply, gradients

import headwater as hw

COUNT = int(os.environ.get("HEADWATER_PROGRAMS", "50"))
FIRST = int(os.environ.get("HEADWATER_PROGRAM", "0"))


def difference(seed: int) -> str:
    """What differs from torch in this program, or nothing."""
    drawing = Drawing(seed)
    program = drawing.draw(8 + seed % 12)
    leaves = len(program.leaves)
    values = [hw.tensor(x, requires_grad=True) for x in program.leaves]
    for step in program.steps:
        try:
            apply(hw, step, values)
            failed = None
        except (RuntimeError, IndexError, ValueError) as e:
            failed = e
        if (failed is not None) != step.fails:
            return f"{program}\n{step}: torch {'raises' if step.fails else 'runs'}, headwater: {failed or 'runs'}"
    for i, (ours, theirs) in enumerate(zip(values, drawing.values, strict=True)):
        if ours.requires_grad != theirs.requires_grad:
            return f"{program}\nv{i}.requires_grad is {ours.requires_grad}, torch: {theirs.requires_grad}"
    try:
        want = gradients(torch, drawing.values, leaves)
    except RuntimeError as e:
        assert "inplace" in str(e) or "in-place" in str(e), f"{program}\n{e}"
        return ""  # torch kept something that was written to; Headwater may keep less
    try:
        got = gradients(hw, values, leaves)
    except RuntimeError as e:
        return f"{program}\ntorch has gradients, headwater: {e}"
    if len(got) != len(want):
        return f"{program}\n{len(got)} results, torch {len(want)}"
    for k, (a, b) in enumerate(zip(got, want, strict=True)):
        # A gradient that is zero may be None.
        if (a is None and b is not None and np.any(b != 0)) or (b is None and a is not None and np.any(a != 0)):
            return f"{program}\nresult {k}: {a}, torch {b}"
        if a is not None and b is not None and not np.allclose(a, b, rtol=1e-8, atol=1e-8, equal_nan=True):
            return f"{program}\nresult {k} of {len(program.leaves)} leaves, {len(values)} values:\n{a}\ntorch\n{b}"
    return ""


@pytest.mark.parametrize("part", range(5))
def test_programs(part: int) -> None:
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [d for d in (difference(seed) for seed in range(FIRST + part, FIRST + COUNT, 5)) if d]
    assert not found, f"{len(found)} programs differ:\n" + "\n\n".join(found[:5])
