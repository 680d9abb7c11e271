"""Other names of operators, as torch has them."""
from __future__ import annotations

from typing import Any

ALIASES: dict[str, str] = {"multiply": "mul", "subtract": "sub", "divide": "div", "true_divide": "div", "negative": "neg"}


def install(namespace: dict[str, Any], tensor: type) -> None:
    """Adds every alias whose op exists to the package and to Tensor."""
    for alias, name in ALIASES.items():
        if name in namespace:
            namespace[alias] = namespace[name]
        for end in ("", "_"):
            if hasattr(tensor, name + end):
                setattr(tensor, alias + end, getattr(tensor, name + end))
