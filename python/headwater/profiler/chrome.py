"""Chrome traces (https://ui.perfetto.dev opens them): threads, counters, messages on tracks of their own, arrows."""
from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .events import Event, Recording
from .planned import RunTrace

_COMM_TRACKS = 10_000_000  # numbers of tracks that are no threads


def _micro(nanoseconds: int) -> float:
    return nanoseconds / 1e3


def _metadata(pid: int, tid: int, what: str, **args: Any) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": args}


def _slice(pid: int, tid: int, event: Event) -> dict[str, Any]:
    args: dict[str, Any] = {}
    if event.detail:
        args["Input Dims" if event.kind == "op" else "detail"] = event.detail
    if event.origin:
        args["source"] = event.origin
    if event.memory:
        args["allocated bytes"] = event.memory
    if event.flops:
        args["flops"] = event.flops
    if event.kind in ("actor", "step"):
        args["number"] = event.number
    if event.kind == "comm":
        args["bytes"] = event.number
    return {"name": event.name, "cat": event.kind, "ph": "X", "pid": pid, "tid": tid, "ts": _micro(event.begin),
            "dur": _micro(event.duration), "args": args}  # fmt: skip


def _arrow(pid: int, name: str, number: str, begin: tuple[int, float] | None, end: tuple[int, float] | None) -> list[dict[str, Any]]:
    """From a (track, time) inside of a slice to another; one of the ends may be in another process's file."""
    out: list[dict[str, Any]] = []
    if begin:
        out.append({"name": name, "cat": "message", "ph": "s", "id": number, "pid": pid, "tid": begin[0], "ts": begin[1]})
    if end:
        out.append({"name": name, "cat": "message", "ph": "f", "bp": "e", "id": number, "pid": pid, "tid": end[0], "ts": end[1]})
    return out


def _lanes(events: Sequence[Event]) -> list[int]:
    """For each of the events, by begin, a track on which it meets no other."""
    free_at: list[int] = []
    lanes = []
    for e in events:
        lane = next((i for i, end in enumerate(free_at) if end <= e.begin), len(free_at))
        if lane == len(free_at):
            free_at.append(0)
        free_at[lane] = e.end
        lanes.append(lane)
    return lanes


def _comm_events(pid: int, spans: Sequence[Event]) -> Iterable[dict[str, Any]]:
    by_rank: dict[int, list[Event]] = {}
    for e in spans:
        by_rank.setdefault(e.rank_to if e.name == "recv" else e.rank_from, []).append(e)
    track = _COMM_TRACKS
    seen: dict[tuple[int, int, int, str], int] = {}
    for rank, events in sorted(by_rank.items()):
        lanes = _lanes(events)
        for lane in range(max(lanes) + 1):
            yield _metadata(pid, track + lane, "thread_name", name=f"rank {rank}: communication")
        for e, lane in zip(events, lanes, strict=True):
            tid = track + lane
            yield _slice(pid, tid, e)
            if e.name not in ("send", "recv"):
                continue
            # Messages with the same sender, receiver and tag arrive in the order in which they were sent.
            key = (e.rank_from, e.rank_to, e.tag, e.name)
            number = seen[key] = seen.get(key, -1) + 1
            name = f"{e.rank_from}-{e.rank_to}-{e.tag}-{number}"
            if e.name == "send":
                yield from _arrow(pid, "message", name, (tid, _micro(e.begin)), None)
            else:
                yield from _arrow(pid, "message", name, None, (tid, _micro(e.end) - 1e-3))
        track += max(lanes) + 1


def _run_events(pid: int, run: RunTrace) -> Iterable[dict[str, Any]]:
    """Arrows for what passes through registers, and how many copies of each were held."""
    for name, source, target in run.messages():
        inside = max(source.begin, source.end - 1)
        yield from _arrow(pid, name.rsplit("#", 1)[0], f"run{run.id}-{name}", (source.thread, _micro(inside)),
                          (target.thread, _micro(target.begin)))  # fmt: skip
    for register, changes in run.held().items():
        for when, count in changes:
            yield {"name": f"register {register}", "cat": "register", "ph": "C", "pid": pid, "ts": _micro(when), "args": {"copies": count}}


def chrome_events(recording: Recording, runs: Sequence[RunTrace], rank: int) -> list[dict[str, Any]]:
    """The list under "traceEvents"."""
    pid = rank
    out = [_metadata(pid, 0, "process_name", name=f"rank {rank} (process {os.getpid()})"), _metadata(pid, 0, "process_sort_index",
                                                                                                     sort_index=rank)]  # fmt: skip
    for thread in recording.threads:
        out.append(_metadata(pid, thread.id, "thread_name", name=thread.name))
        out.extend(_slice(pid, thread.id, e) for e in thread.events)
    out.extend(_comm_events(pid, recording.comm))
    for run in runs:
        out.extend(_run_events(pid, run))
    for when, alive in recording.memory:
        out.append({"name": "tensor memory", "cat": "memory", "ph": "C", "pid": pid, "ts": _micro(when), "args": {"bytes": alive}})
    return out


def write(path: str | Path, events: list[dict[str, Any]]) -> None:
    Path(path).write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))


def merge(paths: Iterable[str | Path], path: str | Path) -> None:
    """One trace of those of several ranks. Ranks of one machine share a clock; between machines tracks are shifted by what their
    clocks differ."""
    events: list[dict[str, Any]] = []
    seen: dict[int, str | Path] = {}
    for part in paths:
        found = json.loads(Path(part).read_text())["traceEvents"]
        for pid in {e["pid"] for e in found}:
            if pid in seen:
                raise ValueError(f"{seen[pid]} and {part} are both of rank {pid}: merge the traces of different ranks")
            seen[pid] = part
        events.extend(found)
    write(path, events)
