"""plan="auto": the cheapest plan, by rehearsals."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import headwater as hw
from headwater import nn

from .estimate import Device, Estimate, estimate
from .parallelize import _BY_DATA
from .stages import balanced, layers_of

_NAMES = ("pipe", "data", "model")
ALIKE = 1.05  # estimates know no better: of plans this close the simplest is taken


def _shapes(ranks: int, stages: int) -> Iterator[dict[str, int]]:
    """Every way to arrange ranks over the axes; at most `stages` stages."""
    for pipe in range(1, min(ranks, stages) + 1):
        for data in range(1, ranks // pipe + 1):
            if ranks % (pipe * data) == 0:
                yield {"pipe": pipe, "data": data, "model": ranks // (pipe * data)}


def _meshes(mesh: Any, layers: int) -> list[Any]:
    """The mesh itself where its axes say what they are for, else all arrangements of its ranks."""
    if mesh.ndim > 1 or mesh.names[0] in _NAMES:
        return [mesh]
    found = []
    for shape in _shapes(mesh.size, layers):
        axes = {n: k for n, k in shape.items() if k > 1} or {"data": 1}
        found.append(hw._C.make_mesh(mesh.device, list(axes.values()), list(axes), list(mesh.ranks)))
    return found


def _layer_count(model: nn.Module) -> int:
    try:
        return len(layers_of(model))
    except ValueError:
        return 1


def _pattern(name: str) -> str:
    """The same parameter in all blocks: "blocks.3.fc.weight" -> "blocks.*.fc.weight"; but "layers.3.weight", which is a layer of its own,
    stays."""
    return re.sub(r"(^|\.)\d+(?=\.[^.]+\.)", r"\1*", name)


def _groups(model: nn.Module) -> dict[str, list[str]]:
    """Patterns of weights that can be split, with the pattern of the bias beside each."""
    names = dict(model.named_parameters())
    groups: dict[str, list[str]] = {}
    for name, p in names.items():
        if p.ndim >= 2:
            bias = re.sub(r"weight([^.]*)$", r"bias\1", name)
            groups[_pattern(name)] = [_pattern(bias)] if bias != name and bias in names else []
    return groups


def _options(weight: str, biases: list[str]) -> list[dict[str, Any]]:
    """Ways to split a weight, with its bias and without, and not to. They come before what a table says already."""
    found: list[dict[str, Any]] = [dict.fromkeys([weight, *biases], hw.broadcast)]
    for axis in (0, 1):
        found.append({weight: axis})
        if biases:
            found.append({weight: axis, **dict.fromkeys(biases, 0)})
    return found


def _moves(groups: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    """What the search changes at once: one weight, or two neighbours, of which the second sums what the first has split."""
    moves = [option for weight, biases in groups.items() for option in _options(weight, biases)]
    for (a, bias), (b, _) in pairwise(groups.items()):
        moves += [{a: i, **dict.fromkeys(bias, 0), b: j} for i in (0, 1) for j in (0, 1)]
    return moves


def _plan(words: list[str], table: Mapping[str, Any]) -> Any:
    return [*words, dict(table)] if table else list(words)


class _Search:
    def __init__(self, model: nn.Module, rehearse: Callable[..., Estimate], memory: int | None):
        self.model, self.rehearse, self.memory = model, rehearse, memory
        self.found: list[Estimate] = []
        self.refused: list[str] = []
        self.known: dict[tuple[str, str, str], Estimate | None] = {}  # starts and moves lead to some plans more than once

    def try_plan(self, mesh: Any, plan: Any, stages: list[int] | None = None) -> Estimate | None:
        key = str(mesh), repr(plan), repr(stages)
        if key not in self.known:
            self.known[key] = self.rehearsed(mesh, plan, stages)
        return self.known[key]

    def rehearsed(self, mesh: Any, plan: Any, stages: list[int] | None) -> Estimate | None:
        try:
            one = self.rehearse(self.model, mesh, plan, stages=stages)
        except (ValueError, IndexError) as e:  # a plan that this model or mesh does not allow
            self.refused.append(f"{mesh}, {plan!r}: {e}")
            return None
        self.found.append(one)
        return one

    def fits(self, e: Estimate) -> bool:
        return self.memory is None or e.memory <= self.memory

    def rank(self, e: Estimate) -> tuple[bool, float]:
        return (not self.fits(e), e.seconds if self.fits(e) else e.memory)

    def tables(self, mesh: Any, words: list[str], start: Estimate | None) -> list[tuple[list[str], Mapping[str, Any]]]:
        """Splits over the model axis worth a try: the model's own, and what changing one group of weights at a time leads to."""
        own = getattr(self.model, "tensor_plan", None)
        starts: list[tuple[list[str], Mapping[str, Any]]] = [([], dict(own))] if own else []
        best, best_table = start, dict(own) if own else {}
        for _ in range(2):
            changed = False
            for option in _moves(_groups(self.model)):
                table = option | {k: v for k, v in best_table.items() if k not in option}
                if all(v is hw.broadcast for v in table.values()):
                    continue
                one = self.try_plan(mesh, _plan(words, table))
                if one and (best is None or self.rank(one) < self.rank(best)):
                    best, best_table, changed = one, table, True
            if not changed:
                break
        if own and getattr(self.model, "sequence_plan", None):
            starts.append((["tensor", "sequence"], {}))
        return [*starts, ([], best_table)] if best_table else starts

    def on_mesh(self, mesh: Any) -> None:
        by_data = [[w] for w in _BY_DATA] if "data" in mesh.names else [[]]
        own = getattr(self.model, "tensor_plan", {}) if "model" in mesh.names else {}
        before = len(self.found)
        tried: list[tuple[list[str], Estimate]] = []
        for more in ([], ["recompute"]):  # without recomputing, if anything fits
            tried += [([*w, *more], e) for w in by_data if (e := self.try_plan(mesh, _plan([*w, *more], own)))]
            if any(self.fits(e) for _, e in tried):
                break
        words, start = min(tried, key=lambda t: self.rank(t[1]), default=(by_data[0], None))
        more = [w for w in words if w == "recompute"]
        if "model" in mesh.names:
            for each, table in self.tables(mesh, words, start):
                for w in by_data:
                    self.try_plan(mesh, _plan([*w, *more, *each], table))
        if "pipe" in mesh.names:
            self.balance(mesh, min(self.found[before:], key=self.rank, default=None))

    def balance(self, mesh: Any, best: Estimate | None) -> None:
        """Stages by the time of each layer instead of by its parameters; then borders move by one layer as long as that helps."""
        if best is None:
            return
        layers, axis = _layer_count(self.model), list(mesh.names).index("pipe")
        shape = [layers if a == axis else n for a, n in enumerate(mesh.shape)]
        one_each = hw._C.make_mesh("meta", shape, list(mesh.names), list(range(layers * mesh.size // mesh.shape[axis])))
        single = self.rehearse(self.model, one_each, best.plan, stages=[1] * layers)
        sizes = balanced([max(1, round(s * 1e9)) for s in single.stage_seconds], mesh.shape[axis])
        now = self.try_plan(mesh, best.plan, sizes)
        for _ in range(layers):
            tried = [self.try_plan(mesh, best.plan, s) for s in _shifted(sizes)]
            better = min((e for e in tried if e), key=self.rank, default=None)
            if now is None or better is None or self.rank(better) >= self.rank(now):
                return
            now, sizes = better, better.stages or sizes


def _shifted(sizes: list[int]) -> Iterator[list[int]]:
    """One layer given to a neighbouring stage."""
    for i, j in [(i, i + d) for i in range(len(sizes)) for d in (-1, 1) if 0 <= i + d < len(sizes)]:
        if sizes[i] > 1:
            yield [n - (k == i) + (k == j) for k, n in enumerate(sizes)]


def search_plan(model: nn.Module, mesh: Any, inputs: Any, targets: Any = (), *, loss_of: Callable[..., hw.Tensor],
                optimizer: Callable[..., Any] = hw.optim.Adam, micro_batches: int = 1, device: Device | None = None,
                memory: int | None = None) -> list[Estimate]:  # fmt: skip
    """Every plan that was tried for a training step, the cheapest first; but a simpler one within 5 per cent goes before it.

    Tried are: all plans by data; splits of tensors as the model's `tensor_plan` and `sequence_plan` say and as a search over groups of
    weights finds, one group at a time; stages cut by parameters and by the time of layers; recomputing where nothing else fits.

    Args:
        mesh: where its axes are named "data", "model" or "pipe", plans for it as it is. One axis of any other name: all ways to
            arrange its ranks over these three.
        memory: bytes that a rank has; plans that need more come last.
        others: as for `estimate`.
    Raises ValueError if the model allows no plan at all.

    >>> best = hw.distributed.search_plan(hw.nn.Linear(64, 8), hw.mesh("meta", 4), hw.ones(256, 64), hw.ones(256, 8),
    ...                                   loss_of=hw.nn.functional.mse_loss)[0]
    >>> best.mesh.size
    4
    """
    rehearse = partial(estimate, inputs=inputs, targets=targets, loss_of=loss_of, optimizer=optimizer, micro_batches=micro_batches,
                       device=device)  # fmt: skip
    search = _Search(model, rehearse, memory)
    for one in _meshes(mesh, _layer_count(model)):
        search.on_mesh(one)
    if not search.found:
        raise ValueError("search_plan: no plan is possible; " + "; ".join(search.refused[:4]))
    found = sorted(search.found, key=search.rank)
    alike = [e for e in found if search.fits(e) == search.fits(found[0]) and e.seconds <= ALIKE * found[0].seconds]
    first = min(alike, key=_pieces)  # of equals the quickest, since min and sorted are stable
    return [first, *(e for e in found if e is not first)]


def _pieces(e: Estimate) -> tuple[int, int]:
    """How much a plan says: axes and entries of tables, then words."""
    words = [e.plan] if isinstance(e.plan, str) else list(e.plan)
    tables = [w for w in words if not isinstance(w, str)]
    plain = {"data": 0, "zero1": 1, "zero2": 2, "zero3": 3}
    return e.mesh.ndim + sum(map(len, tables)), sum(plain.get(w, 4) for w in words if isinstance(w, str))
