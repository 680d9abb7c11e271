"""What was recorded, as objects: events of threads, nested, and spans that go on beside them."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Event:
    """Something that took time. Times are in nanoseconds of the machine's steady clock.

    `kind`: "op", "backward", "program", "step", "actor", "range", or "comm" (a message or collective, beside the threads).
    `detail`: operands, and of a step the kernel. `number`: of an actor its firing, of a message its bytes. `memory`: bytes that the
    thread allocated in it, less those it freed. `rank_from`, `rank_to`: of a message.
    """

    kind: str
    name: str
    begin: int
    end: int
    detail: str = ""
    origin: str = ""
    id: int = 0
    number: int = 0
    memory: int = 0
    flops: float = 0.0
    rank_from: int = -1
    rank_to: int = -1
    tag: int = -1
    thread: int = 0
    parent: Event | None = None
    children: list[Event] = field(default_factory=list)

    @property
    def duration(self) -> int:
        return self.end - self.begin

    @property
    def self_time(self) -> int:
        """Without what is inside."""
        return self.duration - sum(c.duration for c in self.children)

    @property
    def self_memory(self) -> int:
        return self.memory - sum(c.memory for c in self.children)

    @property
    def seconds(self) -> float:
        return self.duration / 1e9


@dataclass
class Thread:
    id: int
    name: str
    events: list[Event]  # by begin, outer before inner
    dropped: int = 0


@dataclass
class Recording:
    """All of one profile."""

    begin: int
    end: int
    threads: list[Thread]
    comm: list[Event]  # by begin; those that had not ended are left out
    memory: list[tuple[int, int]]  # (when, bytes alive)

    def events(self) -> Iterator[Event]:
        for thread in self.threads:
            yield from thread.events

    @property
    def dropped(self) -> int:
        return sum(t.dropped for t in self.threads)


def _nest(events: list[Event]) -> list[Event]:
    """Sorts the events of a thread and gives each the innermost one around it."""
    events.sort(key=lambda e: (e.begin, -e.end))
    open_events: list[Event] = []
    for event in events:
        while open_events and open_events[-1].end < event.end:
            open_events.pop()
        if open_events:
            event.parent = open_events[-1]
            open_events[-1].children.append(event)
        open_events.append(event)
    return events


def _spans(begins_and_ends: Iterable[Event]) -> list[Event]:
    """The two ends of what goes on beside the threads, joined. A number of an operation may be used again after its end."""
    under_way: dict[int, Event] = {}
    spans = []
    for event in sorted(begins_and_ends, key=lambda e: e.begin):
        if event.kind == "begin":
            under_way[event.id] = event
        elif event.id in under_way:
            span = under_way.pop(event.id)
            span.kind, span.end = "comm", event.end
            span.detail, span.name = span.name, span.name.split(" ", 1)[0]
            spans.append(span)
    spans.sort(key=lambda e: e.begin)
    return spans


def read(raw: list[Any], begin: int, end: int, names: dict[int, str]) -> Recording:
    """Of `_C.trace_stop()`; `names`: of threads that have none by themselves."""
    threads: list[Thread] = []
    memory: list[tuple[int, int]] = []
    halves: list[Event] = []
    for thread_id, name, dropped, tuples in raw:
        events: list[Event] = []
        for t in tuples:
            if t[0] == "memory":
                memory.append((t[2], t[7]))
                continue
            event = Event(*t)
            event.thread = thread_id
            (halves if event.kind in ("begin", "end") else events).append(event)
        if events or dropped:
            threads.append(Thread(thread_id, name or names.get(thread_id, f"thread {thread_id}"), _nest(events), dropped))
    memory.sort()
    return Recording(begin, end, threads, _spans(halves), memory)
