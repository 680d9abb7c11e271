"""RNN, GRU, LSTM: the common forms through hw.lstm and hw.gru, all others step by step."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import headwater as hw

from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..symbolic import fixed_sizes

_PLAIN: dict[str, Callable[..., Any]] = {
    "relu": hw.relu, "tanh": hw.tanh, "sigmoid": hw.sigmoid, "softsign": hw.softsign, "softplus": hw.softplus,
}  # fmt: skip


def activation(name: str, alpha: float | None, beta: float | None) -> Callable[[Any], Any]:
    """The function of an activation's name."""
    name = name.lower()
    if name in _PLAIN:
        return _PLAIN[name]
    with_numbers: dict[str, Callable[[Any, float, float], Any]] = {
        "affine": lambda x, a, b: x * a + b,
        "leakyrelu": lambda x, a, b: hw.leaky_relu(x, a),
        "thresholdedrelu": lambda x, a, b: hw.threshold(x, a, 0.0),
        "scaledtanh": lambda x, a, b: hw.tanh(x * b) * a,
        "hardsigmoid": lambda x, a, b: hw.clamp(x * a + b, 0.0, 1.0),
        "elu": lambda x, a, b: hw.elu(x, a),
        "clip": lambda x, a, b: hw.clamp(x, a, b),
    }
    defaults = {"leakyrelu": (0.01, 0.0), "hardsigmoid": (0.2, 0.5)}
    if name not in with_numbers:
        raise OnnxError(f"there is no activation '{name}'")
    first, second = defaults.get(name, (1.0, 1.0 if name == "scaledtanh" else 0.0))
    a, b = first if alpha is None else alpha, second if beta is None else beta
    return lambda x: with_numbers[name](x, a, b)


class _Layer:
    """What RNN, GRU and LSTM have in common: attributes, and sequences in the order that the steps want."""

    def __init__(self, node: Node, x: Any, hidden: int, lengths: Any, defaults: list[str]) -> None:
        self.node, self.hidden = node, hidden
        self.directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[node.attr("direction", "forward")]
        self.batch_first = bool(node.attr("layout", 0))
        self.x = x.transpose(0, 1) if self.batch_first else x  # [time, batch, input]
        self.lengths = lengths
        self.clip = node.attr("clip", 0.0)
        names = node.attr("activations", defaults * len(self.directions))
        alphas, betas = list(node.attr("activation_alpha", [])), list(node.attr("activation_beta", []))
        made = []
        for name in names:
            takes = name.lower() not in _PLAIN
            two = name.lower() in ("affine", "scaledtanh", "hardsigmoid", "clip")
            made.append(activation(name, alphas.pop(0) if takes and alphas else None, betas.pop(0) if two and betas else None))
        self.activations = [made[i : i + len(defaults)] for i in range(0, len(made), len(defaults))]
        self.plain = [n.lower() for n in names] == [d.lower() for d in defaults] * len(self.directions) and not self.clip

    def first(self, given: Any, direction: int) -> Any:
        if given is None:
            return hw.zeros([self.x.shape[1], self.hidden], dtype=self.x.dtype)
        return given[:, direction] if self.batch_first else given[direction]

    def clipped(self, value: Any) -> Any:
        return hw.clamp(value, -self.clip, self.clip) if self.clip else value

    def steps(self, direction: int, state: tuple[Any, ...], step: Callable[..., tuple[Any, ...]]) -> tuple[Any, tuple[Any, ...]]:
        """Runs `step(x, *state) -> state` along time; [time, batch, hidden], and the last state."""
        fixed_sizes(self.x)
        backwards, made = self.directions[direction], []
        order = range(self.x.shape[0])
        for t in reversed(order) if backwards else order:
            new = step(self.x[t], *state)
            output = new[0]
            if self.lengths is not None:
                alive = (self.lengths > t).unsqueeze(1)
                output = hw.where(alive, output, hw.zeros_like(output))
                new = tuple(hw.where(alive, n, s) for n, s in zip(new, state))
            state = new
            made.append(output)
        if backwards:
            made.reverse()
        return hw.stack(made), tuple(self.ended(s) for s in state)

    def ended(self, state: Any) -> Any:
        """The last state: zeros for sequences without a step, as ONNX Runtime has it."""
        return state if self.lengths is None else hw.where((self.lengths > 0).unsqueeze(1), state, hw.zeros_like(state))

    def result(self, outputs: list[Any], states: list[tuple[Any, ...]]) -> tuple[Any, ...]:
        y = hw.stack(outputs, 1)  # [time, direction, batch, hidden]
        last = [hw.stack([s[k] for s in states]) for k in range(len(states[0]))]
        if self.batch_first:
            return (y.permute(2, 0, 1, 3), *(s.transpose(0, 1) for s in last))
        return (y, *last)


def _parts(value: Any, count: int) -> list[Any]:
    return list(value.chunk(count, 0))


def _reordered(value: Any, order: list[int]) -> Any:
    parts = value.chunk(len(order), 0)
    return hw.cat([parts[i] for i in order])


def _params(w: Any, r: Any, b: Any, order: list[int], directions: int) -> list[Any]:
    """Weights in the order of hw.lstm and hw.gru."""
    made = []
    for d in range(directions):
        made += [_reordered(w[d], order), _reordered(r[d], order)]
        if b is not None:
            made += [_reordered(part, order) for part in b[d].chunk(2, 0)]
    return made


def _fused(layer: _Layer, made: tuple[Any, ...]) -> tuple[Any, ...]:
    y, *states = made
    time, batch = y.shape[:2]
    y = y.reshape(time, batch, len(layer.directions), layer.hidden).transpose(1, 2)
    if layer.batch_first:
        return (y.permute(2, 0, 1, 3), *(s.transpose(0, 1) for s in states))
    return (y, *states)


def _backwards(x: Any, lengths: Any) -> Any:
    """The first `lengths` steps of each sequence in the other order."""
    if lengths is None:
        return x.flip([0])
    steps, lengths = hw.arange(x.shape[0]).reshape([-1, 1]), lengths.to(hw.int64).reshape([1, -1])
    index = hw.where(steps < lengths, lengths - 1 - steps, steps)
    return hw.gather(x, 0, index.unsqueeze(2).expand(x.shape))


def _at_once(layer: _Layer, params: list[Any], first: list[Any], run: Callable[..., Any]) -> tuple[Any, ...]:
    """All steps by one operator: `run(x, first, params, both_directions)` gives outputs and last states. Shorter sequences of the batch
    run on over their padding, whose outputs are then taken away; of their last states, only the outputs are known."""
    lengths, outputs, states = layer.lengths, [], []
    if lengths is None and layer.directions != [True]:
        return _fused(layer, run(layer.x, first, params, len(layer.directions) == 2))
    each = len(params) // len(layer.directions)
    for d, backwards in enumerate(layer.directions):
        x = _backwards(layer.x, lengths) if backwards else layer.x
        y, *last = run(x, [f[d : d + 1] for f in first], params[d * each : (d + 1) * each], False)
        last = [state[0] for state in last]
        if lengths is not None:
            ends = lengths.to(hw.int64).reshape([1, -1, 1])
            end = hw.clamp_min(ends - 1, 0).expand([1, *y.shape[1:]])
            last[0] = layer.ended(hw.gather(y, 0, end)[0])
            y = hw.where(hw.arange(y.shape[0]).reshape([-1, 1, 1]) < ends, y, hw.zeros_like(y))
        outputs.append(_backwards(y, lengths) if backwards else y)
        states.append(tuple(last))
    return layer.result(outputs, states)


def _initial(layer: _Layer, given: Any) -> Any:
    return hw.stack([layer.first(given, d) for d in range(len(layer.directions))])


@op("LSTM")
def lstm(
    node: Node, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h0: Any = None, c0: Any = None, p: Any = None,
    hidden_seen: Callable[[Any], Any] | None = None,
) -> Any:  # fmt: skip
    """`hidden_seen`: what becomes of a hidden state before it meets the weights."""
    layer = _Layer(node, x, r.shape[-1], lengths, ["Sigmoid", "Tanh", "Tanh"])
    count = len(layer.directions)
    seen = hidden_seen or (lambda hidden: hidden)
    needs_cells = lengths is not None and node.wants(2)  # the last ones of shorter sequences, which hw.lstm does not give
    if layer.plain and p is None and hidden_seen is None and not node.attr("input_forget", 0) and not needs_cells:
        params = _params(w, r, b, [0, 2, 3, 1], count)

        def run(x: Any, first: list[Any], params: list[Any], both: bool) -> Any:
            return hw.lstm(x, (first[0], first[1]), params, b is not None, 1, 0.0, False, both, False)

        return _at_once(layer, params, [_initial(layer, h0), _initial(layer, c0)], run)
    outputs, states = [], []
    for d in range(count):
        f, g, h = layer.activations[d]
        bias = 0 if b is None else b[d][: 4 * layer.hidden] + b[d][4 * layer.hidden :]
        peep = _parts(p[d], 3) if p is not None else [0, 0, 0]

        def step(x: Any, hidden: Any, cell: Any, d: int = d, bias: Any = bias, peep: Any = peep, f: Any = f, g: Any = g,
                 h: Any = h) -> tuple[Any, ...]:  # fmt: skip
            i, o, forget, c = (hw.matmul(x, w[d].t()) + hw.matmul(seen(hidden), r[d].t()) + bias).chunk(4, 1)
            i = f(layer.clipped(i + peep[0] * cell))
            forget = 1 - i if node.attr("input_forget", 0) else f(layer.clipped(forget + peep[2] * cell))
            cell = forget * cell + i * g(layer.clipped(c))
            return f(layer.clipped(o + peep[1] * cell)) * h(cell), cell

        y, state = layer.steps(d, (layer.first(h0, d), layer.first(c0, d)), step)
        outputs.append(y)
        states.append(state)
    return layer.result(outputs, states)


@op("GRU")
def gru(node: Node, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h0: Any = None) -> Any:
    layer = _Layer(node, x, r.shape[-1], lengths, ["Sigmoid", "Tanh"])
    count, after = len(layer.directions), node.attr("linear_before_reset", 0)
    if layer.plain and after:
        params = _params(w, r, b, [1, 0, 2], count)

        def run(x: Any, first: list[Any], params: list[Any], both: bool) -> Any:
            return hw.gru(x, first[0], params, b is not None, 1, 0.0, False, both, False)

        return _at_once(layer, params, [_initial(layer, h0)], run)
    outputs, states = [], []
    for d in range(count):
        f, g = layer.activations[d]
        wb, rb = b[d].chunk(2, 0) if b is not None else (0, 0)
        n = layer.hidden
        gates, rest = r[d][: 2 * n], r[d][2 * n :]

        def step(x: Any, hidden: Any, d: int = d, wb: Any = wb, rb: Any = rb, f: Any = f, g: Any = g, n: int = n,
                 gates: Any = gates, rest: Any = rest) -> tuple[Any, ...]:  # fmt: skip
            given = hw.matmul(x, w[d].t()) + wb
            own = hw.matmul(hidden, gates.t()) + (0 if b is None else rb[: 2 * n])
            z, reset = (f(layer.clipped(v)) for v in (given[:, : 2 * n] + own).chunk(2, 1))
            rest_bias = 0 if b is None else rb[2 * n :]
            if after:
                inner = reset * (hw.matmul(hidden, rest.t()) + rest_bias)
            else:
                inner = hw.matmul(reset * hidden, rest.t()) + rest_bias
            new = g(layer.clipped(given[:, 2 * n :] + inner))
            return ((1 - z) * new + z * hidden,)

        y, state = layer.steps(d, (layer.first(h0, d),), step)
        outputs.append(y)
        states.append(state)
    return layer.result(outputs, states)


@op("RNN")
def rnn(node: Node, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h0: Any = None) -> Any:
    layer = _Layer(node, x, r.shape[-1], lengths, ["Tanh"])
    outputs, states = [], []
    for d in range(len(layer.directions)):
        bias: Any = 0 if b is None else b[d][: layer.hidden] + b[d][layer.hidden :]

        def step(x: Any, hidden: Any, d: int = d, bias: Any = bias) -> tuple[Any, ...]:
            total = hw.matmul(x, w[d].t()) + hw.matmul(hidden, r[d].t()) + bias
            return (layer.activations[d][0](layer.clipped(total)),)

        y, state = layer.steps(d, (layer.first(h0, d),), step)
        outputs.append(y)
        states.append(state)
    return layer.result(outputs, states)
