"""For optimisers whose formula depends on the number of the step: parameters grouped by theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from .. import recording


def lists_by_step(
    found: Iterable[tuple[Any, Any, dict[str, Any]]],
    names: tuple[str, ...],
    start: Callable[[Any], dict[str, Any]],
    numbers: tuple[str, ...] = (),
) -> list[tuple[list[dict[str, Any]], list[list[Any]]]]:
    """Counts each parameter's step up; by step: (state dicts, [params, grads, states of each name...]).

    Parameters share a step unless some went without gradient at times, so there is nearly always one entry. `start`
    makes the states of a parameter that has none yet. Parameters whose states differ in one of `numbers` are apart too.
    """
    result: dict[Any, tuple[list[dict[str, Any]], list[list[Any]]]] = {}
    for param, grad, state in found:
        if not state:
            with recording.eagerly():
                state.update(start(param), step=0)
            if recording.current is not None:
                recording.current.on_failure(state.clear)
        step = state["step"] = state["step"] + 1
        for name in numbers:
            state[name] = float(state[name])  # torch saves tensors
        key = (step, *(state[name] for name in numbers)) if numbers else step
        found_there = result.get(key)
        if found_there is None:
            found_there = result[key] = ([], [[] for _ in range(2 + len(names))])
        states, lists = found_there
        states.append(state)
        lists[0].append(param)
        lists[1].append(grad)
        for one, name in zip(lists[2:], names):
            one.append(state[name])
            if recording.current is not None:
                recording.current.holds(state, name, state[name])
    found_lists = list(result.values())
    if recording.current is not None:
        for states, _ in found_lists:
            recording.current.condition(partial(_apart, states, ("step", *numbers)))
    return found_lists


def adam_options(group: dict[str, Any], states: list[dict[str, Any]]) -> tuple[Any, ...]:
    """Adam's attributes, in the order of src/ops/optim/step_attributes.h."""
    return (
        group["lr"], *group["betas"], group["eps"], group["weight_decay"], states[0]["step"],
        bool(group["decoupled_weight_decay"]), bool(group["maximize"]),
    )  # fmt: skip


def _apart(states: list[dict[str, Any]], names: tuple[str, ...]) -> str:
    """A program steps these parameters together; not once they have seen different numbers of steps."""
    first = [states[0].get(name) for name in names]
    for state in states:
        if [state.get(name) for name in names] != first:
            return "the parameters of an optimizer have seen different numbers of steps"
    return ""


def counter(states: list[dict[str, Any]]) -> Callable[[int], None]:
    """Counts the steps of these states by a number."""

    def count(by: int) -> None:
        for state in states:
            state["step"] += by

    return count
