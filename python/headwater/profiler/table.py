"""Averages of events, as a list and as a table."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .events import Event, Recording


@dataclass
class Average:
    """Events of one name (and shapes, or line). Times in microseconds, as torch has them."""

    kind: str
    key: str
    shapes: str = ""
    origin: str = ""
    count: int = 0
    cpu_time_total: float = 0.0  # of the outermost: a name inside of itself counts once
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    flops: float = 0.0

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / max(1, self.count)

    def add(self, event: Event) -> None:
        self.count += 1
        self.self_cpu_time_total += event.self_time / 1e3
        self.self_cpu_memory_usage += event.self_memory
        self.flops += event.flops
        above = event.parent
        while above is not None and (above.kind, above.name) != (event.kind, event.name):
            above = above.parent
        if above is None:
            self.cpu_time_total += event.duration / 1e3
            self.cpu_memory_usage += event.memory


def time_text(microseconds: float) -> str:
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"


def bytes_text(count: float) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count:.0f} B"


def rows_text(head: list[str], rows: list[list[str]], left: int = 1) -> str:
    """Columns; the first `left` and the last one if it is text are aligned to the left."""
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]

    def line(row: list[str]) -> str:
        return "  ".join(c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))).rstrip()

    rule = "  ".join("-" * w for w in widths)
    return "\n".join([rule, line(head), rule, *map(line, rows), rule])


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


SORTS = ("cpu_time_total", "self_cpu_time_total", "cpu_time", "count", "cpu_memory_usage", "self_cpu_memory_usage", "flops")


class Averages(list[Average]):
    """What `profile.key_averages()` gives: a list that prints itself."""

    def __init__(self, events: Iterable[Event], shapes: bool = False, origins: bool = False) -> None:
        found: dict[tuple[str, str, str, str], Average] = {}
        for e in events:
            key = (e.kind, e.name, e.detail if shapes else "", e.origin if origins else "")
            if key not in found:
                found[key] = Average(e.kind, e.name, key[2], key[3])
            found[key].add(e)
        super().__init__(found.values())
        self._shapes, self._origins = shapes, origins

    @property
    def self_cpu_time_total(self) -> float:
        return sum(a.self_cpu_time_total for a in self)

    def total_average(self) -> Average:
        """All of them as one."""
        total = Average("total", "Total")
        for a in self:
            total.count += a.count
            total.self_cpu_time_total += a.self_cpu_time_total
            total.self_cpu_memory_usage += a.self_cpu_memory_usage
            total.flops += a.flops
        total.cpu_time_total, total.cpu_memory_usage = total.self_cpu_time_total, total.self_cpu_memory_usage
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = 55,
              max_shapes_column_width: int = 80) -> str:  # fmt: skip
        """As text. `sort_by`: a name of torch's columns; by default the largest own time first. -1 rows: all."""
        sort_by = "self_cpu_time_total" if sort_by in (None, "self_cpu_time") else sort_by
        if sort_by not in SORTS:
            raise ValueError(f"there is no column {sort_by!r} to sort by: {', '.join(SORTS)}")
        chosen = sorted(self, key=lambda a: -getattr(a, sort_by))
        if row_limit >= 0:
            chosen = chosen[:row_limit]
        whole = self.self_cpu_time_total or 1.0
        has_memory = any(a.cpu_memory_usage or a.self_cpu_memory_usage for a in self)
        has_flops = any(a.flops for a in self)
        head = ["Name", "Kind", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
        head += ["CPU Mem", "Self CPU Mem"] * has_memory + ["GFLOPs", "GFLOP/s"] * has_flops
        head += ["Input Shapes"] * self._shapes + ["Source"] * self._origins
        rows = []
        for a in chosen:
            row = [_short(a.key, max_name_column_width), a.kind, f"{100 * a.self_cpu_time_total / whole:.2f}%",
                   time_text(a.self_cpu_time_total), f"{100 * a.cpu_time_total / whole:.2f}%", time_text(a.cpu_time_total),
                   time_text(a.cpu_time), str(a.count)]  # fmt: skip
            row += [bytes_text(a.cpu_memory_usage), bytes_text(a.self_cpu_memory_usage)] * has_memory
            if has_flops:
                row += [f"{a.flops / 1e9:.3f}", f"{a.flops / a.cpu_time_total / 1e3:.2f}"] if a.flops and a.cpu_time_total else ["--"] * 2
            row += [_short(a.shapes, max_shapes_column_width)] * self._shapes + [_short(a.origin, max_name_column_width)] * self._origins
            rows.append(row)
        return f"{rows_text(head, rows, 2)}\nSelf CPU time total: {time_text(self.self_cpu_time_total)}"

    __str__ = table


def comm_table(recording: Recording) -> str:
    """Messages and collectives, which go on beside the threads; '' if there were none."""
    found: dict[str, list[Event]] = {}
    for e in recording.comm:
        found.setdefault(e.name, []).append(e)
    rows = []
    for name, events in sorted(found.items(), key=lambda item: -sum(e.duration for e in item[1])):
        total, sent = sum(e.duration for e in events) / 1e3, sum(e.number for e in events)
        rows.append([name, str(len(events)), bytes_text(sent), time_text(total), time_text(total / len(events)),
                     f"{sent / total / 1e3:.3f}" if total else "--"])  # fmt: skip
    if not rows:
        return ""
    return "Communication\n" + rows_text(["Name", "# of Calls", "Bytes", "From begin to end", "Avg", "GB/s"], rows)
