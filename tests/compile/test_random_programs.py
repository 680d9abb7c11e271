"""Random programs of 5 to 60 operations: compiled and eager runs give the same values, gradients and state."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from same import array, assert_same, frozen

import headwater as hw
from headwater.nn import functional as F

TOLERANCE = 1e-5  # of the largest value; sums may run in another order once operators are fused
Step = Callable[[list], hw.Tensor]


class Writer:
    """Writes a program as a list of functions of the values so far. Values are (rows, columns) matrices of floats."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.shapes: list[tuple[int, int]] = []
        self.steps: list[tuple[str, Callable]] = []
        self.states = 0

    def pick(self, shape: tuple[int, int] | None = None) -> int:
        fitting = [i for i, s in enumerate(self.shapes) if shape is None or s == shape]
        return self.dice.choice(fitting[-6:] if self.dice.random() < 0.7 else fitting)

    def add(self, text: str, shape: tuple[int, int], run: Callable) -> None:
        self.steps.append((text, run))
        self.shapes.append(shape)

    def write(self) -> None:
        kinds = [self.unary, self.unary, self.binary, self.binary, self.broadcast, self.reduce, self.matmul, self.view, self.view,
                 self.indexing, self.cat, self.where, self.softmax, self.norm, self.dropout, self.in_place, self.in_place,
                 self.write_view, self.write_view, self.state]  # fmt: skip
        self.dice.choice(kinds)()

    def unary(self) -> None:
        a = self.pick()
        name = self.dice.choice(["tanh", "sigmoid", "relu", "sin", "neg", "square", "exp", "abs", "gelu", "clone"])
        if name == "gelu":
            self.add(f"gelu v{a}", self.shapes[a], lambda v: F.gelu(v[a]))
        elif name == "exp":
            self.add(f"exp v{a}", self.shapes[a], lambda v: v[a].clamp(-3, 1).exp())
        elif name == "square":
            self.add(f"square v{a}", self.shapes[a], lambda v: v[a].tanh().square())
        else:
            self.add(f"{name} v{a}", self.shapes[a], lambda v: getattr(v[a], name)())

    def binary(self) -> None:
        a = self.pick()
        b, op = self.pick(self.shapes[a]), self.dice.choice(["+", "-", "*", "max", "lerp", "/"])
        runs = {
            "+": lambda v: v[a] + v[b], "-": lambda v: v[a] - v[b] * 0.5, "*": lambda v: v[a].tanh() * v[b],
            "max": lambda v: hw.maximum(v[a], v[b]), "lerp": lambda v: v[a].lerp(v[b], 0.3),
            "/": lambda v: v[a] / (v[b].abs() + 1),
        }  # fmt: skip
        self.add(f"v{a} {op} v{b}", self.shapes[a], runs[op])

    def broadcast(self) -> None:
        a = self.pick()
        rows, columns = self.shapes[a]
        if self.dice.random() < 0.5:
            self.add(f"v{a} + its row", (rows, columns), lambda v: v[a] + v[a][0])
        else:
            self.add(f"v{a} * its column", (rows, columns), lambda v: v[a] * v[a][:, :1].tanh())

    def reduce(self) -> None:
        a, axis = self.pick(), self.dice.choice([0, 1])
        shape = (1, self.shapes[a][1]) if axis == 0 else (self.shapes[a][0], 1)
        name = self.dice.choice(["mean", "sum", "amax", "logsumexp", "var"])
        if name == "var" and self.shapes[a][axis] < 2:
            name = "mean"
        self.add(f"{name} v{a} {axis}", shape, lambda v: getattr(v[a], name)(axis, keepdim=True) * 0.5)

    def matmul(self) -> None:
        a, b = self.pick(), self.pick()
        if self.shapes[a][1] != self.shapes[b][0]:
            self.add(f"v{a} @ v{a}.t", (self.shapes[a][0],) * 2, lambda v: v[a] @ v[a].t() * 0.2)
        else:
            self.add(f"v{a} @ v{b}", (self.shapes[a][0], self.shapes[b][1]), lambda v: v[a] @ v[b] * 0.2)

    def view(self) -> None:
        a = self.pick()
        rows, columns = self.shapes[a]
        name = self.dice.choice(["t", "rows", "step", "reshape", "chunk", "expand"])
        if name == "t":
            self.add(f"v{a}.t", (columns, rows), lambda v: v[a].t())
        elif name == "rows" and rows > 1:
            self.add(f"v{a}[1:]", (rows - 1, columns), lambda v: v[a][1:])
        elif name == "step":
            self.add(f"v{a}[:, ::2]", (rows, (columns + 1) // 2), lambda v: v[a][:, ::2])
        elif name == "chunk" and columns % 2 == 0:
            self.add(f"v{a}.chunk", (rows, columns // 2), lambda v: v[a].chunk(2, 1)[1])
        elif name == "expand" and rows == 1:
            self.add(f"v{a}.expand", (3, columns), lambda v: v[a].expand(3, columns))
        else:
            self.add(f"v{a}.reshape", (columns, rows), lambda v: v[a].reshape(columns, rows))

    def indexing(self) -> None:
        a = self.pick()
        rows, columns = self.shapes[a]
        index = [self.dice.randrange(rows) for _ in range(self.dice.randint(1, 4))]
        self.add(f"v{a}[{index}]", (len(index), columns), lambda v: v[a].index_select(0, hw.tensor(index)))

    def cat(self) -> None:
        a = self.pick()
        rows, columns = self.shapes[a]
        others = [i for i, s in enumerate(self.shapes) if s[1] == columns and s[0] + rows <= 12]
        if not others:
            return self.unary()
        b = self.dice.choice(others)
        self.add(f"cat v{a} v{b}", (rows + self.shapes[b][0], columns), lambda v: hw.cat([v[a], v[b]]))

    def where(self) -> None:
        a = self.pick()
        b = self.pick(self.shapes[a])
        self.add(f"where v{a} v{b}", self.shapes[a], lambda v: hw.where(v[a] > 0, v[b], v[a] * 0.1))

    def softmax(self) -> None:
        a, axis = self.pick(), self.dice.choice([0, 1])
        self.add(f"softmax v{a}", self.shapes[a], lambda v: v[a].softmax(axis) if axis else v[a].log_softmax(axis) * 0.1)

    def norm(self) -> None:
        a = self.pick()
        columns = self.shapes[a][1]
        if columns < 2:
            return self.unary()
        self.add(f"norm v{a}", self.shapes[a], lambda v: F.layer_norm(v[a], (columns,), eps=0.1))

    def dropout(self) -> None:
        a = self.pick()
        self.add(f"dropout v{a}", self.shapes[a], lambda v: F.dropout(v[a], 0.3) + hw.rand_like(v[a]))

    def in_place(self) -> None:
        """On a fresh value, so that the tape stays whole."""
        a = self.pick()
        b, op = self.pick(self.shapes[a]), self.dice.choice(["add_", "mul_", "relu_", "sub_"])

        def run(v: list) -> hw.Tensor:
            x = v[a] * 1.5
            return x.relu_() if op == "relu_" else getattr(x, op)(v[b].tanh())

        self.add(f"(v{a} * 1.5).{op} v{b}", self.shapes[a], run)

    def write_view(self) -> None:
        a = self.pick()
        rows, columns = self.shapes[a]
        kind = self.dice.choice(["row", "column", "shift", "t", "fill", "step"])

        def run(v: list) -> hw.Tensor:
            x = v[a] + 0.25
            if kind == "row":
                x[0].mul_(0.5)
            elif kind == "column":
                x[:, -1] = v[a][:, 0].sin()
            elif kind == "shift":
                x[1:] = x[:-1].clone() if x.requires_grad else x[:-1]
            elif kind == "t":
                x.t()[0].add_(1)
            elif kind == "step":
                x.reshape(-1)[::2].add_(v[a].reshape(-1)[::2])
            else:
                x[rows // 2 :, : columns // 2 + 1] = 0.5
            return x

        self.add(f"write {kind} v{a}", (rows, columns), run)

    def state(self) -> None:
        a, number = self.pick(), self.states % 2
        self.states += 1

        def run(v: list) -> hw.Tensor:
            buffer = v[-1][number]  # states come last
            with hw.no_grad():
                buffer.mul_(0.9).add_(v[a].detach().mean(), alpha=0.1)
                buffer[1:].add_(v[a].detach()[0, 0].tanh())
            return v[a] + buffer.sum() * 0.1

        self.add(f"state {number} v{a}", self.shapes[a], run)


def make_program(seed: int) -> tuple[Callable, Callable, str]:
    """(function of two inputs, a maker of fresh parameters and states, text)."""
    writer = Writer(seed)
    dice = writer.dice
    shapes = [(dice.randint(1, 5), dice.randint(1, 5)) for _ in range(4)]  # two inputs, two parameters
    writer.shapes += shapes
    for _ in range(dice.randint(5, 60)):
        writer.write()
    kept = [dice.randrange(len(writer.shapes)) for _ in range(2)] + [len(writer.shapes) - 1]
    inside = dice.random() < 0.5  # backward inside of the function, or outside
    text = "\n".join([f"inputs {shapes}"] + [f"v{i + 4} = {t}" for i, (t, _) in enumerate(writer.steps)])

    def fresh() -> tuple[list[hw.Tensor], list[hw.Tensor], list[hw.Tensor]]:
        rng = np.random.default_rng(seed)
        made = [hw.tensor(rng.standard_normal(s), dtype=hw.float32) for s in shapes]
        return made[:2], [t.requires_grad_() for t in made[2:]], [hw.ones(3), hw.ones(3)]

    def program(inputs: list, parameters: list, states: list) -> Callable:
        def run(x: hw.Tensor, y: hw.Tensor) -> tuple:
            values = [x, y, *parameters, states]
            for _, step in writer.steps:
                values.insert(-1, step(values))
            outputs = [values[i] for i in kept]
            total = sum(v.mean() for v in values[2:-1])
            if inside:
                if not total.requires_grad:
                    return (*[o.detach() for o in outputs], total)
                total.backward()
                with hw.no_grad():
                    for p in parameters:
                        if p.grad is not None:
                            p.sub_(p.grad, alpha=0.1)
                return (*[o.detach().clone() for o in outputs], total.detach())
            return (*outputs, total)

        return run

    return program, fresh, text


def outcome(seed: int, compiled: bool, calls: int = 3) -> tuple[list, str]:
    program, fresh, text = make_program(seed)
    inputs, parameters, states = fresh()
    hw.manual_seed(seed)
    run = program(inputs, parameters, states)
    run = hw.compile(run) if compiled else run
    found = []
    for i in range(calls):
        x, y = ((t * (1 + i)).requires_grad_(seed % 3 == 0) for t in inputs)
        results = run(x, y)
        if results[-1].requires_grad:
            results[-1].backward()
        found.append([[array(r) for r in results], frozen([x, y]), frozen(parameters), frozen(states)])
        for p in parameters:
            p.grad = None if i % 2 else p.grad
    return found, text


def check(seed: int) -> None:
    want, text = outcome(seed, compiled=False)
    got, _ = outcome(seed, compiled=True)
    try:
        assert_same(got, want, tolerance=TOLERANCE)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}:\n{text}\n{error}") from None


@pytest.mark.parametrize("first", range(0, 150, 10))
def test_random_programs(first):
    for seed in range(first, first + 10):
        check(seed)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_more_random_programs(first):
    for seed in range(first, first + 100):
        check(seed)
