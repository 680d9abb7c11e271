"""What a compiled function became: passes, kernels, memory. `step.inspect()` and `headwater inspect` make it."""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

_SHOWN = 12  # tensors in the text
_MOST_ARGUMENTS = 6  # in a heading
_GRAPHS = {"_cond": ("if true", "else"), "_while": ("while", "do")}

registered: list[Any] | None = None  # compiled functions, while somebody wants to see all that are made


def register(function: Any) -> None:
    if registered is not None:
        registered.append(function)


def size_text(number: int) -> str:
    """1536 as "1.5 KiB"."""
    value = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{number} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError


def _rounded(number: int) -> int:
    return -(-number // 64) * 64


@dataclass
class Block:
    """A piece of memory that the program works on, and the steps at which it is in use (both included)."""

    kind: str  # arena, argument, state, constant, output
    bytes: int
    spec: str  # of the tensor that is written first, or of the source
    offset: int | None = None  # in the arena
    first: int | None = None
    last: int | None = None
    ops: list[str] = field(default_factory=list)  # that write it, in order
    origin: str = ""  # of the first of them; of the first reader for what comes from outside
    name: str = ""
    at_peak: bool = False  # in use when the most arena is

    def title(self) -> str:
        """One line: what it is, where it comes from, when it lives."""
        made = " then ".join(self.ops) if self.ops else self.name
        where = "" if self.offset is None else f" at {size_text(self.offset)}"
        return f"{self.spec} {size_text(self.bytes)}{where}, steps {self.first} to {self.last}: {made or 'read'} @ {self.origin}"


@dataclass
class Step:
    """A kernel call. `body`: the operators of a region; `note`: how many of them are in generated code, and why not all. `graphs`: what
    a step runs that runs graphs, the branches of a cond (taken if true, else), condition and body of a loop. `spec`: in such a graph,
    of the first output; kernels are not known there."""

    op: str
    kernel: str
    origin: str
    body: list[str]
    note: str = ""
    graphs: list[list[Step]] = field(default_factory=list)
    spec: str = ""

    @staticmethod
    def of(data: dict[str, Any]) -> Step:
        graphs = [[Step.of(inside) for inside in graph] for graph in data["graphs"]]
        return Step(data["op"], data.get("kernel", ""), data["origin"], data["body"], data.get("note", ""), graphs, data.get("spec", ""))

    def inside(self, indent: str) -> list[str]:
        """The graphs that it runs, a line for each step in them."""
        lines = []
        for name, graph in zip(_GRAPHS.get(self.op, ()), self.graphs):
            lines.append(f"{indent}{name}" + ("" if graph else ": nothing to compute"))
            for s in graph:
                what = f"{s.op}({' '.join(s.body)})" if s.body else s.op
                lines.append(f"{indent}  {s.spec:<20}{what}  @ {s.origin}")
                lines += s.inside(indent + "    ")
        return lines


class ProgramReport:
    """One program of a compiled function."""

    def __init__(self, label: str, data: dict[str, Any]) -> None:
        self.label = label
        self.passes: list[dict[str, Any]] = data["passes"]
        self.from_cache: bool = data["from_cache"]  # passes and times are those of the process that compiled it
        self.arena_bytes: int = data["arena_bytes"]
        self.arena_lower_bound: int = data["arena_lower_bound"]
        self.working_bytes: int = data["memory_bytes"]  # the arena, where kernels have their scratch, and what else a run needs
        self.steps = [Step.of(s) for s in data["steps"]]
        once = data.get("once", {"steps": [], "results": [], "runs": 0})
        self.once = [Step.of(s) for s in once["steps"]]  # when the state changes
        self.once_bytes: list[int] = once["results"]
        self.once_runs: int = once["runs"]
        self.blocks = _blocks(data)
        self.live = _live(self.blocks, len(self.steps))

    def total(self, kind: str) -> tuple[int, int]:
        """(how many, bytes) of the blocks of a kind."""
        sizes = [b.bytes for b in self.blocks if b.kind == kind]
        return len(sizes), sum(sizes)

    def largest(self, count: int) -> list[Block]:
        return sorted(self.blocks, key=lambda b: -b.bytes)[:count]

    def kernels(self) -> list[tuple[str, dict[str, int]]]:
        """For each operator, how often each implementation serves it; the most frequent first."""
        found: dict[str, Counter[str]] = {}
        for s in self.steps:
            found.setdefault(s.op, Counter())[s.kernel] += 1
        return sorted(((op, dict(c)) for op, c in found.items()), key=lambda e: (-sum(e[1].values()), e[0]))

    def data(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "label": self.label,
            "from_cache": self.from_cache,
            "passes": self.passes,
            "arena_bytes": self.arena_bytes,
            "arena_lower_bound": self.arena_lower_bound,
            "working_bytes": self.working_bytes,
            "steps": [asdict(s) for s in self.steps],
            "once": [asdict(s) for s in self.once],
            "once_bytes": self.once_bytes,
            "once_runs": self.once_runs,
            "blocks": [asdict(b) for b in self.blocks],
        }

    # ------------------------------------------------------------------ text
    def plan_lines(self) -> list[str]:
        spare = self.arena_bytes - self.arena_lower_bound
        above = f"{spare / self.arena_lower_bound:.1%} above" if spare else "which is"
        lines = [
            _count(len(self.steps), "kernel call"),
            f"arena {size_text(self.arena_bytes)}, {above} the most that is alive at once, the kernels' scratch included",
        ]
        outside = []
        for kind, name in (("state", "state"), ("argument", "arguments"), ("constant", "constants"), ("output", "outputs")):
            count, size = self.total(kind)
            if count:
                outside.append(f"{name} {size_text(size)} in {count}")
        if self.once:
            kept = f"{size_text(sum(self.once_bytes))} in {len(self.once_bytes)}"
            runs = f"run {self.once_runs} times so far"
            lines.append(f"{_count(len(self.once), 'more kernel call')} when the state changes ({runs}); keeps {kept}, part of the state")
        return [*lines, "outside of it: " + ", ".join(outside)] if outside else lines

    def text(self, tensors: int = _SHOWN) -> str:
        lines = [self.label, "  passes" + (", not run: the plan is from the cache on disk; when it was made:" if self.from_cache else "")]
        for p in self.passes:
            change = "off" if p["off"] else f"{p['nodes_before']:>5} -> {p['nodes_after']:<5} ops {p['nanoseconds'] / 1000:>8.0f} us"
            lines.append(f"    {p['name']:<20}{change}")
        lines += ["  plan", *(f"    {line}" for line in self.plan_lines())]
        lines.append(f"  largest tensors (* alive when the arena is fullest, at step {self.peak_step})")
        for b in self.largest(tensors):
            what = " then ".join(b.ops) or b.name
            lines.append(f"   {'*' if b.at_peak else ' '}{size_text(b.bytes):>10}  {b.kind:<9}{b.spec:<24}{what}  @ {b.origin}")
        lines.append("  kernels")
        for op, served in self.kernels():
            by = ", ".join(f"{kernel} {count}" for kernel, count in sorted(served.items(), key=lambda e: -e[1]))
            lines.append(f"    {sum(served.values()):>5}  {op:<26}{by}")
        bodies = [s for s in self.steps if s.body]
        if bodies:
            lines.append("  regions, by generated code or in tiles")
            for s in bodies:
                note = f" ({s.note})" if s.note else ""
                lines.append(f"    {s.kernel}{note}: {' '.join(s.body)}  @ {s.origin}")
        control = [s for s in self.steps if s.graphs]
        if control:
            lines.append("  branches and loops")
            for s in control:
                lines += [f"    {s.op.lstrip('_')}  @ {s.origin}", *s.inside("      ")]
        return "\n".join(lines)

    @property
    def peak_step(self) -> int:
        return max(range(len(self.live)), key=lambda i: self.live[i]) if self.live else 0


class Inspection:
    """What `CompiledFunction.inspect()` returns; print it, or write it to a file.

    Attributes:
        name: of the function.
        captures: how often it was captured.
        last_reason: why the last recapture was necessary, if a guard failed.
        programs: a report for each program.
    """

    def __init__(self, name: str, captures: int, last_reason: str, programs: list[ProgramReport]) -> None:
        self.name, self.captures, self.last_reason, self.programs = name, captures, last_reason, programs

    def text(self, tensors: int = _SHOWN) -> str:
        """All programs as text, with that many tensors of each."""
        return "\n\n".join([self.heading(), *(p.text(tensors) for p in self.programs)])

    def heading(self) -> str:
        reason = f", the last time because {self.last_reason}" if self.last_reason else ""
        return f"{self.name}: captured {_times(self.captures)}{reason}; {_count(len(self.programs), 'program')}"

    __str__ = text

    def __repr__(self) -> str:
        return f"<Inspection of {self.name}, {_count(len(self.programs), 'program')}>"

    def data(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "name": self.name,
            "captures": self.captures,
            "last_reason": self.last_reason,
            "programs": [p.data() for p in self.programs],
        }

    def write_html(self, path: str | PathLike[str]) -> None:
        """A page with the memory map, the largest tensors, kernels and passes of each program."""
        from .memory_map import page

        Path(path).write_text(page(self), encoding="utf-8")

    def write_svg(self, path: str | PathLike[str], program: int | None = None) -> None:
        """The memory map of one program: by default the one with the largest arena."""
        from .memory_map import drawing

        if not self.programs:
            raise ValueError(f"{self.name} has no program yet: call it first")
        report = max(self.programs, key=lambda p: p.arena_bytes) if program is None else self.programs[program]
        Path(path).write_text(drawing(report), encoding="utf-8")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text())}</pre>"


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def inspection_of(function: Any) -> Inspection:
    """Of a CompiledFunction."""
    programs: list[ProgramReport] = []
    for variant in function.variants:
        for part, program in variant.programs():
            programs.append(_report(f"program {len(programs)}{part}", program.plan_data()))
    return Inspection(function._name(), function.captures, function.last_reason, programs)


def _report(label: str, data: dict[str, Any]) -> ProgramReport:
    given = [s["spec"] for s in data["sources"] if not s["state"]]
    shown = ", ".join(given[:_MOST_ARGUMENTS]) + (", ..." if len(given) > _MOST_ARGUMENTS else "")
    return ProgramReport(f"{label}: {shown}" if given else label, data)


# ---------------------------------------------------------------------- from the plan
def _blocks(data: dict[str, Any]) -> list[Block]:
    """The plan's buffers, with what the steps do to them."""
    blocks = [_block(b, data) for b in data["buffers"]]
    tensors = data["tensors"]
    for number, step in enumerate(data["steps"]):
        used = [(t, False) for t in step["inputs"]] + [(t, True) for t in step["outputs"]]
        for tensor, written in used:
            if tensor < 0:
                continue
            block = blocks[tensors[tensor]["buffer"]]
            block.first = number if block.first is None else block.first
            block.last = number
            block.spec = block.spec or tensors[tensor]["spec"]
            block.origin = block.origin or step["origin"]
            if written:
                block.ops.append("region" if step["op"] == "_region" else step["op"])
        offset, size = step["scratch"]
        if size:
            blocks.append(Block("arena", size, "scratch", offset, number, number, [f"scratch of {step['op']}"], step["origin"]))
    kept = [b for b in blocks if b.first is not None]
    live = _live(kept, len(data["steps"]))
    if live:
        peak = max(range(len(live)), key=lambda i: live[i])
        for block in kept:
            assert block.first is not None and block.last is not None
            block.at_peak = block.kind == "arena" and block.first <= peak <= block.last
    return kept


def _block(buffer: dict[str, Any], data: dict[str, Any]) -> Block:
    kind, index = buffer["kind"], buffer["index"]
    if kind == "arena":
        return Block("arena", buffer["bytes"], "", buffer["offset"])
    if kind == "source":
        source = data["sources"][index]
        role = "state" if source["state"] else "argument"
        return Block(role, buffer["bytes"], source["spec"], name=source["name"] or f"{role} {index}")
    return Block(kind, buffer["bytes"], "", name=f"{kind} {index}")


def _live(blocks: list[Block], steps: int) -> list[int]:
    """Bytes of the arena that are in use at each step."""
    change = [0] * (steps + 1)
    for b in blocks:
        if b.kind == "arena" and b.first is not None and b.last is not None:
            change[b.first] += _rounded(b.bytes)
            change[b.last + 1] -= _rounded(b.bytes)
    live, alive = [], 0
    for c in change[:steps]:
        alive += c
        live.append(alive)
    return live
