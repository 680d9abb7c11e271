"""Names under which torch has several functions, told apart by their arguments."""
from __future__ import annotations

from typing import Any


def install(namespace: dict[str, Any], tensor: type) -> None:
    """Replaces the plain op by the overloaded function, in the package and on Tensor."""
