"""A model cut into stages, each on its own part of a mesh, and its plain forward pass through them."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import headwater as hw
from headwater import nn

from .placing import places_of


def listed(result: Any) -> tuple[Any, ...]:
    """What a function returned, as what the next one takes."""
    return result if isinstance(result, tuple) else (result,)


class Layer:
    """One of the functions that a model is, with the parameters of earlier stages that it borrows."""

    def __init__(self, function: Callable[..., Any], modules: Sequence[nn.Module]):
        self.function, self.modules = function, list(modules)
        self.recompute = False
        self.borrowed: list[tuple[nn.Module, str, int]] = []  # module, name there, place in the stage's list

    def __call__(self, borrowed: Sequence[hw.Tensor], values: tuple[Any, ...]) -> Any:
        if self.recompute:
            return hw.recompute(self._run, len(borrowed), *borrowed, *values)
        return self._run(len(borrowed), *borrowed, *values)

    def _run(self, count: int, *values: Any) -> Any:
        with self._lent(values[:count]):
            return self.function(*values[count:])

    @contextmanager
    def _lent(self, borrowed: Sequence[hw.Tensor]) -> Iterator[None]:
        """The module's slot holds what was brought here from another stage while the layer runs."""
        before = [m.__dict__[name] for m, name, _ in self.borrowed]
        for m, name, i in self.borrowed:
            m.__dict__[name] = borrowed[i]
        try:
            yield
        finally:
            for (m, name, _), p in zip(self.borrowed, before, strict=True):
                m.__dict__[name] = p


class Stage:
    def __init__(self, index: int, mesh: Any, layers: list[Layer]):
        self.index, self.mesh, self.layers = index, mesh, layers
        process, _, each = hw._C.world()
        self.here = not each or any(rank // each == process for rank in mesh.ranks)  # whether this process hosts one of its ranks
        self.lenders: list[tuple[nn.Parameter, Stage]] = []  # of tied parameters, with the stage where they lie

    def run(self, borrowed: Sequence[hw.Tensor], values: tuple[Any, ...]) -> Any:
        result: Any = values
        with hw.implicit_broadcast():
            for layer in self.layers:
                result = layer(borrowed, listed(result))
        return result


def layers_of(model: nn.Module) -> list[Layer]:
    """What the model says of its layers, or the parts of an nn.Sequential."""
    if hasattr(model, "pipeline_layers"):
        given = model.pipeline_layers()
    elif isinstance(model, nn.Sequential):
        given = list(model)
    else:
        raise ValueError(f"{type(model).__name__} does not say of which layers it consists; give it a method pipeline_layers() that "
                         "returns modules, or pairs of a function and the modules it uses; each takes what the one before returned")
    return [Layer(g, [g]) if isinstance(g, nn.Module) else Layer(g[0], g[1]) for g in given]


def _weights(layers: list[Layer]) -> list[int]:
    """The elements of each layer's parameters, which stand for its work; of a shared one where it is used last, as a matrix."""
    last = {id(p): i for i, layer in enumerate(layers) for m in layer.modules for p in m.parameters()}
    found = [{id(p): p for m in layer.modules for p in m.parameters()} for layer in layers]
    return [1 + sum(p.numel() for p in ps.values() if last[id(p)] == i) for i, ps in enumerate(found)]


def balanced(weights: Sequence[int], parts: int) -> list[int]:
    """How many neighbours go together so that the heaviest of `parts` groups is as light as can be; no group is empty."""
    total = [0]
    for w in weights:
        total.append(total[-1] + w)
    best: list[list[tuple[float, int]]] = [[(float("inf"), 0)] * (len(weights) + 1) for _ in range(parts + 1)]
    best[0][0] = (0, 0)
    for k in range(1, parts + 1):
        for end in range(k, len(weights) + 1):
            best[k][end] = min((max(best[k - 1][b][0], total[end] - total[b]), b) for b in range(k - 1, end))
    sizes, end = [], len(weights)
    for k in range(parts, 0, -1):
        begin = best[k][end][1]
        sizes.append(end - begin)
        end = begin
    return sizes[::-1]


def cut(model: nn.Module, mesh: Any, sizes: Sequence[int] | None) -> list[Stage]:
    """The stages of a model over the axis "pipe" of a mesh. `sizes`: how many layers each gets; None: by their parameters."""
    layers, count = layers_of(model), mesh.shape[list(mesh.names).index("pipe")]
    if len(layers) < count:
        raise ValueError(f"{type(model).__name__} has {len(layers)} layers, too few for {count} stages")
    sizes = balanced(_weights(layers), count) if sizes is None else list(sizes)
    if len(sizes) != count or min(sizes) < 1 or sum(sizes) != len(layers):
        raise ValueError(f"stages: {count} positive numbers whose sum is the {len(layers)} layers of {type(model).__name__}, got {sizes}")
    hw.zeros(()).to_global(mesh, [hw.broadcast] * mesh.ndim)  # the first mesh of a process says how many ranks there are
    stages, begin = [], 0
    for index, size in enumerate(sizes):
        stages.append(Stage(index, mesh.part("pipe", index), layers[begin : begin + size]))
        begin += size
    return stages


def owners(model: nn.Module, stages: list[Stage]) -> dict[int, Stage]:
    """By id of each parameter and buffer the stage where it lies, the first that uses it; later ones will borrow it."""
    owner: dict[int, Stage] = {}
    for stage in stages:
        for layer in stage.layers:
            for module in layer.modules:
                if any(getattr(m, "sparse", False) for m in module.modules()):
                    raise ValueError("gradients by rows (sparse=True) cannot pass between stages; make the embedding without")
                for full, m, name, is_parameter in places_of(module):
                    t = m.__dict__[name]
                    home = owner.setdefault(id(t), stage)
                    if home is stage:
                        continue
                    if not is_parameter:
                        raise ValueError(f"the buffer '{full}' is used by stages {home.index} and {stage.index}; give each its own")
                    at = next((i for i, (p, _) in enumerate(stage.lenders) if p is t), len(stage.lenders))
                    if at == len(stage.lenders):
                        stage.lenders.append((t, home))
                    layer.borrowed.append((m, name, at))
    for full, m, name, _ in places_of(model):
        if id(m.__dict__[name]) not in owner:
            raise ValueError(f"'{full}' belongs to none of the modules that {type(model).__name__}.pipeline_layers() names")
    return owner


def moved(value: Any, mesh: Any) -> Any:
    """What one stage hands to the next. Partial values are summed on the way."""
    if not isinstance(value, hw.Tensor):
        return value
    if not value.is_global:
        raise TypeError(f"a stage hands on an ordinary tensor of shape {tuple(value.shape)}, which other processes do not have; make it "
                        "where it is used")
    return value.to_global(mesh, whole_sbp(value))


def whole_sbp(value: hw.Tensor) -> list[Any]:
    return [hw.broadcast if s.is_partial else s for s in value.sbp]


class Pipeline:
    """The stages of a model and what they have learned of each other; see accumulate.py."""

    def __init__(self, stages: list[Stage], input_sbp: list[Any]):
        self.stages, self.input_sbp = stages, input_sbp
        self.facts: dict[Any, Any] = {}

    def forward(self, *values: Any) -> Any:
        """One batch from stage to stage, on the tape as any other computation: for evaluation, and where nothing need overlap."""
        result: Any = tuple(moved(v, self.stages[0].mesh) for v in values)
        for stage in self.stages:
            if stage.index:
                result = tuple(moved(v, stage.mesh) for v in listed(result))
            result = stage.run([p.to_global(stage.mesh, p.sbp) for p, _ in stage.lenders], result)
        return result
