"""For optimisers whose formula depends on the number of the step: parameters grouped by theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def lists_by_step(
    found: Iterable[tuple[Any, Any, dict[str, Any]]],
    names: tuple[str, ...],
    start: Callable[[Any], dict[str, Any]],
) -> dict[int, list[list[Any]]]:
    """Counts each parameter's step up; {step: [params, grads, states of each name...]}.

    Parameters share a step unless some went without gradient at times, so there is nearly always one entry. `start`
    makes the states of a parameter that has none yet.
    """
    result: dict[int, list[list[Any]]] = {}
    for param, grad, state in found:
        if not state:
            state["step"] = 0
            state.update(start(param))
        step = state["step"] = state["step"] + 1
        lists = result.get(step)
        if lists is None:
            lists = result[step] = [[] for _ in range(2 + len(names))]
        lists[0].append(param)
        lists[1].append(grad)
        for one, name in zip(lists[2:], names):
            one.append(state[name])
    return result
