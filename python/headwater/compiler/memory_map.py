"""The arena of a program as a picture: offset against time, a rectangle for each tensor. SVG, and an HTML page around it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from .inspection import size_text

if TYPE_CHECKING:
    from .inspection import Block, Inspection, ProgramReport

_WIDTH, _HEIGHT, _CURVE = 1000, 460, 90
_LEFT, _TOP, _GAP, _BOTTOM = 84, 12, 34, 28
_COLOURS = ["#4878a8", "#e49444", "#6a9f58", "#d1615d", "#85b6b2", "#a87c9f", "#e7ca60", "#967662"]
_REST = "#b8b8b8"
_MOST_ROWS = 60

_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 1100px; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: .5em 0 1.5em; } td, th { padding: .15em .8em .15em 0; text-align: left; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } tr + tr td { border-top: 1px solid #eee; }
code { font-size: 13px; } svg { max-width: 100%; height: auto; } h2 { margin-top: 2em; }
"""


def _colours(report: ProgramReport) -> dict[str, str]:
    """Of the operators that fill the arena most, by bytes times steps."""
    weight: dict[str, float] = {}
    for b in report.blocks:
        if b.kind == "arena" and b.ops and b.first is not None and b.last is not None:
            weight[b.ops[0]] = weight.get(b.ops[0], 0) + b.bytes * (b.last - b.first + 1)
    return dict(zip(sorted(weight, key=lambda op: -weight[op]), _COLOURS))


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def drawing(report: ProgramReport) -> str:
    """The memory map as SVG. A tooltip on each rectangle says what it is."""
    colours = _colours(report)
    steps, arena = max(len(report.steps), 1), max(report.arena_bytes, 1)
    across, down = _WIDTH / steps, _HEIGHT / arena
    base = _TOP + _HEIGHT  # offset 0
    parts = []
    for b in report.blocks:
        if b.kind != "arena" or b.first is None or b.last is None or b.offset is None:
            continue
        height = max(b.bytes * down, 0.3)
        left, top = _LEFT + b.first * across, base - b.offset * down - height
        width, made = (b.last - b.first + 1) * across, b.ops[0] if b.ops else ""
        parts.append(
            f'<rect x="{left:.2f}" y="{top:.2f}" width="{width:.2f}" height="{height:.2f}" fill="{colours.get(made, _REST)}">'
            f"<title>{html.escape(b.title())}</title></rect>"
        )
        if height > 14 and width > 8 + 6.5 * len(made):
            parts.append(f'<g fill="#fff" pointer-events="none">{_text(left + 4, top + 12, made)}</g>')
    parts += _axes(report, steps, arena)
    parts += _curve(report, across, arena)
    size = f"{_LEFT + _WIDTH + 12} {base + _GAP + _CURVE + _BOTTOM}"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" '
        'font-family="system-ui, sans-serif" font-size="11" fill="#444">'
    )
    style = "<style>rect[fill] { stroke: #fff; stroke-width: .4 } rect:hover { stroke: #000; stroke-width: 1.2 }</style>"
    return "\n".join([head, style, f"<title>{html.escape(report.label)}: memory map</title>", *parts, "</svg>\n"])


def _axes(report: ProgramReport, steps: int, arena: int) -> list[str]:
    base = _TOP + _HEIGHT
    parts = [f'<path d="M{_LEFT} {_TOP}V{base}H{_LEFT + _WIDTH}" fill="none" stroke="#888"/>']
    for i in range(5):
        y = base - _HEIGHT * i / 4
        parts += [
            _text(_LEFT - 6, y + 4, size_text(arena * i // 4), "end"),
            f'<path d="M{_LEFT - 3} {y:.1f}H{_LEFT}" stroke="#888"/>',
        ]
        parts.append(_text(_LEFT + _WIDTH * i / 4, base + 14, f"step {(steps - 1) * i // 4}", "middle" if i else "start"))
    bound = base - report.arena_lower_bound / arena * _HEIGHT
    parts.append(f'<path d="M{_LEFT} {bound:.1f}H{_LEFT + _WIDTH}" stroke="#c00" stroke-dasharray="5 4"><title>the most that is alive '
                 f"at once: {size_text(report.arena_lower_bound)}</title></path>")  # fmt: skip
    return parts


def _curve(report: ProgramReport, across: float, arena: int) -> list[str]:
    """Bytes alive at each step, below the map."""
    base = _TOP + _HEIGHT + _GAP + _CURVE
    path = f"M{_LEFT} {base}"
    for i, alive in enumerate(report.live):
        y = base - alive / arena * _CURVE
        path += f"L{_LEFT + i * across:.2f} {y:.2f}L{_LEFT + (i + 1) * across:.2f} {y:.2f}"
    path += f"L{_LEFT + len(report.live) * across:.2f} {base}Z"
    title = f"alive at each step; the most at step {report.peak_step}"
    return [
        f'<path d="{path}" fill="#d8dde3" stroke="#667"><title>{title}</title></path>',
        _text(_LEFT, base + 16, f"alive: at most {size_text(max(report.live, default=0))}, at step {report.peak_step}"),
    ]


def _table(head: list[str], rows: list[list[str]], numbers: set[int]) -> str:
    def row(cells: list[str], tag: str) -> str:
        made = [f'<{tag}{" class=n" if i in numbers else ""}>{html.escape(c)}</{tag}>' for i, c in enumerate(cells)]
        return "<tr>" + "".join(made) + "</tr>"

    return "<table>" + row(head, "th") + "\n".join(row(r, "td") for r in rows) + "</table>"


def _legend(report: ProgramReport) -> str:
    entries = [f'<span style="color:{colour}">&#9632;</span> {html.escape(op)}' for op, colour in _colours(report).items()]
    return "<p>Made by " + " &nbsp; ".join([*entries, f'<span style="color:{_REST}">&#9632;</span> others']) + "</p>"


def _tensor_row(b: Block) -> list[str]:
    lives = f"{b.first}-{b.last}" + (" *" if b.at_peak else "")
    return [size_text(b.bytes), b.kind, b.spec, lives, " then ".join(b.ops) or b.name, b.origin]


def _section(report: ProgramReport) -> str:
    passes = [
        [p["name"], p["stage"], "off" if p["off"] else f"{p['nodes_before']} -> {p['nodes_after']}", f"{p['nanoseconds'] / 1000:.0f}"]
        for p in report.passes
    ]
    kernels = [
        [str(sum(served.values())), op, ", ".join(f"{k} {n}" for k, n in sorted(served.items()))]
        for op, served in report.kernels()
    ]
    rows = [_tensor_row(b) for b in report.largest(_MOST_ROWS)]
    parts = [f"<h2>{html.escape(report.label)}</h2>", *(f"<p>{html.escape(line)}</p>" for line in report.plan_lines())]
    if report.arena_bytes:
        parts += ["<h3>Memory</h3>", _legend(report), drawing(report)]
    parts += [
        f"<h3>Largest tensors</h3><p>* alive when the arena is fullest, at step {report.peak_step}</p>",
        _table(["size", "kind", "tensor", "steps", "made by", "where"], rows, {0}),
        "<h3>Kernels</h3>",
        _table(["calls", "operator", "implementation"], kernels, {0}),
        "<h3>Passes</h3>",
        _table(["pass", "stage", "ops", "us"], passes, {2, 3}),
    ]
    return "\n".join(parts)


def page(inspection: Inspection) -> str:
    """A page of its own, without scripts and without anything loaded."""
    name = html.escape(inspection.name)
    return "\n".join(
        [
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}</title><style>{_STYLE}</style></head><body>',
            f"<h1>{name}</h1><p>{html.escape(inspection.heading())}</p>",
            *(_section(p) for p in inspection.programs),
            "</body></html>\n",
        ]
    )
