"""Writes random programs of matrices, each a list of functions; the seed decides everything."""

from __future__ import annotations

import random
from collections.abc import Callable

import headwater as hw
from headwater.nn import functional as F


class Writer:
    """Writes a program as a list of functions of the values so far. Values are (rows, columns) matrices of floats."""

    def __init__(self, seed: int, any_rows: bool = False) -> None:
        """`any_rows`: all values have the same rows and columns, and no operation depends on how many rows there are."""
        self.dice = random.Random(seed)
        self.any_rows = any_rows
        self.shapes: list[tuple[int, int]] = []
        self.steps: list[tuple[str, Callable]] = []
        self.states = 0

    def pick(self, shape: tuple[int, int] | None = None) -> int:
        fitting = [i for i, s in enumerate(self.shapes) if s == shape or (shape is None and s != (0, 0))]
        return self.dice.choice(fitting[-6:] if self.dice.random() < 0.7 else fitting)

    def add(self, text: str, shape: tuple[int, int], run: Callable) -> None:
        self.steps.append((text, run))
        self.shapes.append(shape)

    def write(self) -> None:
        kinds = [self.unary, self.unary, self.binary, self.binary, self.broadcast, self.reduce, self.matmul, self.view, self.view,
                 self.indexing, self.cat, self.where, self.softmax, self.norm, self.dropout, self.in_place, self.in_place,
                 self.write_view, self.write_view, self.state, self.convolution, self.pool, self.attention, self.batch_norm,
                 self.look_up, self.scatter, self.order, self.dtypes, self.integers, self.draw, self.branch, self.loop,
                 self.scan]  # fmt: skip
        if self.any_rows:
            kinds = [self.unary, self.binary, self.binary, self.broadcast, self.where, self.norm, self.dropout, self.in_place,
                     self.batch_norm, self.dtypes, self.draw, self.row_matmul, self.row_softmax, self.branch, self.mix]  # fmt: skip
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
        self.add(f"softmax v{a} {axis}", self.shapes[a], lambda v: v[a].softmax(axis) if axis else v[a].log_softmax(axis) * 0.1)

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

    # ------------------------------------------------------------------ for any number of rows
    def row_matmul(self) -> None:
        a, b = self.pick(), self.dice.choice([2, 3])  # the parameters are square
        self.add(f"v{a} @ v{b}", self.shapes[a], lambda v: v[a] @ v[b] * 0.3)

    def row_softmax(self) -> None:
        a = self.pick()
        self.add(f"softmax v{a} 1", self.shapes[a], lambda v: v[a].softmax(1))

    def mix(self) -> None:
        a = self.pick()
        self.add(f"rows of v{a} mixed", self.shapes[a], lambda v: (v[a] @ v[a].t()).softmax(-1) @ v[a])

    # ------------------------------------------------------------------ layers
    def convolution(self) -> None:
        a, b = self.pick(), self.pick()
        size = self.dice.choice([1, 3])

        def run(v: list) -> hw.Tensor:
            weight = v[b].tanh().mean().reshape(1, 1, 1, 1).expand(1, 1, size, size) * 0.4
            return F.conv2d(v[a][None, None], weight, v[a][0, :1], padding=size // 2)[0, 0]

        self.add(f"conv{size} v{a} by v{b}", self.shapes[a], run)

    def pool(self) -> None:
        a = self.pick()
        self.add(f"max_pool v{a}", self.shapes[a], lambda v: F.max_pool2d(v[a][None, None], 3, stride=1, padding=1)[0, 0])

    def attention(self) -> None:
        a = self.pick()
        b = self.pick(self.shapes[a])
        causal = self.dice.random() < 0.5

        def run(v: list) -> hw.Tensor:
            q, k = v[a][None, None], v[b][None, None]
            return F.scaled_dot_product_attention(q, k, q * 0.5, is_causal=causal)[0, 0]

        self.add(f"attention v{a} v{b}", self.shapes[a], run)

    def batch_norm(self) -> None:
        a = self.pick()
        if self.shapes[a][0] < 2:
            return self.unary()

        def run(v: list) -> hw.Tensor:
            columns = v[a].shape[1]
            mean, var = v[-1][0][:1].expand(columns).clone(), v[-1][1][:1].abs().expand(columns).clone()
            y = F.batch_norm(v[a], mean, var, training=True, eps=0.1)
            return y + mean * 0.1

        self.add(f"batch_norm v{a}", self.shapes[a], run)

    # ------------------------------------------------------------------ positions
    def look_up(self) -> None:
        a = self.pick()
        rows, columns = self.shapes[a]
        index = [self.dice.randrange(rows) for _ in range(self.dice.randint(1, 5))]
        kind = self.dice.choice(["embedding", "take_along", "advanced"])
        if kind == "embedding":
            return self.add(f"embedding {index} v{a}", (len(index), columns), lambda v: F.embedding(hw.tensor(index), v[a]))
        if kind == "advanced":
            return self.add(f"v{a}[{index}]", (len(index), columns), lambda v: v[a][hw.tensor(index)])
        picks = [[self.dice.randrange(columns)] for _ in range(rows)]
        self.add(f"gather v{a} {picks}", (rows, 1), lambda v: v[a].gather(1, hw.tensor(picks)))

    def scatter(self) -> None:
        a = self.pick()
        rows, columns = self.shapes[a]
        index = [self.dice.randrange(rows) for _ in range(rows)]
        kind = self.dice.choice(["index_add", "scatter_add", "put"])

        def run(v: list) -> hw.Tensor:
            to = hw.tensor(index)
            if kind == "index_add":
                return v[a].index_add(0, to, v[a] * 0.5)
            if kind == "scatter_add":
                return hw.zeros(rows, columns).scatter_add(0, to[:, None].expand(rows, columns), v[a])
            x = v[a] * 1.0
            x[to] = v[a].sin()[:1]
            return x

        self.add(f"{kind} v{a} {index}", (rows, columns), run)

    def order(self) -> None:
        a, axis = self.pick(), self.dice.choice([0, 1])
        kind = self.dice.choice(["sort", "cumsum", "flip", "roll", "argmax"])

        def run(v: list) -> hw.Tensor:
            if kind == "sort":
                return v[a].sort(axis)[0]
            if kind == "cumsum":
                return v[a].cumsum(axis) * 0.3
            if kind == "flip":
                return v[a].flip(axis)
            if kind == "roll":
                return v[a].roll(1, axis)
            return v[a] * v[a].argmax(axis, keepdim=True).float()

        self.add(f"{kind} v{a} {axis}", self.shapes[a], run)

    # ------------------------------------------------------------------ dtypes
    def dtypes(self) -> None:
        a = self.pick()
        dtype = self.dice.choice([hw.bfloat16, hw.float16, hw.float64])
        kind = self.dice.choice(["mul", "sum", "mixed"])

        def run(v: list) -> hw.Tensor:
            x = v[a].tanh().to(dtype)
            if kind == "mul":
                x = x * x + 0.5
            elif kind == "sum":
                x = x - x.mean(1, keepdim=True)
            else:
                return (x + v[a]).float()  # promoted
            return x.float()

        self.add(f"{kind} v{a} as {dtype}", self.shapes[a], run)

    def integers(self) -> None:
        a = self.pick()

        def run(v: list) -> hw.Tensor:
            signs = (v[a] > 0).to(hw.int64)
            return v[a] * (signs.cumsum(1) % 3 - 1) + (signs.sum() // 2)

        self.add(f"signs of v{a}", self.shapes[a], run)

    def draw(self) -> None:
        a = self.pick()
        kind = self.dice.choice(["randn", "bernoulli", "alpha", "rand"])

        def run(v: list) -> hw.Tensor:
            if kind == "randn":
                return v[a] + hw.randn_like(v[a]) * 0.1
            if kind == "bernoulli":
                return v[a] * hw.bernoulli(v[a].detach().sigmoid())
            if kind == "alpha":
                return F.alpha_dropout(v[a], 0.2, training=True)
            return v[a] * hw.rand(v[a].shape[1])

        self.add(f"{kind} v{a}", self.shapes[a], run)

    # ------------------------------------------------------------------ control flow
    def branch(self) -> None:
        a = self.pick()
        b = self.pick(self.shapes[a])

        def run(v: list) -> hw.Tensor:
            x, y = v[a], v[b]
            return hw.cond(x.sum() > y.sum(), lambda p, q: p.tanh() + q, lambda p, q: p * 0.5 - q.sin().mean(), (x, y))

        self.add(f"cond v{a} v{b}", self.shapes[a], run)

    def loop(self) -> None:
        a = self.pick()

        def run(v: list) -> hw.Tensor:
            x = v[a].detach().tanh()  # it has no gradient
            y, turns = hw.while_loop(lambda y, n: (n < 4) & (y.abs().sum() < 6), lambda y, n: (y * 1.5 + 0.1, n + 1), (x, hw.zeros(())))
            return v[a] * 0.5 + y * turns * 0.1

        self.add(f"while v{a}", self.shapes[a], run)

    def scan(self) -> None:
        a = self.pick()

        def run(v: list) -> hw.Tensor:
            def turn(carry: hw.Tensor, x: hw.Tensor) -> tuple:
                carry = (carry * 0.5 + x).tanh()
                return carry, carry * 2

            last, all_ = hw.scan(turn, v[a][0] * 0, v[a])
            return all_ + last

        self.add(f"scan v{a}", self.shapes[a], run)
