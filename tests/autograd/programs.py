"""Random programs of views, in-place writes and arithmetic: drawn while torch runs them, then replayed by Headwater."""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

SHAPES = ((), (3,), (2, 3), (3, 2), (2, 2, 3), (1, 3), (4,))
UNARY = ("sin", "cos", "tanh", "sigmoid", "square", "neg", "clone", "exp")
BINARY = ("add", "sub", "mul", "maximum")
UNARY_INPLACE = ("sin_", "tanh_", "neg_", "zero_", "sigmoid_", "square_")
BINARY_INPLACE = ("add_", "mul_", "sub_", "copy_")


@dataclass
class Step:
    """out = name(*operands, *args): operands are numbers of values. `fails`: torch raised, so the value list did not grow."""

    name: str
    operands: tuple[int, ...]
    args: tuple[Any, ...] = ()
    quiet: bool = False  # under no_grad
    fails: bool = False


@dataclass
class Program:
    seed: int
    leaves: list[np.ndarray] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    mask: np.ndarray | None = None

    def __str__(self) -> str:
        lines = [f"v{i} = leaf {list(x.shape)}" for i, x in enumerate(self.leaves)]
        lines += [f"{s.name}{s.operands}{s.args}{' no_grad' if s.quiet else ''}{' -> error' if s.fails else ''}" for s in self.steps]
        return f"program {self.seed}\n  " + "\n  ".join(lines)


def apply(m: Any, step: Step, values: list[Any]) -> None:
    """Runs one step on the library m; a new value is appended."""
    x, *others = (values[i] for i in step.operands)
    with m.no_grad() if step.quiet else contextlib.nullcontext():
        if step.name == "get":
            values.append(x[step.args])
        elif step.name == "set":
            x[step.args] = others[0]
        elif step.name == "set_mask":
            x[x > 0.3] = 0.25
        elif step.name == "masked":
            values.append(x.masked_fill(x > 0.2, 0.5))
        elif step.name == "pick":
            values.append(x.index_select(0, m.tensor([0, 0])))
        elif step.name.endswith("_"):
            getattr(x, step.name)(*others, *step.args)
        elif step.name == "detach":
            values.append(x.detach())
        else:
            values.append(getattr(x, step.name)(*others, *step.args))


class Drawing:
    """Draws steps for the values that there are."""

    def __init__(self, seed: int):
        self.r, self.program = random.Random(seed), Program(seed)
        rng = np.random.default_rng(seed)
        self.program.leaves = [rng.uniform(-0.9, 0.9, self.r.choice(SHAPES[1:])) for _ in range(3)]
        self.values = [torch.tensor(x, requires_grad=True) for x in self.program.leaves]

    def view(self, i: int) -> Step:
        r, x = self.r, self.values[i]
        n, shape = x.ndim, tuple(x.shape)
        # Not reshape, flatten, contiguous: whether they share memory depends on strides, which are not torch's in all results.
        kinds = ["unsqueeze", "expand", "detach"]
        if n:
            kinds += ["select", "narrow", "slice", "get", "transpose", "squeeze", "movedim"] * 2
        if n >= 2:
            kinds += ["transpose", "diagonal", "permute", "t_like"]
        kind = r.choice(kinds)
        axis = r.randrange(n) if n else 0
        if kind == "unsqueeze":
            return Step("unsqueeze", (i,), (r.randrange(n + 1),))
        if kind == "expand":
            return Step("expand", (i,), (2, *shape))
        if kind == "select":
            return Step("select", (i,), (axis, r.randrange(max(shape[axis], 1))))
        if kind == "narrow":
            start = r.randrange(shape[axis] + 1)
            return Step("narrow", (i,), (axis, start, r.randint(0, shape[axis] - start)))
        if kind == "slice":
            return Step("get", (i,), (slice(r.choice((None, 0, 1)), None, r.choice((None, 2))),))
        if kind == "get":
            return Step("get", (i,), (Ellipsis, r.choice((slice(None, -1), None, slice(1, None)))))
        if kind in ("transpose", "movedim"):
            return Step(kind, (i,), (axis, r.randrange(n)))
        if kind == "permute":
            return Step("permute", (i,), tuple(r.sample(range(n), n)))
        if kind == "t_like":
            return Step("transpose", (i,), (-1, -2))
        return Step(kind, (i,))

    def value(self, i: int) -> Step:
        r = self.r
        kind = r.random()
        if kind < 0.45:
            return Step(r.choice(UNARY), (i,))
        if kind < 0.85:
            return Step(r.choice(BINARY), (i, self.other(i)))
        if kind < 0.9:
            return Step("sum", (i,), (0,) if self.values[i].ndim else ())
        if kind < 0.97:
            return Step(r.choice(("masked", "cumsum", "pick") if self.values[i].ndim else ("masked",)), (i,))
        return Step("mean", (i,))

    def inplace(self, i: int) -> Step:
        r, kind = self.r, self.r.random()
        n = self.values[i].ndim
        if kind < 0.3:
            step = Step(r.choice(UNARY_INPLACE), (i,))
        elif kind < 0.65:
            step = Step(r.choice(BINARY_INPLACE), (i, self.other(i)))
        elif kind < 0.75:
            step = Step(r.choice(("mul_", "add_", "fill_")), (i,), (0.7,))
        elif kind < 0.8 and n:
            step = Step("set_mask", (i,))
        elif n:
            index = (slice(r.choice((0, 1)), None),) if r.random() < 0.6 else (Ellipsis, r.choice((0, slice(None, None, 2))))
            step = Step("set", (i, self.other(i)), index)
        else:
            step = Step("tanh_", (i,))
        step.quiet = r.random() < 0.06
        return step

    def other(self, i: int) -> int:
        """A value that broadcasts to value i, if chance finds one."""
        for _ in range(6):
            j = self.r.randrange(len(self.values))
            with contextlib.suppress(RuntimeError):
                if torch.broadcast_shapes(self.values[j].shape, self.values[i].shape) == self.values[i].shape:
                    return j
        return i

    def draw(self, steps: int) -> Program:
        for _ in range(steps):
            i = self.r.randrange(len(self.values)) if self.r.random() < 0.5 else len(self.values) - 1
            kind = self.r.random()
            if kind < 0.35:
                step = self.view(i)
            elif kind < 0.65:
                step = self.value(i)
            else:
                if i < 3 and self.r.random() < 0.8:  # a leaf: an error, mostly
                    continue
                step = self.inplace(i)
            if step.name == "cumsum":
                step.args = (0,)
            try:
                apply(torch, step, self.values)
            except (RuntimeError, IndexError):
                step.fails = True
            self.program.steps.append(step)
        return self.program


def loss_of(values: list[Any]) -> Any:
    total = None
    for k, x in enumerate(values):
        if x.requires_grad and x.numel():
            term = (x * (0.3 + 0.1 * (k % 7))).sum()
            total = term if total is None else total + term
    return total


def gradients(m: Any, values: list[Any], leaves: int) -> list[Any]:
    """Values, first gradients, and gradients of a function of those; None where there is none."""
    results = [x.detach().numpy().copy() for x in values]
    loss = loss_of(values[leaves:])
    if loss is None:
        return results
    first = m.autograd.grad(loss, values[:leaves], create_graph=True, allow_unused=True)
    results += [None if g is None else g.detach().numpy().copy() for g in first]
    again = None
    for g in first:
        if g is not None and g.requires_grad:
            term = (g * g * 0.5).sum() + g.sin().sum()
            again = term if again is None else again + term
    if again is not None:
        second = m.autograd.grad(again, values[:leaves], allow_unused=True)
        results += [None if g is None else g.detach().numpy().copy() for g in second]
    return results
