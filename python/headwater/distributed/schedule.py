"""The order of a pipeline's work: one forward, one backward."""
from __future__ import annotations

from typing import NamedTuple


class Task(NamedTuple):
    """The forward or backward pass of one micro-batch through one stage."""

    backward: bool
    stage: int
    micro: int


def stage_order(stage: int, stages: int, count: int, ahead: int = 0) -> list[Task]:
    """What one stage does: so many forward passes that the last stage has work, then one of each by turns, then what is left.

    At most `stages - stage` micro-batches are between their forward and their backward pass. (Narayanan et al., "Memory-efficient
    pipeline-parallel DNN training", ICML 2021.) In that order what a stage needs is made just before: a message's way, and whatever
    makes one pass longer than another, delays both stages in every micro-batch. With so many forward passes `ahead` for each stage
    behind, it is there before; then at most `(1 + ahead) * (stages - stage - 1) + 1` are between.
    """
    warm = min((1 + ahead) * (stages - stage - 1), count)
    tasks = [Task(False, stage, i) for i in range(warm)]
    for i in range(count - warm):
        tasks += [Task(False, stage, warm + i), Task(True, stage, i)]
    return tasks + [Task(True, stage, i) for i in range(count - warm, count)]


def one_forward_one_backward(stages: int, count: int, ahead: int = 0) -> list[Task]:
    """All tasks in an order in which each stage keeps its own and nothing comes before what it needs.

    By when they would start if a backward pass took twice as long as a forward pass, of equal ones the later stage first: whoever
    follows the list waits for nothing that it would not wait for anyway. The first micro-batch goes through all stages at the
    beginning, where nothing else can come before.
    """
    left = [stage_order(s, stages, count, ahead)[::-1] for s in range(stages)]
    free = [0] * stages
    done: dict[Task, int] = {}
    starts: list[tuple[bool, int, int, Task]] = []
    while any(left):
        for s in range(stages):
            while left[s]:
                task = left[s][-1]
                needs = needed_by(task, stages)
                if needs is not None and needs not in done:
                    break
                begin = max(free[s], done[needs] if needs is not None else 0)
                free[s] = done[task] = begin + (2 if task.backward else 1)
                later = task.backward or task.micro > 0
                starts.append((later, begin, -s if later else s, task))
                left[s].pop()
    return [entry[-1] for entry in sorted(starts)]


def needed_by(task: Task, stages: int) -> Task | None:
    """The task of another stage that must come before; of the last stage's backward pass its forward pass."""
    backward, stage, micro = task
    if not backward:
        return Task(False, stage - 1, micro) if stage else None
    return Task(True, stage + 1, micro) if stage < stages - 1 else Task(False, stage, micro)
