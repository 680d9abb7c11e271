"""From a call to a program: capture, the split of forward and backward where gradients flow outside, and running."""
from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import Any

import headwater as hw

from .. import _C
from .._C import Tensor
from .generated import tell_once
from .session import CompileError, Session
from .state_names import state_names
from .symbols import Symbols, SymInt, sizes_of
from .tree import CONSTANTS, is_array, rebuild

_log = logging.getLogger(__name__)
_numbers = itertools.count()
_MOST_SYMBOLIC_NODES = 50_000  # a capture with symbols that grows beyond unrolls one


# While `headwater bisect` runs a script: called with (name, program, tensors, host numbers) before a program's run.
observer: Callable[[str, Any, list[Tensor], Any], None] | None = None


def _observed(name: str, program: Any, tensors: list[Tensor], host: Any) -> None:
    if observer is not None:
        observer(name, program, tensors, host)


class _Slot:
    """Where an output tensor goes in the returned tree."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class Variant:
    """A program for one kind of call."""

    def __init__(self, captured: Captured, parts: Any, workspace: Any) -> None:
        self.number = next(_numbers)
        self._guards, self._result, self._name = captured.guards, captured.result, captured.name
        # What the optimisers ask for, and effects up to the last of these, come before the run; other effects after it.
        last = max((i for i, (_, undo) in enumerate(captured.host) if undo is not None), default=-1) + 1
        self._before, self._after = captured.host[:last], [call for call, _ in captured.host[last:]]
        self._single = isinstance(self._result, _Slot)
        self.program, self._backward = captured.build(parts, workspace)
        tell_once()
        for label, program in self.programs():
            if program.cache_note:
                _log.warning("%s%s: %s", captured.name, label, program.cache_note)
        self._sizes: list[int] | None = None

    def dispatch(self, function: Any, tensors: list[Tensor]) -> None:
        """Calls of this kind need no Python code if there is nothing to do but to run the program."""
        plain = self._backward is None and not self._before and not self._after and self._guards.fast
        tree = self._result
        flat = self._single or (
            type(tree) is tuple and all(type(leaf) is _Slot and leaf.index == i for i, leaf in enumerate(tree))
        )
        if plain and flat:
            _C.dispatch_add(function, tensors, self._guards.native, self.program, self._single)

    def programs(self) -> list[tuple[str, Any]]:
        """The program, or those of the forward and the backward pass, with what to call them."""
        if not isinstance(self._backward, _Backward):
            return [("", self.program)]
        return [(", forward", self.program), (", backward", self._backward._program)]

    def outdated(self) -> str:
        """Why the program does not fit any more; empty if it does."""
        return self._guards.changed() or self.program.state_problem()

    def step_times(self, tensors: list[Tensor]) -> list[int]:
        """Runs the program once, as a call would; the nanoseconds that each of its kernel calls took, in their order."""
        times: list[int] = self._run_counted(tensors, self.program.run_timed)
        for call in self._after:
            call()
        return times

    def run(self, tensors: list[Tensor]) -> Any:
        if observer is not None and not self._before:
            _observed(self._name, self.program, tensors, ())
        outputs = self.program.run(tensors, ()) if not self._before else self._run_counted(tensors, self.program.run)
        for call in self._after:
            call()
        if self._backward is not None:
            self._backward.attach(outputs, tensors)
        if self._single:
            return outputs[self._result.index]
        return rebuild(self._result, lambda leaf: self._value(leaf, outputs))

    def _run_counted(self, tensors: list[Tensor], run: Callable[[list[Tensor], Any], Any]) -> Any:
        host: list[Any] = []
        done = 0
        try:
            for call, undo in self._before:
                numbers = call()
                done += 1
                if undo is not None:
                    host += numbers
            _observed(self._name, self.program, tensors, host)
            return run(tensors, host)
        except BaseException:
            for _, undo in reversed(self._before[:done]):
                if undo is not None:
                    undo()
            raise

    def _value(self, leaf: Any, outputs: list[Tensor]) -> Any:
        if type(leaf) is _Slot:
            return outputs[leaf.index]
        if type(leaf) is SymInt:
            return _C.size_at(int(leaf), self._sizes)
        return leaf


class Captured:
    """What a capture found: parts of a program, for one set of sizes or for all."""

    def __init__(self, session: Session, name: str, result: Any, outputs: int, arguments: int) -> None:
        session.guards.seal()
        self.guards, self.host = session.guards, session.host
        self.name, self.result = name, result
        self._num_outputs, self._num_arguments = outputs, arguments
        self._split: tuple[int, list[int], list[Tensor | int]] | None = None  # boundary, differentiable outputs, leaves
        self.memory_budget = 0
        self._broken = ""  # why there are no gradients
        self.parts: Any = None
        self.symbols: Symbols | None = None
        self.marks: list[list[int]] = []
        self.fixed: list[tuple[int, ...]] = []

    def differentiate(self, plan: _Differentiation, stand_ins: list[Tensor]) -> None:
        numbers = {id(s): i for i, s in enumerate(stand_ins)}
        self._broken = plan.broken
        self._split = (plan.boundary, plan.differentiable, [numbers.get(id(leaf), leaf) for leaf in plan.leaves])

    def build(self, parts: Any, workspace: Any) -> tuple[Any, _Backward | _Unusable | None]:
        if self._split is None:
            return parts.program(workspace, self.memory_budget), None
        boundary, differentiable, leaves = self._split
        if self._broken:
            return parts.program(workspace, self.memory_budget), _Unusable(self._broken, differentiable, leaves, self.name)
        forward, second, num_saved, arguments = parts.split_program(
            workspace, self.memory_budget, boundary, self._num_outputs, self._num_arguments
        )
        backward = _Backward(second, self._num_outputs, num_saved, arguments, self.name)
        backward.differentiable, backward.leaves = differentiable, leaves
        return forward, backward

    def variant(self, workspace: Any) -> Variant:
        return Variant(self, self.parts, workspace)

    def sizes_in(self, shapes: list[tuple[int, ...]]) -> list[int] | None:
        """The symbols' sizes if a call with these shapes fits."""
        sizes = sizes_of(self.marks, self.fixed, shapes)
        return sizes if sizes is not None and self.symbols is not None and self.symbols.hold(sizes) else None

    def variant_at(self, sizes: list[int], workspace: Any) -> Variant:
        made = Variant(self, self.parts.at_sizes(sizes), workspace)
        made._sizes = sizes
        return made


class _Unusable:
    """In place of the gradient of a function whose tape is broken, as by writing to what it saved."""

    def __init__(self, why: str, outputs: list[int], leaves: list[Tensor | int], name: str) -> None:
        self._why, self._outputs, self._leaves, self._name = why, outputs, leaves, name

    def attach(self, outputs: list[Tensor], tensors: list[Tensor]) -> None:
        def backward(*gradients: Tensor | None) -> Any:
            raise RuntimeError(self._why)

        targets = [tensors[leaf] if isinstance(leaf, int) else leaf for leaf in self._leaves]
        _C.attach_function([outputs[i] for i in self._outputs], targets, backward, f"compiled {self._name}")


def _place(t: Tensor) -> tuple[Any, Any] | None:
    """Where the gradient of an output has to lie."""
    return (t.mesh, [hw.broadcast if s.is_partial else s for s in t.sbp]) if t.is_global else None


def _incoming(gradient: Tensor | None, shape: tuple[int, ...], dtype: Any, place: tuple[Any, Any] | None) -> Tensor:
    if gradient is None:
        with _C.CreatedLike(None):
            gradient = hw.zeros(shape, dtype=dtype)
    gradient = gradient.to(dtype).contiguous()
    return gradient if place is None else gradient.to_global(*place)


class _Backward:
    """The gradient of a program whose outputs are differentiated outside."""

    def __init__(self, program: Any, num_outputs: int, num_saved: int, arguments: list[int], name: str) -> None:
        self._program, self._num_outputs, self._num_saved = program, num_outputs, num_saved
        self._arguments, self._name = arguments, name
        self.differentiable: list[int] = []  # outputs
        self.leaves: list[Tensor | int] = []  # state tensors, or numbers of arguments

    def attach(self, outputs: list[Tensor], tensors: list[Tensor]) -> None:
        saved = outputs[self._num_outputs :]
        del outputs[self._num_outputs :]
        kept = [tensors[i] for i in self._arguments]
        read = [*kept, *self._program.state()]
        versions = [t._version for t in read]
        results = [outputs[i] for i in self.differentiable]
        specs = [(tuple(t.shape), t.dtype, _place(t)) for t in results]

        def backward(*gradients: Tensor | None) -> Any:
            for t, version in zip(read, versions, strict=True):
                if t._version != version:
                    raise RuntimeError(
                        f"the gradient of the compiled function {self._name} needs a tensor of shape {list(t.shape)} that was "
                        f"changed in place since: it is at version {t._version}, was at version {version}"
                    )
            with hw.no_grad():
                given = [_incoming(g, *spec) for g, spec in zip(gradients, specs, strict=True)]
                _observed(f"{self._name}, backward", self._program, [*given, *saved, *kept], ())
                return self._program.run([*given, *saved, *kept], ())

        targets = [tensors[leaf] if isinstance(leaf, int) else leaf for leaf in self.leaves]
        _C.attach_function(results, targets, backward, f"compiled {self._name}")


def capture(
    function: Callable[..., Any],
    name: str,
    args: Any,
    kwargs: Any,
    tensors: list[Tensor],
    others: list[Any],
    marks: list[list[int]] | None = None,
) -> Captured:
    """Captures a call. Nothing that the user can see has changed afterwards. `marks`: which sizes are symbols."""
    session = Session(name)
    with session.all_or_nothing():
        return _captured(session, function, name, args, kwargs, tensors, others, marks)


def _captured(
    session: Session,
    function: Callable[..., Any],
    name: str,
    args: Any,
    kwargs: Any,
    tensors: list[Tensor],
    others: list[Any],
    marks: list[list[int]] | None,
) -> Captured:
    native = session.native
    for value in others:
        session.guards.value(value)
    session.guards.function(function)
    symbols = None
    if marks is not None:
        symbols = Symbols(_hints(marks, tensors))
        native.set_node_limit(_MOST_SYMBOLIC_NODES)
    stand_ins = [
        native.add_input(t, f"arg{i}", None if marks is None else _marked(t, marks[i])) for i, t in enumerate(tensors)
    ]
    call_args, call_kwargs = _with_stand_ins(args, kwargs, stand_ins)
    outputs: list[Tensor] = []
    with session.capturing(symbols):
        result = function(*call_args, **call_kwargs)
        session.check_decided()
        tree = _slots(result, outputs)
        plan = _differentiate(session, outputs) if hw.is_grad_enabled() else None
        _register(native, outputs, plan)
    for state, tensor in state_names(session.guards.named):
        native.name_state(tensor, state)
    native.finish()
    del result, call_args, call_kwargs
    captured = Captured(session, name, tree, len(outputs), len(tensors))
    if plan is not None:
        captured.differentiate(plan, stand_ins)
    captured.parts = native.parts()
    if marks is not None:
        captured.symbols, captured.marks = symbols, marks
        captured.fixed = [tuple(t.shape) for t in tensors]
    outputs.clear()
    stand_ins.clear()
    del plan
    session.check_nothing_leaked()
    return captured


def _marked(tensor: Tensor, marks: list[int]) -> list[int]:
    return [size if mark < 0 else _C.symbol_number(mark) for size, mark in zip(tensor.shape, marks, strict=True)]


def _hints(marks: list[list[int]], tensors: list[Tensor]) -> list[int]:
    found = {m: size for row, t in zip(marks, tensors, strict=True) for m, size in zip(row, t.shape, strict=True) if m >= 0}
    return [found[i] for i in range(len(found))]


def _register(native: Any, outputs: list[Tensor], plan: _Differentiation | None) -> None:
    for t in outputs:
        native.output(t)
    if plan is not None:
        for t in plan.gradients:
            native.output(t)


def _with_stand_ins(args: Any, kwargs: Any, stand_ins: list[Tensor]) -> tuple[Any, Any]:
    """The arguments with abstract tensors in place of tensors and arrays, in the order in which `flatten` met them."""
    order = iter(stand_ins)
    seen: dict[int, Tensor] = {}

    def replace(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            if id(leaf) not in seen:
                seen[id(leaf)] = next(order)
            return seen[id(leaf)]
        return next(order) if is_array(leaf) else leaf

    return rebuild(args, replace), rebuild(kwargs, replace)


def _slots(result: Any, outputs: list[Tensor]) -> Any:
    """The returned tree with numbered slots in place of tensors."""

    def slot(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            outputs.append(leaf)
            return _Slot(len(outputs) - 1)
        if type(leaf) in CONSTANTS or type(leaf) is SymInt or isinstance(leaf, hw.dtype):
            return leaf
        raise CompileError(
            f"the compiled function returns an object of type {type(leaf).__name__}; it may return tensors, numbers, texts, None, and "
            "tuples, lists and dicts of them"
        )

    return rebuild(result, slot)


class _Differentiation:
    broken = ""  # why there are no gradients

    def __init__(self, boundary: int, leaves: list[Tensor], gradients: list[Tensor], differentiable: list[int]) -> None:
        self.boundary, self.leaves, self.gradients, self.differentiable = boundary, leaves, gradients, differentiable


def _differentiate(session: Session, outputs: list[Tensor]) -> _Differentiation | None:
    """Captures the gradients of the outputs with respect to arguments and state, if they can be asked for outside."""
    native = session.native
    differentiable = [
        i for i, t in enumerate(outputs) if t.requires_grad and not t.is_leaf and not _C.graph_released(t)
    ]
    if not differentiable:
        return None
    leaves = native.differentiable()
    boundary = native.num_nodes()
    seeds = [native.add_seed(outputs[i], f"gradient{n}") for n, i in enumerate(differentiable)]
    try:
        with hw.no_grad():
            found = _C.grad([outputs[i] for i in differentiable], seeds, leaves, False, False, True)
    except RuntimeError as error:
        native.cut(boundary)
        plan = _Differentiation(boundary, leaves, [], differentiable)
        plan.broken = str(error)
        return plan
    pairs = [(leaf, g) for leaf, g in zip(leaves, found, strict=True) if g is not None]
    return _Differentiation(boundary, [p[0] for p in pairs], [p[1] for p in pairs], differentiable)
