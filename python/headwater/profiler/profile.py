"""Starting and ending a recording."""
from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from .. import _C
from . import chrome
from .events import Event, Recording, read
from .planned import RunTrace, run_traces
from .table import Averages, comm_table

F = TypeVar("F", bound=Callable[..., Any])
_runs: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # streams at work
_active: profile | None = None
_LIMIT = 5_000_000


def note_run(run_id: int, run: Any) -> None:
    """A run of a plan of actors began; `run.plan` is what a profile compares it with."""
    _runs[run_id] = run
    if _active is not None:
        _active._plans[run_id] = run.plan


class ProfilerAction(Enum):
    """What a profile with a schedule does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Callable[[int], ProfilerAction]:
    """For `profile(schedule=...)`: after `skip_first` steps, again and again (`repeat` times; 0: for ever) `wait` steps of nothing,
    `warmup` steps that are recorded and thrown away, `active` ones that are kept."""
    if wait < 0 or warmup < 0 or active < 1:
        raise ValueError(f"a schedule needs wait >= 0, warmup >= 0 and active >= 1, got {wait}, {warmup}, {active}")

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        cycle = wait + warmup + active
        if step < 0 or (repeat and step >= repeat * cycle):
            return ProfilerAction.NONE
        at = step % cycle
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if at == cycle - 1 else ProfilerAction.RECORD

    return action


class record_function:
    """A named range in the profile, as `with record_function("load"):` or `@record_function("load")`. Costs a call when off."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args or ""
        self._open: list[tuple[int, int]] = []

    def __enter__(self) -> record_function:
        self._open.append((_C.trace_now(), _C.trace_thread_memory()) if _C.trace_on() else (0, 0))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        begin, memory = self._open.pop()
        if begin:
            _C.trace_range(self.name, begin, self.args, memory)

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return called  # type: ignore[return-value]


class profile:
    """Records what runs inside: operators, steps of compiled programs, firings of actors, messages, memory.

    ```
    with hw.profile() as p:
        train_step(x)
    print(p.table(sort_by="cpu_time_total", row_limit=10))
    p.export_chrome_trace("trace.json")  # https://ui.perfetto.dev
    ```
    All threads of the process are recorded. One profile at a time. `record_shapes`: dtypes and shapes of operands;
    `profile_memory`: every change of the memory of tensors; `with_stack`: the modules and the line that called each operator (slow:
    microseconds a call); `with_flops`: floating-point operations by the operators' declarations. `schedule` and `on_trace_ready`
    are torch's: call `step()` after each step. `activities` is accepted for torch's sake: there is one, the CPU.
    """

    def __init__(
        self, *, activities: Any = None, schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None, record_shapes: bool = True, profile_memory: bool = True,
        with_stack: bool = False, with_flops: bool = False,
    ) -> None:  # fmt: skip
        self._schedule, self._on_trace_ready = schedule, on_trace_ready
        self._settings = (record_shapes, with_stack, profile_memory, with_flops)
        self.step_num = 0
        self._action = ProfilerAction.NONE
        self._recording: Recording | None = None
        self._plans: dict[int, Any] = {}
        self._began = self._step_began = 0

    # -- beginning and ending
    def start(self) -> None:
        self._action = self._schedule(0) if self._schedule else ProfilerAction.RECORD
        if self._action is not ProfilerAction.NONE:
            self._begin()

    def stop(self) -> None:
        if self._began:
            self._end()
        self._action = ProfilerAction.NONE

    def step(self) -> None:
        """The next step begins: what the schedule says of it is done."""
        if self._began:
            _C.trace_range(f"ProfilerStep#{self.step_num}", self._step_began, "", _C.trace_thread_memory())
        before = self._action
        self.step_num += 1
        self._step_began = _C.trace_now()
        if self._schedule is None:
            return
        self._action = self._schedule(self.step_num)
        recorded = before in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        records = self._action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if self._began and (before is ProfilerAction.RECORD_AND_SAVE or recorded != records):
            self._end(keep=recorded)
        if not self._began and self._action is not ProfilerAction.NONE:
            self._begin()

    def _begin(self) -> None:
        global _active
        shapes, stack, memory, flops = self._settings
        if stack:
            from ..compiler.origins import Origins

            _C.set_origin(Origins().text)
        self._plans = {i: run.plan for i, run in _runs.items()}
        if not _C.trace_start(shapes, stack, memory, flops, _LIMIT):
            raise RuntimeError("another profile is recording: there is one at a time in a process")
        _active = self
        self._began = self._step_began = _C.trace_now()

    def _end(self, keep: bool = True) -> None:
        global _active
        end, began = _C.trace_now(), self._began
        raw = _C.trace_stop()
        _active, self._began = None, 0
        if not keep:
            return
        names = {t.native_id: t.name for t in threading.enumerate() if t.native_id is not None}
        self._recording = read(raw, began, end, names)
        if self._on_trace_ready:
            self._on_trace_ready(self)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    # -- reading
    def _recorded(self) -> Recording:
        if self._recording is None:
            raise RuntimeError("nothing has been recorded yet: leave the `with` block first, or let the schedule come to its end")
        return self._recording

    def events(self) -> list[Event]:
        """All events of all threads, and the messages and collectives beside them."""
        recording = self._recorded()
        return [*recording.events(), *recording.comm]

    def memory_timeline(self) -> list[tuple[float, int]]:
        """(seconds since the beginning, bytes of tensors alive from then on)."""
        recording = self._recorded()
        return [((when - recording.begin) / 1e9, alive) for when, alive in recording.memory]

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> Averages:
        """By name; also by shapes, or (`group_by_stack_n` > 0, recorded `with_stack`) by the line that called."""
        return Averages(self._recorded().events(), group_by_input_shape, group_by_stack_n > 0)

    def runs(self) -> list[RunTrace]:
        """Runs of plans of actors: `comparison()` has what was measured beside what was planned."""
        return list(run_traces(self._recorded(), self._plans))

    def table(self, sort_by: str | None = None, row_limit: int = 100, group_by_input_shape: bool = False,
              group_by_stack_n: int = 0) -> str:  # fmt: skip
        """Averages, communication, and for each plan of actors what was planned and measured."""
        recording = self._recorded()
        parts = [self.key_averages(group_by_input_shape, group_by_stack_n).table(sort_by, row_limit), comm_table(recording)]
        parts += [run.table() for run in self.runs()]
        if recording.memory:
            alive = [a for _, a in recording.memory]
            parts.append(f"memory of tensors: at most {max(alive):,} bytes, {alive[-1]:,} at the end")
        if recording.dropped:
            parts.append(f"{recording.dropped} events past the limit of {_LIMIT} a thread were dropped: profile fewer steps")
        return "\n\n".join(p for p in parts if p)

    def export_chrome_trace(self, path: str | Path, *, all_ranks: bool = False) -> None:
        """Writes a Chrome trace, which https://ui.perfetto.dev and chrome://tracing open. One for each rank, which `merge` joins; or with
        `all_ranks`, which all ranks of a job call, one that holds all of them by one clock, which rank 0 writes."""
        recording = self._recorded()
        events: list[dict[str, Any]] | None = chrome.chrome_events(recording, self.runs(), _rank())
        if all_ranks and _ranks() > 1:
            from .ranks import events_of_ranks

            events = events_of_ranks(events or [])
        if events is not None:
            chrome.write(path, events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events())


def _ranks() -> int:
    import sys

    world = sys.modules.get("headwater.distributed.world")
    return int(world.get_world_size()) if world is not None and world.is_initialized() else 1


def _rank() -> int:
    import sys

    world = sys.modules.get("headwater.distributed.world")
    return int(world.get_rank()) if world is not None and world.is_initialized() else 0
