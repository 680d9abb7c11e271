"""Gradients to second order through random programs of views and in-place writes are torch's.

Compared are programs that both run: writes to overlapping memory are refused in different places, and Headwater refuses the
gradient of some writes to parts of expanded tensors, in words.

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
            if failed is None or "overlap" in str(failed) or "expanded" in str(failed):
                return ""
            return f"{program}\n{step}: torch runs, headwater: {failed}"
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
        return "" if "expanded" in str(e) else f"{program}\ntorch has gradients, headwater: {e}"
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


def test_a_view_made_before_its_base_has_a_gradient() -> None:
    for m in (hw, torch):
        leaf, base = m.ones(3, requires_grad=True), m.zeros(3)
        view, sibling = base[:2], base[1:]
        nested = view[1:]
        base.add_(leaf)
        assert view.requires_grad and not view.is_leaf and nested.requires_grad and not nested.is_leaf
        nested.mul_(3)
        assert sibling.requires_grad and sibling.grad_fn is not None
        (view.sum() + sibling.sum() * 2).backward()
        assert leaf.grad.tolist() == [1, 9, 2]


def test_a_view_made_without_recording_stays_without_history() -> None:
    leaf, base = hw.ones(3, requires_grad=True), hw.zeros(3)
    with hw.no_grad():
        view = base[:2]
    base.add_(leaf)
    assert not view.requires_grad and view.is_leaf  # torch refuses to look at it
