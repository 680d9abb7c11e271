"""A plan of actors, to be read before it runs: on a page, as a file, as numbers."""
from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import _C


class StreamPlan:
    """Actors, the registers between them, and what follows from both. `analysis()` raises ValueError naming the cycle if the actors
    would wait for each other for ever."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def analysis(self) -> dict[str, Any]:
        """`step_seconds` (from one firing to the next, in the steady state), `critical_cycle` (the actors that bound it) or
        `busiest_stream`, `utilisation` by stream, `link_bytes` by link in one step, and `memory`: (device, rank, bytes of registers,
        bytes of arenas)."""
        found: dict[str, Any] = self.data.analysis()
        return found

    def copies(self) -> dict[str, int]:
        """How many copies each register has."""
        found: dict[str, int] = self.data.copies()
        return found

    def report(self) -> str:
        """The analysis as a page; `print(plan)` shows it."""
        text: str = self.data.report()
        return text

    __str__ = report

    def save(self, path: str | Path) -> None:
        """Writes it as text, one line for each thing; `headwater plan FILE` prints the report."""
        Path(path).write_text(self.data.write(), encoding="utf-8")


def load_plan(path: str | Path) -> StreamPlan:
    """Reads what `save` wrote. Raises ValueError that names the line."""
    try:
        return StreamPlan(_C.read_stream_plan(Path(path).read_text(encoding="utf-8")))
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no plan of actors: it is not text") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
