"""Other names of operators, as torch has them."""
from __future__ import annotations

from typing import Any

ALIASES: dict[str, str] = {
    "absolute": "abs", "multiply": "mul", "subtract": "sub", "divide": "div", "true_divide": "div", "negative": "neg",
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctanh": "atanh",
    "arctan2": "atan2", "clip": "clamp", "fix": "trunc", "not_equal": "ne", "greater": "gt", "greater_equal": "ge",
    "less": "lt", "less_equal": "le", "swapaxes": "transpose", "swapdims": "transpose", "moveaxis": "movedim",
    "concat": "cat", "concatenate": "cat", "row_stack": "vstack",
    "trapz": "trapezoid",
}


def install(namespace: dict[str, Any], tensor: type) -> None:
    """Adds every alias whose op exists to the package and to Tensor."""
    for alias, name in ALIASES.items():
        for end in ("", "_"):
            if name + end in namespace:
                namespace[alias + end] = namespace[name + end]
            if hasattr(tensor, name + end):
                setattr(tensor, alias + end, getattr(tensor, name + end))
