"""Control flow on data that a compiled function can hold: cond, while_loop, scan. Outside of one they are plain Python."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import headwater as hw

from .. import _C, recording
from .._C import Tensor
from .tree import rebuild


def _leaves(tree: Any) -> list[Tensor]:
    found: list[Tensor] = []

    def note(leaf: Any) -> Any:
        found.append(leaf)
        return leaf

    rebuild(tree, note)
    for leaf in found:
        if not isinstance(leaf, Tensor):
            raise TypeError(f"branches and loop bodies return tensors, got {type(leaf).__name__}")
    return found


def _with_leaves(tree: Any, leaves: Sequence[Tensor]) -> Any:
    order = iter(leaves)
    return rebuild(tree, lambda leaf: next(order))


class _Nested:
    """A graph captured inside of the running capture."""

    def __init__(
        self, session: Any, function: Callable[..., Any], operands: Sequence[Tensor], what: str, own: bool = False
    ) -> None:
        """`own`: the outputs are tensors of this graph, also those that the function hands on from outside."""
        outer = session.native
        self.native = _C.Capture(what, outer)
        self.operands = list(operands)
        stand_ins = [self.native.add_input(t, f"operand{i}", None) for i, t in enumerate(self.operands)]
        self.native.enter()
        session.around.append(outer)
        session.native = self.native
        try:
            self.result = function(*stand_ins)
            self.outputs = [t.clone() for t in _leaves(self.result)] if own else _leaves(self.result)
        finally:
            session.native = outer
            session.around.pop()
            self.native.leave()

    def body(self, inputs: list[Tensor]) -> Any:
        return self.native.body(inputs, self.outputs)

    def specs(self) -> list[tuple[tuple[int, ...], Any]]:
        return [(tuple(t.shape), t.dtype) for t in self.outputs]


def _all_inputs(first: list[Tensor], *nested: _Nested) -> list[Tensor]:
    """The operands, and what the functions close over: a tensor that is both comes twice, as it does inside."""
    closed: list[Tensor] = []
    for n in nested:
        for t in n.native.lifted():
            if not any(t is known for known in closed):
                closed.append(t)
    return [*first, *closed]


def _captured_cond(
    session: Any, pred: Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Tensor]
) -> Any:
    with session.undecided("hw.cond"):
        return _both_branches(session, pred, true_fn, false_fn, operands)


def _both_branches(
    session: Any, pred: Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Tensor]
) -> Any:
    flag = pred.detach().reshape(()) if pred.dtype == hw.bool else pred.detach().reshape(()) != 0
    with hw.no_grad():
        yes = _Nested(session, true_fn, operands, "true branch", own=True)
        no = _Nested(session, false_fn, operands, "false branch", own=True)
        if yes.specs() != no.specs():
            raise RuntimeError(
                f"hw.cond: the branches return different tensors: {yes.specs()} and {no.specs()}; both must give the same shapes and "
                "dtypes"
            )
        inputs = _all_inputs([flag, *operands], yes, no)
        results = session.native.add_control("_cond", inputs, [yes.body(inputs), no.body(inputs)])
    closed = inputs[1 + len(operands) :]
    wanted = [t for t in (*operands, *closed) if t.requires_grad]
    if hw.is_grad_enabled() and wanted:
        number = len(operands)

        def gradient_of(branch: Callable[..., Any]) -> Callable[..., Any]:
            def run(*given: Tensor) -> Any:
                with hw.enable_grad():
                    again = [t.detach().requires_grad_(w.requires_grad) for t, w in zip(given[:number], operands, strict=True)]
                    outputs = _leaves(branch(*again))
                    pairs = [(o, g) for o, g in zip(outputs, given[number:], strict=True) if o.requires_grad]
                    sources = [t for t in (*again, *closed) if t.requires_grad]
                    if not pairs:
                        return tuple(hw.zeros_like(w) for w in wanted)
                    found = hw.autograd.grad([o for o, _ in pairs], sources, [g for _, g in pairs], allow_unused=True)
                return tuple(hw.zeros_like(w) if g is None else g for w, g in zip(wanted, found, strict=True))

            return run

        def backward(*gradients: Tensor | None) -> Any:
            given = [hw.zeros_like(r) if g is None else g for g, r in zip(gradients, shown, strict=True)]
            return cond(flag, gradient_of(true_fn), gradient_of(false_fn), (*operands, *given))

        shown = [r.detach() for r in results]
        _C.attach_function(results, wanted, backward, "cond")
    return _with_leaves(yes.result, results)


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Tensor] = ()
) -> Any:
    """`true_fn(*operands)` if `pred`, else `false_fn(*operands)`; inside a compiled function `pred` may be a tensor.

    Both functions return tensors, or trees of them, of the same shapes and dtypes, without writing in place to what they did not make.
    Gradients flow through the branch that ran, also to tensors that the functions close over.

    >>> hw.cond(hw.tensor(True), lambda x: x + 1, lambda x: x - 1, (hw.tensor([1.]),))
    tensor([2.])
    """
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"hw.cond: pred must have one element, got shape {list(pred.shape)}")
    if recording.current is not None and isinstance(pred, Tensor):
        return _captured_cond(recording.current, pred, true_fn, false_fn, tuple(operands))
    return (true_fn if pred else false_fn)(*operands)


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Calls `values = body_fn(*values)` as long as `cond_fn(*values)` is true, from `carried_inputs` on; returns the last values.

    `body_fn` returns as many tensors, of the same shapes and dtypes. Inside a compiled function the number of turns may depend on data;
    there is no gradient then (use hw.scan for a known number of turns).

    >>> hw.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (hw.tensor(0), hw.tensor(1.)))
    (tensor(3), tensor(8.))
    """
    values = tuple(carried_inputs)
    if recording.current is None:
        while cond_fn(*values):
            values = _carried(body_fn(*values), values)
        return values
    session: Any = recording.current
    differentiable = hw.is_grad_enabled()
    if differentiable:
        _refuse_gradients(values)
    with session.undecided("hw.while_loop"), hw.no_grad():
        values = tuple(v.contiguous() for v in values)
        test = _Nested(session, lambda *v: _flag(cond_fn(*v)), values, "condition")
        turn = _Nested(session, lambda *v: _carried(body_fn(*v), values), values, "body")
        inputs = _all_inputs(list(values), test, turn)
        if differentiable:
            _refuse_gradients(inputs[len(values) :])  # what the functions close over
        return tuple(session.native.add_control("_while", inputs, [test.body(inputs), turn.body(inputs)]))


def _refuse_gradients(tensors: Sequence[Tensor]) -> None:
    for t in tensors:
        if t.requires_grad:
            raise RuntimeError(
                f"hw.while_loop has no gradient inside a compiled function, as its number of turns is not known, and it reads a tensor of "
                f"shape {list(t.shape)} that requires one. Use hw.scan, run the loop under hw.no_grad(), or detach() the tensor"
            )


def _flag(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise RuntimeError("hw.while_loop: the condition does not depend on the carried values; it would run for ever or never")
    return value.reshape(()) if value.dtype == hw.bool else value.reshape(()) != 0


def _carried(made: Any, before: Sequence[Tensor]) -> tuple[Tensor, ...]:
    made = (made,) if isinstance(made, Tensor) else tuple(made)
    shapes = [(tuple(t.shape), t.dtype) for t in made]
    wanted = [(tuple(t.shape), t.dtype) for t in before]
    if shapes != wanted:
        raise RuntimeError(f"hw.while_loop: the body returns {shapes}, the carried values are {wanted}; they must stay alike")
    return made


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """`carry, y = combine_fn(carry, x)` for each slice x of `xs` along `dim`; returns the last carry and the stacked ys.

    Gradients flow through it. Inside a compiled function the turns are written out one after the other.

    >>> hw.scan(lambda c, x: (c + x, c * 2), hw.tensor(0.), hw.tensor([1., 2., 3.]))
    (tensor(6.), tensor([0., 2., 6.]))
    """
    slices = [leaf.unbind(dim) for leaf in _leaves(xs)]
    if not slices:
        raise ValueError("hw.scan: xs holds no tensor")
    length = len(slices[0])
    if any(len(s) != length for s in slices) or length == 0:
        raise ValueError(f"hw.scan: the tensors of xs have {[len(s) for s in slices]} slices along axis {dim}; they must agree")
    carry, made = init, []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = combine_fn(carry, _with_leaves(xs, [s[i] for s in slices]))
        made.append(y)
    if reverse:
        made.reverse()
    rows = [_leaves(y) for y in made]
    return carry, _with_leaves(made[0], [hw.stack([row[k] for row in rows], dim) for k in range(len(rows[0]))])
