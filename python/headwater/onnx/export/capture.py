"""The graph of a module's forward pass, with symbols for the sizes that may change."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import headwater as hw

from ... import _C
from ...compiler.session import Session
from ...compiler.symbols import SizeIsNeeded, Symbols
from ..requirement import OnnxError


class Sizes:
    """The dynamic axes: a symbol for each name, and where in the inputs it can be read."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.hints: list[int] = []
        self.places: list[tuple[int, int]] = []  # an input and an axis of it

    def number(self, name: str, size: int, place: tuple[int, int]) -> int:
        if name not in self.names:
            if len(self.names) == _C.most_symbols:
                raise OnnxError(f"a model can be exported with {_C.most_symbols} dynamic sizes; '{name}' is one more")
            self.names.append(name)
            self.hints.append(size)
            self.places.append(place)
        at = self.names.index(name)
        if self.hints[at] != size:
            raise OnnxError(f"the size '{name}' is {self.hints[at]} and {size} in the inputs")
        if size < 2:
            raise OnnxError(f"the size '{name}' is {size} in the inputs; give an example with 2 or more, since 1 broadcasts")
        return int(_C.symbol_number(at))

    def terms(self, number: int) -> tuple[int, list[int], int]:
        """factor, symbols, offset: what a number of the capture is made of."""
        count = len(self.names)
        if not count or not _C.is_symbolic(number, count):
            return 0, [], number
        ones = [1] * count
        base = _C.size_at(number, ones)
        steps = [_C.size_at(number, [2 if i == k else 1 for i in range(count)]) - base for k in range(count)]
        return max(steps, key=abs), [k for k, s in enumerate(steps) if s], base - max(steps, key=abs)

    def symbolic(self, number: Any) -> bool:
        return bool(self.names) and type(number) is int and bool(_C.is_symbolic(number, len(self.names)))


@dataclass
class Captured:
    """The graph, the tensors of its state in order, its dynamic sizes, and what the model returns for the inputs."""

    graph: Any
    states: list[Any]
    sizes: Sizes
    results: list[Any]


def captured(model: Any, inputs: list[Any], names: list[str], axes: list[dict[int, str]]) -> Captured:
    """Runs the model on stand-ins for the inputs, and once on the inputs."""
    sizes, marked = Sizes(), []
    for i, (tensor, dynamic) in enumerate(zip(inputs, axes)):
        row = [sizes.number(dynamic[a], n, (i, a)) if a in dynamic else n for a, n in enumerate(tensor.shape)]
        marked.append(row if dynamic else None)
    session = Session(type(model).__name__)
    symbols = Symbols(sizes.hints) if sizes.names else None
    with hw.no_grad():
        plain = [t.detach() for t in inputs]
        stand_ins = [session.native.add_input(t, n, m) for t, n, m in zip(plain, names, marked)]
        with session.all_or_nothing():
            try:
                with session.capturing(symbols):
                    outputs = leaves(model(*stand_ins))
                    for i, tensor in enumerate(outputs):
                        outputs[i] = tensor.clone()  # also if it is an input, or state
                        session.native.output(outputs[i])
            except SizeIsNeeded:
                raise OnnxError(
                    f"the model needs the numbers of its dynamic sizes {sizes.names}, in a loop over them or in arithmetic that ONNX "
                    "cannot follow; export it with fixed sizes"
                ) from None
        session.native.finish()
        graph = session.native.graph()
        tensors = session.native.parts().sources()
        states = [t for t, s in zip(tensors, graph.sources) if s["kind"] == "state"]
        graph.run_passes(["fold_batch_norm", "remove_dead"], frozen=True)
        del outputs, stand_ins
        results = leaves(model(*plain))
    return Captured(graph, states, sizes, results)


def leaves(result: Any) -> list[Any]:
    """The tensors of a returned tree, in order."""
    if isinstance(result, hw.Tensor):
        return [result]
    if isinstance(result, dict):
        return [t for v in result.values() for t in leaves(v)]
    if isinstance(result, (list, tuple)):
        return [t for v in result for t in leaves(v)]
    if result is None:
        return []
    raise OnnxError(f"the model returns an object of type {type(result).__name__}; only tensors can be exported")
