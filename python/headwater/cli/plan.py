"""`headwater plan`: prints the critical cycle, utilisation, bytes and memory of a plan of actors."""
from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

from .inspect import split_target


def _plan_of(target: str) -> Any:
    """Of a plan file, or of `script.py:NAME`, where NAME is a plan or has a `plan()`."""
    from headwater import stream

    place, name = split_target(target)
    if not name:
        return stream.load_plan(place)
    sys.path.insert(0, str(Path(place).resolve().parent))
    try:
        scope = runpy.run_path(place, run_name="headwater_plan")
    finally:
        del sys.path[0]
    if name not in scope:
        raise ValueError(f"{place} has no {name}")
    found = scope[name]
    if isinstance(found, stream.StreamPlan):
        return found
    if not callable(getattr(found, "plan", None)):
        raise ValueError(f"{name} of {place} is a {type(found).__name__}: no plan, and without a plan()")
    return found.plan()


def main(target: str, as_json: bool) -> int:
    """0; 1 when there is no plan, or one that may not run."""
    try:
        plan = _plan_of(target)
        text = json.dumps(plan.analysis(), indent=1) if as_json else plan.report().rstrip("\n")
    except (OSError, ValueError) as error:
        print(f"headwater plan: {error}", file=sys.stderr)
        return 1
    print(text)
    return 0
