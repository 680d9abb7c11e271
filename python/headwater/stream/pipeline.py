"""Pipelines: functions one after the other, streamed."""
from __future__ import annotations

import contextvars
import json
import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from .. import _C
from ..profiler.profile import note_run
from .plan import StreamPlan

_LOOK = 0.05  # seconds between two looks for Ctrl-C
_GRACE = 10.0  # seconds that stages get to finish the value they are at, when a run ends early


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
        raise ValueError(f"stage {name or _name(function)!r}: copies must be at least 1, got {copies}")
    return Stage(function, name or _name(function), copies, seconds, bytes)


def _name(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


def _origin(function: Any) -> str:
    function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code else ""


class Pipeline:
    """Functions of one argument, each on a thread of its own; every value goes through all of them, in order.

    ```
    pipe = hw.stream.Pipeline(preprocess, step)
    for loss in pipe(loader):
        ...
    ```
    While `step` works on one batch, `preprocess` is at the next and the loader at the one after. Between two stages lie at most
    `copies` values (2: one is made while the other is used): a slow stage holds back those before it. Python code shares the
    interpreter's lock; compiled functions, NumPy, files and sleeps do not hold it. `timeout`: seconds without the end of any call
    after which a run fails; 0 for none. `memory_budget` in bytes: with it, and with `seconds` and `bytes` of the stages, the copies
    that are not given are chosen for the shortest step that fits.
    """

    def __init__(
        self, *stages: Callable[[Any], Any] | Stage, copies: int = 2, timeout: float = 0.0, memory_budget: int | None = None,
        source_seconds: float = 0.0, source_bytes: int = 0,
    ) -> None:  # fmt: skip
        if copies < 1:
            raise ValueError(f"copies must be at least 1, got {copies}")
        if timeout < 0:
            raise ValueError(f"timeout must be at least 0 seconds, got {timeout}")
        self.stages = [s if isinstance(s, Stage) else stage(s) for s in stages]
        self.copies, self.timeout, self.memory_budget = copies, timeout, memory_budget
        self.source_seconds, self.source_bytes = source_seconds, source_bytes
        self.last_run: Run | None = None

    def _names(self) -> list[str]:
        names = ["source"]
        for s in self.stages:
            name, number = s.name, 2
            while name in names or name == "results":
                name, number = f"{s.name}-{number}", number + 1
            names.append(name)
        return names

    def plan(self) -> StreamPlan:
        """What a run does, with the estimates of the stages, or with what the last run measured where there is none."""
        data = _C.StreamPlan("pipeline")
        seconds = [self.source_seconds, *(s.seconds for s in self.stages)]
        for i, busy in enumerate(self.last_run.mean_seconds() if self.last_run else []):
            seconds[i] = seconds[i] or busy
        sizes = [self.source_bytes, *(s.bytes for s in self.stages)]
        wanted = [None, *(s.copies for s in self.stages)]
        names = self._names()
        for i, name in enumerate(names):
            data.add_stream(name)
            runs, origin = ("", "") if i == 0 else (_name(self.stages[i - 1].function), _origin(self.stages[i - 1].function))
            data.add_actor(name, "host" if i else "source", i, seconds[i], runs, origin)
        data.add_stream("results")
        data.add_actor("results", "outlet", len(names), 0.0, "", "")
        for i, name in enumerate(names):
            count = wanted[i]
            fixed = count is not None or self.memory_budget is None
            data.add_register(f"{name}.result", i, [i + 1], sizes[i], count or self.copies, fixed)
        if self.memory_budget is not None:
            data.choose_copies(self.memory_budget)
        return StreamPlan(data)

    def __call__(self, source: Iterable[Any]) -> Run:
        """Starts; the results are what the Run iterates over. Leaving the loop early, or `close()`, ends it."""
        self.last_run = Run(self, source)
        return self.last_run

    def run(self, source: Iterable[Any]) -> int:
        """Streams all of `source`, drops the results, and returns how many there were."""
        with self(source) as results:
            return sum(1 for _ in results)


def _close(native: Any, owner: int, grace: float = _GRACE) -> str:
    """Ends a run. What stages that do not return are doing, or ''."""
    if os.getpid() != owner:
        return ""
    native.stop()
    if native.join(grace):
        return ""
    work: str = native.at_work()
    native.abandon()
    return work


class Run:
    """A pipeline at work: an iterator over its results, and a context that ends it."""

    def __init__(self, pipeline: Pipeline, source: Iterable[Any]) -> None:
        self.plan = pipeline.plan()
        self._names = pipeline._names()
        functions: list[Any] = [iter(source).__next__]
        functions += [_in_context(s.function) for s in pipeline.stages]
        self._native = _C.StreamRun(self.plan.data, [*functions, None], pipeline.timeout, True, len(functions))
        self._closer = weakref.finalize(self, _close, self._native, os.getpid())
        self._over = False
        note_run(self._native.id, self)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._over:
            raise StopIteration
        try:
            while True:
                state, values = self._native.next(_LOOK)
                if state == "item":
                    return values[0]
                if state != "running":
                    break
        except BaseException:  # Ctrl-C
            self.close()
            raise
        fault = self._native.fault()
        self.close()
        if fault is not None:
            raise _exception(*fault)
        raise StopIteration

    def close(self, grace: float = _GRACE) -> None:
        """Ends the run and waits for the calls under way, at most `grace` seconds; RuntimeError naming the stage if one does not
        return, whose thread is then left to itself."""
        self._over = True
        if self._closer.detach() is None:
            return
        work = _close(self._native, os.getpid(), grace)
        if work:
            raise RuntimeError(f"a stage does not return: {work}. Its thread ends when it does.")

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def stats(self) -> dict[str, dict[str, float]]:
        """By stage: `calls`, `seconds` in them in all, `utilisation` (of the time since the start), and `most_held`: of its results
        at once, at most."""
        actors, registers, seconds = self._native.stats()
        table = {}
        for i, name in enumerate(self._names):
            calls, busy = actors[i]
            table[name] = {
                "calls": calls, "seconds": busy, "utilisation": busy / seconds if seconds else 0.0, "most_held": registers[i][0],
            }  # fmt: skip
        return table

    def mean_seconds(self) -> list[float]:
        """Of one call, by stage, the source first; 0 where there was none."""
        return [busy / calls if calls else 0.0 for calls, busy in self._native.stats()[0][: len(self._names)]]

    def records(self) -> list[tuple[str, int, float, float]]:
        """After the end: (stage, number of the call, begin, end), in seconds since the start."""
        names = [*self._names, "results"]
        return [(names[actor], number, begin / 1e9, end / 1e9) for actor, number, begin, end in self._native.records()]

    def save_trace(self, path: str | Path) -> None:
        """Writes all calls as a Chrome trace, which https://ui.perfetto.dev opens. After the end. `hw.profile()` shows more."""
        names = [*self._names, "results"]
        events: list[dict[str, Any]] = [
            {"name": "thread_name", "ph": "M", "pid": 0, "tid": i, "args": {"name": name}} for i, name in enumerate(names)
        ]
        for actor, number, begin, end in self._native.records():
            events.append({
                "name": names[actor], "ph": "X", "pid": 0, "tid": actor, "ts": begin / 1e3, "dur": (end - begin) / 1e3,
                "args": {"number": number},
            })  # fmt: skip
        Path(path).write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))


def _in_context(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """With the context variables of whoever starts the run."""
    context = contextvars.copy_context()
    return lambda value: context.run(function, value)


def _exception(text: str, actor: str, cause: Any) -> BaseException:
    """What a stage raised, with a note of where; RuntimeError if nobody raised."""
    if not isinstance(cause, BaseException) or isinstance(cause, StopIteration):  # which would pass for the end of the results
        return RuntimeError(text)
    note = f"in {text.rsplit(': ' + type(cause).__name__, 1)[0]} of a stream"
    if hasattr(cause, "add_note"):
        cause.add_note(note)
    return cause
