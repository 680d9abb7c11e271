"""The oracle of the model tests: the same model.py, run by torch."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import numpy as np
import pytest

import headwater as hw

torch = pytest.importorskip("torch")

OURS = ("headwater", "headwater.nn", "headwater.nn.functional", "headwater.nn.init")
THEIRS = ("torch", "torch.nn", "torch.nn.functional", "torch.nn.init")


def _import_under_torch(name: str) -> ModuleType:
    """`models.<name>.model` with torch in the place of headwater; sys.modules is as before afterwards."""
    room = [key for key in sys.modules if key.startswith(f"models.{name}")]
    kept = {key: sys.modules.get(key) for key in (*OURS, *room)}
    try:
        for key in room:
            del sys.modules[key]
        for ours, theirs in zip(OURS, THEIRS):
            sys.modules[ours] = importlib.import_module(theirs)
        return importlib.import_module(f"models.{name}.model")
    finally:
        for key in [key for key in sys.modules if key.startswith(f"models.{name}")]:
            del sys.modules[key]
        for key, module in kept.items():
            if module is not None:
                sys.modules[key] = module
            else:
                sys.modules.pop(key, None)


class Twins:
    """A network by headwater and the same network by torch, with torch's weights in both."""

    def __init__(self, name: str, make: str, *args: object, **kwargs: object) -> None:
        torch.manual_seed(0)
        ours = importlib.import_module(f"models.{name}.model")
        self.theirs = getattr(_import_under_torch(name), make)(*args, **kwargs)
        self.ours = getattr(ours, make)(*args, **kwargs)
        state, own = self.theirs.state_dict(), self.ours.state_dict()
        assert list(state) == list(own)
        self.ours.load_state_dict({key: hw.tensor(value.numpy()) for key, value in state.items()})

    def eval(self) -> Twins:
        self.ours.eval()
        self.theirs.eval()
        return self

    def check(self, *inputs: np.ndarray, rtol: float = 1e-3, atol: float = 1e-4) -> None:
        """Outputs, and gradients of a weighted sum of them, agree."""
        got = self.ours(*[hw.tensor(array) for array in inputs])
        expected = self.theirs(*[torch.tensor(array) for array in inputs])
        weight = np.linspace(-1, 1, expected.numel(), dtype=np.float32).reshape(tuple(expected.shape))
        np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=rtol, atol=atol)
        (got * hw.tensor(weight)).sum().backward()
        (expected * torch.tensor(weight)).sum().backward()
        for (key, a), (_, b) in zip(self.ours.named_parameters(), self.theirs.named_parameters()):
            scale = max(float(b.grad.abs().max()), 1e-6)
            difference = abs(a.grad.numpy() - b.grad.numpy()).max()
            assert difference <= 2e-3 * scale + 1e-5, f"{key}: gradients differ by {difference} at scale {scale}"


@pytest.fixture
def twins() -> type[Twins]:
    return Twins


@pytest.fixture
def count() -> object:
    """The number of trained values of a network."""
    return lambda net: sum(p.numel() for p in net.parameters())
