"""Which layers suffer from quantisation, and which stay in float under a bound."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headwater as hw

from . import presets
from .layers import Prepared
from .prepare import calibrate, convert, prepare


@dataclass(frozen=True)
class SensitivityReport:
    """`base`: the float model's loss. `rows`: (layer, loss with this layer alone quantised), the most sensitive first."""

    base: float
    rows: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        width = max([len(name) for name, _ in self.rows] + [5])
        lines = [f"{'layer':<{width}}  {'loss':>12}  {'increase':>12}", f"{'(float)':<{width}}  {self.base:>12.6g}"]
        return "\n".join(lines + [f"{name:<{width}}  {loss:>12.6g}  {loss - self.base:>12.6g}" for name, loss in self.rows])

    def save(self, path: str | Path) -> None:
        """Draws the increase of each layer as a bar. Needs matplotlib."""
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError("the picture of a sensitivity report needs matplotlib: pip install matplotlib") from error
        figure = Figure(figsize=(7, 1 + 0.3 * len(self.rows)), layout="constrained")
        axes = figure.subplots()
        axes.barh([name for name, _ in self.rows], [loss - self.base for _, loss in self.rows])
        axes.invert_yaxis()
        axes.set_xlabel("increase of the loss with this layer alone quantised")
        figure.savefig(path)


def _output_error(model: Any, batches: list[Any]) -> Callable[[Any], float]:
    """The default metric: the squared error of the outputs relative to their square, against the float model."""
    inputs = [b[0] if isinstance(b, tuple | list) else b for b in batches]

    def run(m: Any) -> list[hw.Tensor]:
        with hw.no_grad():
            return [m(x) for x in inputs]

    was = model.training
    want = run(model.eval())
    model.train(was)
    power = sum(float((y * y).sum()) for y in want) or 1.0
    return lambda m: sum(float(((a - b) ** 2).sum()) for a, b in zip(run(m), want, strict=True)) / power


def _names(prepared: Any) -> list[str]:
    return [name for name, m in prepared.named_modules() if isinstance(m, Prepared)]


def _measure(prepared: Any, metric: Callable[[Any], float]) -> SensitivityReport:
    names = _names(prepared)
    rows = [(name, float(metric(convert(prepared, skip=set(names) - {name})))) for name in names]
    return SensitivityReport(float(metric(convert(prepared, skip=names))), tuple(sorted(rows, key=lambda row: -row[1])))


def sensitivity(model: Any, data: Iterable[Any], metric: Callable[[Any], float] | None = None, *, preset: presets.Preset = presets.minmax,
                inputs: Any = None) -> SensitivityReport:
    """The loss with each layer alone quantised. metric(model): a loss, the smaller the better; by default the relative squared error
    of the outputs on `data`, which also calibrates."""
    batches = list(data)
    return _measure(calibrate(prepare(model, preset, inputs), batches), metric or _output_error(model, batches))


def mixed_precision(model: Any, data: Iterable[Any], max_loss: float, metric: Callable[[Any], float] | None = None, *,
                    preset: presets.Preset = presets.minmax, inputs: Any = None) -> tuple[Any, list[str]]:
    """Quantises all layers, then gives the most sensitive ones back to float until the metric rises over the float model's by at most
    `max_loss`. Returns the model and the names of the layers that stayed in float. Greedy: not always the smallest set."""
    if max_loss < 0:
        raise ValueError(f"max_loss must not be negative, got {max_loss}")
    batches = list(data)
    metric = metric or _output_error(model, batches)
    prepared = calibrate(prepare(model, preset, inputs), batches)
    report = _measure(prepared, metric)
    kept: list[str] = []
    for name in [None, *(name for name, _ in report.rows)]:
        if name is not None:
            kept.append(name)
        made = convert(prepared, skip=kept)
        if float(metric(made)) - report.base <= max_loss:
            return made, kept
    return made, kept
