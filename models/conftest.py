"""The oracle of the model tests: the same model.py, run by torch, which is imported when it is asked: pytest reads this file before it
starts its workers."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import headwater as hw
from models.under_torch import import_under_torch


class Twins:
    """A network by headwater and the same network by torch, with torch's weights in both."""

    def __init__(self, name: str, make: str, *args: object, **kwargs: object) -> None:
        self.torch = torch = pytest.importorskip("torch")
        torch.manual_seed(0)
        ours = importlib.import_module(f"models.{name}.model")
        self.theirs = getattr(import_under_torch(name), make)(*args, **kwargs)
        self.ours = getattr(ours, make)(*args, **kwargs)
        state, own = self.theirs.state_dict(), self.ours.state_dict()
        assert list(state) == list(own)
        self.ours.load_state_dict({key: hw.tensor(value.numpy()) for key, value in state.items()})

    def eval(self) -> Twins:
        self.ours.eval()
        self.theirs.eval()
        return self

    def check(self, *inputs: np.ndarray, rtol: float = 1e-3, atol: float = 1e-4) -> None:
        """Outputs agree in float32; outputs and gradients of a weighted sum agree in float64."""
        with hw.no_grad(), self.torch.no_grad():
            got, expected = self._run(*inputs)
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=rtol, atol=atol)
        self.ours.double()
        self.theirs.double()
        doubled = [array.astype(np.float64) if array.dtype.kind == "f" else array for array in inputs]
        got, expected = self._run(*doubled)
        weight = np.linspace(-1, 1, expected.numel()).reshape(tuple(expected.shape))
        np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-6, atol=1e-9)
        (got * hw.tensor(weight)).sum().backward()
        (expected * self.torch.tensor(weight)).sum().backward()
        for (key, a), (_, b) in zip(self.ours.named_parameters(), self.theirs.named_parameters()):
            scale = max(float(b.grad.abs().max()), 1e-6)
            difference = abs(a.grad.numpy() - b.grad.numpy()).max()
            assert difference <= 1e-6 * scale, f"{key}: gradients differ by {difference} at scale {scale}"

    def _run(self, *inputs: np.ndarray) -> tuple[hw.Tensor, Any]:
        return self.ours(*[hw.tensor(a) for a in inputs]), self.theirs(*[self.torch.tensor(a) for a in inputs])


@pytest.fixture
def twins() -> type[Twins]:
    return Twins


@pytest.fixture
def count() -> object:
    """The number of trained values of a network."""
    return lambda net: sum(p.numel() for p in net.parameters())
