"""A run of a graph of stages: results, errors, ends, numbers."""
from __future__ import annotations

import json
import os
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from .. import _C
from ..profiler.profile import note_run
from .plan import StreamPlan

_LOOK = 0.05  # seconds between two looks for Ctrl-C
_GRACE = 10.0  # seconds that stages get to finish the value they are at, when a run ends early


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


class RunRecord:
    """What a run did so far: numbers and calls. It keeps neither the run going nor its values alive."""

    def __init__(self, plan: StreamPlan, names: Sequence[str], native: Any) -> None:
        self.plan, self._names, self._native = plan, list(names), native

    def stats(self) -> dict[str, dict[str, float]]:
        """By stage: `calls`, `seconds` in them in all, `utilisation` (of the time since the start), and `most_held`: of its results
        at once, at most."""
        actors, registers, seconds = self._native.stats()
        held: dict[str, int] = {}
        for (_, producer, *_), (most, _) in zip(self.plan.data.layout()["registers"], registers, strict=True):
            held[producer] = max(held.get(producer, 0), most)
        table = {}
        for i, name in enumerate(self._names):
            calls, busy = actors[i]
            table[name] = {
                "calls": calls, "seconds": busy, "utilisation": busy / seconds if seconds else 0.0, "most_held": held.get(name, 0),
            }  # fmt: skip
        return table

    def mean_seconds(self) -> list[float]:
        """Of one call, by stage, in the order in which they were added; 0 where there was none."""
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


class Run(RunRecord):
    """Stages at work: an iterator over their results, and a context that ends them. Losing the last reference to it ends them, too; a
    stage whose function refers to its run is ended by `close()` only."""

    def __init__(self, plan: StreamPlan, names: Sequence[str], functions: Sequence[Any], timeout: float, order: Sequence[int]) -> None:
        """`names` and `functions`: of the stages, in the order of the plan's actors; the outlet is behind them. `order`: which of
        its inputs are the results."""
        super().__init__(plan, names, _C.StreamRun(plan.data, [*functions, None], timeout, True, len(names)))
        self._order = list(order)
        self._closer = weakref.finalize(self, _close, self._native, os.getpid())
        self._over = False
        note_run(self._native.id, self)

    def record(self) -> RunRecord:
        """What stays when the run is gone."""
        return RunRecord(self.plan, self._names, self._native)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._over:
            raise StopIteration
        try:
            while True:
                state, values = self._native.next(_LOOK)
                if state == "item":
                    return values[0] if len(self._order) == 1 else tuple(values[i] for i in self._order)
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


def _exception(text: str, actor: str, cause: Any) -> BaseException:
    """What a stage raised, with a note of where; RuntimeError if nobody raised."""
    if not isinstance(cause, BaseException) or isinstance(cause, StopIteration):  # which would pass for the end of the results
        return RuntimeError(text)
    note = f"in {text.rsplit(': ' + type(cause).__name__, 1)[0]} of a stream"
    if hasattr(cause, "add_note"):
        cause.add_note(note)
    return cause
