"""Pipelines: functions one after the other, streamed."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .graph import Graph, name_of
from .plan import StreamPlan
from .run import Run, RunRecord


@dataclass(frozen=True)
class Stage:
    """A function with what the plan should know of it; made by `stage`."""

    function: Callable[[Any], Any]
    name: str
    copies: int | None = None
    seconds: float = 0.0
    bytes: int = 0


def stage(
    function: Callable[[Any], Any], *, name: str | None = None, copies: int | None = None, seconds: float = 0.0, bytes: int = 0
) -> Stage:
    """A stage of a pipeline. `copies`: how many results may lie between it and the next stage (default: the pipeline's).
    `seconds` and `bytes`: the estimated duration of one call and size of one result, for the plan."""
    if not callable(function):
        raise TypeError(f"a stage needs a function, got {type(function).__name__}")
    if copies is not None and copies < 1:
        raise ValueError(f"stage {name or name_of(function)!r}: copies must be at least 1, got {copies}")
    return Stage(function, name or name_of(function), copies, seconds, bytes)


class Pipeline:
    """Functions of one argument, each on a thread of its own; every value goes through all of them, in order.

    >>> pipe = hw.stream.Pipeline(lambda x: x + 1, lambda x: 2 * x)
    >>> list(pipe(range(3)))
    [2, 4, 6]

    While the second stage works on one value, the first one is at the next and the source at the one after. Between two stages lie at
    most `copies` values (2: one is made while the other is used): a slow stage holds back those before it. Python code shares the
    interpreter's lock; compiled functions, NumPy, files and sleeps do not hold it. `timeout`: seconds without the end of any call
    after which a run fails; 0 for none. `memory_budget` in bytes: with it, and with `seconds` and `bytes` of the stages, the copies
    that are not given are chosen for the shortest step that fits. Stages with several inputs: `Graph`.
    """

    def __init__(
        self, *stages: Callable[[Any], Any] | Stage, copies: int = 2, timeout: float = 0.0, memory_budget: int | None = None,
        source_seconds: float = 0.0, source_bytes: int = 0,
    ) -> None:  # fmt: skip
        self.stages = [s if isinstance(s, Stage) else stage(s) for s in stages]
        self._graph = Graph("pipeline", copies=copies, timeout=timeout, memory_budget=memory_budget)
        value = self._graph.source(seconds=source_seconds, bytes=source_bytes)
        for s in self.stages:
            value = self._graph.stage(s.function, value, name=s.name, copies=s.copies, seconds=s.seconds, bytes=s.bytes)

    @property
    def last_run(self) -> RunRecord | None:
        """What the last run did."""
        return self._graph.last_run

    def plan(self) -> StreamPlan:
        """What a run does, with the estimates of the stages, or with what the last run measured where there is none."""
        return self._graph.plan()

    def __call__(self, source: Iterable[Any]) -> Run:
        """Starts; the results are what the Run iterates over. Leaving the loop early, or `close()`, ends it."""
        run = self._graph(source=source)
        assert isinstance(run, Run)  # its stages all lie on one rank
        return run

    def run(self, source: Iterable[Any]) -> int:
        """Streams all of `source`, drops the results, and returns how many there were."""
        return self._graph.run(source=source)
