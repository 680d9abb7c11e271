"""Runs of plans of actors: what was measured beside what was planned, and what passed between the actors."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from .events import Event, Recording
from .table import bytes_text, rows_text, time_text


@dataclass
class StreamUse:
    """Of one stream: the part of a step in which it works."""

    stream: str
    planned: float
    measured: float


class RunTrace:
    """The firings of one run while it was recorded."""

    def __init__(self, run_id: int, plan: Any, recording: Recording) -> None:
        self.id, self.plan = run_id, plan
        self.layout: dict[str, Any] = plan.data.layout()
        self.firings: dict[str, list[Event]] = {name: [] for name, _, _ in self.layout["actors"]}
        for e in recording.events():
            if e.kind == "actor" and e.id == run_id and e.number >= 0:
                self.firings[e.name].append(e)
        for events in self.firings.values():
            events.sort(key=lambda e: e.number)
        self._bytes_sent = sum(e.number for e in recording.comm if e.name == "send")

    def _by_number(self) -> dict[str, dict[int, Event]]:
        return {name: {e.number: e for e in events} for name, events in self.firings.items()}

    def messages(self) -> Iterator[tuple[str, Event, Event]]:
        """("register#number-consumer", the firing that wrote it, the one that read it), for those of which both were recorded."""
        at = self._by_number()
        for register, producer, consumers, _, _, initial in self.layout["registers"]:
            for consumer in consumers:
                for number, target in at[consumer].items():
                    source = at[producer].get(number - initial)
                    if source:
                        yield f"{register}#{number}-{consumer}", source, target

    def held(self) -> dict[str, list[tuple[int, int]]]:
        """By register: (when, how many of its copies hold something from then on)."""
        at = self._by_number()
        out = {}
        for register, producer, consumers, _, _, initial in self.layout["registers"]:
            changes = [(e.begin, 1) for e in self.firings[producer]]
            for number, source in at[producer].items():
                reads = [at[c].get(number + initial) for c in consumers]
                if all(reads):
                    changes.append((max(r.end for r in reads if r), -1))
                elif any(reads):
                    changes.append((source.end, 0))
            count, line = initial, []
            for when, change in sorted(changes):
                count += change
                line.append((when, count))
            out[register] = line
        return out

    def step_seconds(self) -> float:
        """From one firing to the next, in the steady state: of the actor that fired most, the median over the later half; 0 unknown."""
        events = max(self.firings.values(), key=len, default=[])
        ends = [e.end for e in events][len(events) // 2 :]
        if len(ends) < 3:
            return 0.0
        return float(median(b - a for a, b in zip(ends, ends[1:], strict=False))) / 1e9

    def busy_seconds(self, actor: str) -> float:
        """Of one firing, the median."""
        events = self.firings[actor]
        return float(median(e.duration for e in events)) / 1e9 if events else 0.0

    def comparison(self) -> dict[str, Any]:
        """`step_seconds`, `utilisation` by stream, `actor_seconds`, `messages` and `bytes` by register: each (planned, measured).
        Planned bytes are those of a register's copies; what was measured is how many passed. None where the plan has no estimate."""
        analysis = self.plan.analysis()
        step = self.step_seconds()
        use: dict[str, tuple[float, float]] = {}
        for stream, planned in analysis["utilisation"].items():
            busy = sum(self.busy_seconds(name) for name, of, _ in self.layout["actors"] if of == stream)
            use[stream] = (planned, busy / step if step else 0.0)
        passed = {register: 0 for register, *_ in self.layout["registers"]}
        for name, _, _ in self.messages():
            passed[name.rsplit("#", 1)[0]] += 1
        fired = max((len(f) for f in self.firings.values()), default=0)
        return {
            "step_seconds": (analysis["step_seconds"], step),
            "utilisation": use,
            "actor_seconds": {name: (planned, self.busy_seconds(name)) for name, _, planned in self.layout["actors"]},
            "messages": passed,
            "register_bytes": {register: size * count for register, _, _, size, count, _ in self.layout["registers"]},
            "link_bytes": (sum(analysis["link_bytes"].values()), self._bytes_sent / fired if fired else 0.0),
            "critical_cycle": analysis["critical_cycle"],
            "busiest_stream": analysis["busiest_stream"],
            "firings": fired,
        }  # fmt: skip

    def table(self) -> str:
        """The comparison as text."""
        c = self.comparison()
        planned, measured = c["step_seconds"]
        ratio = f" ({measured / planned:.2f} of the plan)" if planned and measured else ""
        lines = [f"Run {self.id} of plan {self.layout['name']!r}: {c['firings']} firings",
                 f"step: planned {time_text(planned * 1e6)}, measured {time_text(measured * 1e6)}{ratio}"]  # fmt: skip
        bound = " -> ".join(c["critical_cycle"]) or c["busiest_stream"]
        if bound:
            lines.append(f"the plan says that this bounds it: {bound}")
        if any(c["link_bytes"]):
            lines.append("sent to other ranks in a step: planned {}, measured {}".format(*map(bytes_text, c["link_bytes"])))
        rows = [[s, f"{100 * p:.1f}%", f"{100 * m:.1f}%"] for s, (p, m) in c["utilisation"].items()]
        lines.append(rows_text(["Stream", "Planned", "Measured"], rows))
        rows = [[a, time_text(p * 1e6), time_text(m * 1e6), str(len(self.firings[a]))] for a, (p, m) in c["actor_seconds"].items()]
        lines.append(rows_text(["Actor", "Planned", "Measured", "Firings"], rows))
        rows = [[r, str(n), bytes_text(c["register_bytes"][r])] for r, n in c["messages"].items()]
        lines.append(rows_text(["Register", "Messages", "Memory planned"], rows))
        return "\n".join(lines)


def run_traces(recording: Recording, plans: dict[int, Any]) -> Sequence[RunTrace]:
    """Of all runs that fired while it was recorded and whose plan is known."""
    ids = sorted({e.id for e in recording.events() if e.kind == "actor"})
    return [RunTrace(i, plans[i], recording) for i in ids if i in plans]
