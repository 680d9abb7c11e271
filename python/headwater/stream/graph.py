"""Graphs of stages: several sources, joins, forks, loops."""
from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import _C
from .plan import StreamPlan
from .run import Run, RunRecord

if TYPE_CHECKING:
    from .ranks import RankRun


@dataclass(eq=False)
class Value:
    """What a stage of a graph makes in each step; given to other stages as an input."""

    of: object = field(repr=False)  # which graph; not the graph itself, which would wait for the garbage collector
    stage: _Stage | None  # None: a loop that is not closed yet
    initial: Sequence[Any] | None = None  # of a loop: what its first steps read


@dataclass(eq=False)
class _Stage:
    name: str
    function: Any  # None: a source
    inputs: tuple[Value, ...]
    copies: int | None
    seconds: float
    bytes: int
    values: Iterable[Any] | None = None  # of a source
    rank: int = 0
    link: str = ""  # over which its results go to another rank


@dataclass(eq=False)
class _Register:
    """What lies between a stage and those that read its values. One for the values of a step, and one for each loop."""

    name: str
    producer: _Stage
    loop: Value | None
    readers: list[_Stage | None]  # None: the results
    copies: int | None

    def holds(self, value: Value) -> bool:
        return value is self.loop if value.initial is not None else self.loop is None and value.stage is self.producer


def name_of(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


def origin_of(function: Any) -> str:
    function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code else ""


class Graph:
    """Stages that work at the same time, each on a thread of its own, wired as you like.

    >>> graph = hw.stream.Graph()
    >>> images = graph.source(range(6), name="images")
    >>> labels = graph.source([0, 1, 0, 1, 0, 1], name="labels")
    >>> small = graph.stage(lambda image: image / 2, images, name="shrink")
    >>> total = graph.loop(0)
    >>> graph.close(total, graph.stage(lambda image, label, total: total + image * label, small, labels, total, name="add"))
    >>> list(graph())
    [0.0, 0.5, 0.5, 2.0, 2.0, 4.5]

    A stage is called with one value of each of its inputs. Every stage sees every step, in order, so that the values of a call belong
    together. Any number of stages may read a value. What none reads comes out, unless `results` says what does. `loop` hands what a
    stage makes to the next step. A stage ends with the shortest of the sources on which it depends, a run with the last of its stages.

    `copies`: how many results of a stage may be waiting for its readers (2), unless the stage says. `timeout`: seconds without the end
    of any call after which a run fails; 0 for none. `memory_budget` in bytes: with it, and with `seconds` and `bytes` of the stages, the
    copies that are not given are chosen for the shortest step that fits. A graph whose stages would wait for each other for ever is
    refused before it runs: ValueError names the cycle.
    """

    def __init__(self, name: str = "graph", *, copies: int = 2, timeout: float = 0.0, memory_budget: int | None = None) -> None:
        if copies < 1:
            raise ValueError(f"copies must be at least 1, got {copies}")
        if timeout < 0:
            raise ValueError(f"timeout must be at least 0 seconds, got {timeout}")
        self.name, self.copies, self.timeout, self.memory_budget = name, copies, timeout, memory_budget
        self.last_run: RunRecord | None = None
        self._key = object()
        self._stages: list[_Stage] = []
        self._loops: list[Value] = []
        self._results: tuple[Value, ...] | None = None
        self._results_rank: int | None = None
        self.comm: Any = None  # whose ranks the stages lie on; None: those of the launcher

    def source(self, values: Iterable[Any] | None = None, *, name: str = "source", copies: int | None = None, seconds: float = 0.0,
               bytes: int = 0, rank: int = 0) -> Value:  # fmt: skip
        """Values from outside, one a step. Without `values`, a run is given them by name: `graph(images=loader)`."""
        return self._add(_Stage(name, None, (), copies, seconds, bytes, values, rank))

    def stage(self, function: Callable[..., Any], *inputs: Value, name: str | None = None, copies: int | None = None,
              seconds: float = 0.0, bytes: int = 0, rank: int = 0) -> Value:  # fmt: skip
        """`function(*inputs)` in each step. `seconds` and `bytes`: the estimated duration of one call and size of one result. `rank`: of
        the process that calls it, where a launcher started several."""
        if not callable(function):
            raise TypeError(f"a stage needs a function, got {type(function).__name__}")
        name = name or name_of(function)
        if not inputs:
            raise ValueError(f"stage {name!r} has no input: values from outside come from source()")
        return self._add(_Stage(name, function, inputs, copies, seconds, bytes, None, rank))

    def loop(self, *initial: Any) -> Value:
        """A value that a stage makes for a later step, which `close` names. The first `len(initial)` steps read `initial`."""
        self._loops.append(Value(self._key, None, initial))
        return self._loops[-1]

    def close(self, loop: Value, value: Value) -> None:
        """What `loop` is: `value`, of as many steps before as `loop` has initial values."""
        if loop not in self._loops or loop.stage is not None:
            raise ValueError("close() needs a loop() of this graph which is not closed")
        self._check_plain("close()", value)
        loop.stage = value.stage

    def results(self, *values: Value, rank: int | None = None) -> None:
        """What iterating over a run gives: the value, or a tuple of several. Results of stages that none reads are dropped then. `rank`:
        where they come out; None: where the first of them is made."""
        if not values:
            raise ValueError("results() needs a value")
        for value in values:
            self._check_plain("results()", value)
        if len({id(v.stage) for v in values}) < len(values):
            raise ValueError("results() got a value twice")
        self._results, self._results_rank = values, rank

    def results_rank(self) -> int:
        """Where the results come out."""
        if self._results_rank is not None:
            return self._results_rank
        return next((v.stage.rank for v in self._wanted() if v.stage), 0)

    def plan(self) -> StreamPlan:
        """What a run does, with the estimates of the stages, or with what the last run measured where there is none. Where stages lie on
        several ranks, that of all of them, with the links between."""
        if len({s.rank for s in self._stages} | {self.results_rank()}) > 1 and not any(s.link for s in self._stages):
            from .ranks import expanded

            return expanded(self)[0]._plan()
        return self._plan()

    def _plan(self) -> StreamPlan:
        registers = self._registers()
        data = _C.StreamPlan(self.name)
        links = sorted({s.link for s in self._stages if s.link})
        for link in links:
            data.add_link(link)
        for i, (s, seconds) in enumerate(zip(self._stages, self._seconds(), strict=True)):
            runs, origin = (name_of(s.function), origin_of(s.function)) if s.function else ("", "")
            read = any(r.producer is s for r in registers)
            data.add_stream(s.name, s.rank)
            data.add_actor(s.name, "source" if s.function is None else "host" if read else "sink", i, seconds, runs, origin)
            if s.link:
                data.set_link(i, links.index(s.link), s.bytes)
        data.add_stream("results", self.results_rank())
        data.add_actor("results", "outlet", len(self._stages), 0.0, "", "")
        for r in registers:
            readers = [len(self._stages) if s is None else self._stages.index(s) for s in r.readers]
            fixed = r.copies is not None or self.memory_budget is None
            initial = len(r.loop.initial or ()) if r.loop else 0
            data.add_register(r.name, self._stages.index(r.producer), readers, r.producer.bytes, r.copies or self.copies, fixed, initial)
        if self.memory_budget is not None:
            data.choose_copies(self.memory_budget)
        return StreamPlan(data)

    def __call__(self, **sources: Iterable[Any]) -> Run | RankRun:
        """Starts; the results are what the Run iterates over. Leaving the loop early, or `close()`, ends it. `sources`: the values of
        sources for this run, by name. Where stages lie on several ranks, all of these start it, see `RankRun`."""
        from .ranks import run_on_ranks

        over_ranks = run_on_ranks(self, sources)
        if over_ranks is not None:
            self.last_run = over_ranks.record()
            return over_ranks
        plan, registers = self._plan(), self._registers()
        plan.analysis()  # refuses what would stand still before a source is touched
        for name in sources:
            if not any(s.function is None and s.name == name for s in self._stages):
                raise TypeError(f"graph {self.name!r} has no source {name!r}")
        functions = [self._function(s, registers, sources) for s in self._stages]
        outlet = [r.producer for r in registers if None in r.readers]
        order = [outlet.index(v.stage) for v in self._wanted() if v.stage]
        run = Run(plan, [s.name for s in self._stages], functions, self.timeout, order)
        self.last_run = run.record()  # not the run: a stage may refer to what holds this graph
        return run

    def run(self, **sources: Iterable[Any]) -> int:
        """Streams everything, drops the results, and returns how many there were."""
        with self(**sources) as results:
            return sum(1 for _ in results)

    def _add(self, s: _Stage) -> Value:
        if s.copies is not None and s.copies < 1:
            raise ValueError(f"stage {s.name!r}: copies must be at least 1, got {s.copies}")
        for value in s.inputs:
            if not isinstance(value, Value) or value.of is not self._key:
                raise TypeError(f"stage {s.name!r}: its inputs are values of this graph, got {_words(value)}")
        if len({(v.stage if v.initial is None else v) for v in s.inputs}) < len(s.inputs):
            raise ValueError(f"stage {s.name!r} reads a value twice: give it once, and use it twice in the function")
        names, base, number = {t.name for t in self._stages} | {"results"}, s.name, 2
        while s.name in names:
            s.name, number = f"{base}-{number}", number + 1
        self._stages.append(s)
        return Value(self._key, s)

    def _check_plain(self, what: str, value: Value) -> None:
        if not isinstance(value, Value) or value.of is not self._key or value.initial is not None:
            raise TypeError(f"{what} needs what a stage of this graph makes, got {_words(value)}")

    def _wanted(self) -> tuple[Value, ...]:
        """What comes out."""
        if self._results is not None:
            return self._results
        read = {v.stage for s in self._stages for v in s.inputs if v.initial is None}
        return tuple(Value(self._key, s) for s in self._stages if s not in read)

    def _registers(self) -> list[_Register]:
        wanted = [v.stage for v in self._wanted()]
        if not wanted:
            raise ValueError(f"graph {self.name!r}: nothing comes out; add a stage, or say what does with results()")
        for loop in self._loops:
            if loop.stage is None:
                raise ValueError(f"graph {self.name!r} has a loop() without a close()")
            if not any(loop in s.inputs for s in self._stages):
                raise ValueError(f"graph {self.name!r} has a loop() that no stage reads")
        found: list[_Register] = []
        for s in self._stages:
            result = _Register(f"{s.name}.result", s, None, [], s.copies)
            loops = [v for v in self._loops if v.stage is s]
            # Of a loop one copy more than it starts with: its producer need not wait for its readers.
            mine = [result, *(_Register("", s, v, [], len(v.initial or ()) + 1) for v in loops)]
            for i, r in enumerate(mine[1:], start=1):
                r.name = f"{s.name}.loop" if len(loops) == 1 else f"{s.name}.loop-{i}"
            for r in mine:
                r.readers = [t for t in self._stages if any(r.holds(v) for v in t.inputs)]
            if s in wanted:
                result.readers.append(None)
            found += [r for r in mine if r.readers]
        return found

    def _seconds(self) -> list[float]:
        measured = self.last_run.mean_seconds() if self.last_run else []
        measured += [0.0] * (len(self._stages) - len(measured))  # stages added since
        return [s.seconds or busy for s, busy in zip(self._stages, measured, strict=True)]

    def _function(self, s: _Stage, registers: list[_Register], sources: dict[str, Iterable[Any]]) -> Any:
        """What the actor calls. Its inputs come in the order of the plan's registers, not in that of the stage's."""
        if s.function is None:
            values = sources.get(s.name, s.values)
            if values is None:
                raise TypeError(f"source {s.name!r} of graph {self.name!r} has no values: give them to source(), or to the run")
            return iter(values).__next__
        ports = [r for r in registers if s in r.readers]
        order = [next(i for i, r in enumerate(ports) if r.holds(v)) for v in s.inputs]
        return _called(s.function, order, [v.initial or () for v in s.inputs])


def _words(value: Any) -> str:
    if not isinstance(value, Value):
        return type(value).__name__
    return "a loop" if value.initial is not None else "a value of another graph"


def _called(function: Callable[..., Any], order: list[int], initial: list[Sequence[Any]]) -> Callable[..., Any]:
    """With the context variables of whoever starts the run, arguments in the order of the stage, loops begun with their values."""
    context = contextvars.copy_context()
    if order == [0] and not any(initial):
        return lambda value: context.run(function, value)
    step = -1

    def call(*values: Any) -> Any:
        nonlocal step
        step += 1
        given = [start[step] if step < len(start) else values[i] for i, start in zip(order, initial, strict=True)]
        return context.run(function, *given)

    return call
