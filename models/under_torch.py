"""The same model.py run by torch: the oracle of the tests and the opponent in benchmarks."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

OURS = ("headwater", "headwater.nn", "headwater.nn.functional", "headwater.nn.init")
THEIRS = ("torch", "torch.nn", "torch.nn.functional", "torch.nn.init")


def import_under_torch(name: str) -> ModuleType:
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
