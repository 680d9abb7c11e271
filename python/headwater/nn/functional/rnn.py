"""Steps and sequences of the recurrent networks that have no operator of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import headwater as hw
from headwater import Tensor


def rnn_cell(
    input: Tensor,
    hidden: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    nonlinearity: str = "tanh",
) -> Tensor:
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh). Shapes (N, in), (N, hidden) to (N, hidden)."""
    total = hw.linear(input, w_ih, b_ih) + hw.linear(hidden, w_hh, b_hh)
    return hw.tanh(total) if nonlinearity == "tanh" else hw.relu(total)


def lstm_cell(
    input: Tensor,
    state: tuple[Tensor, Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM; gates in the order input, forget, cell, output. Shapes (N, in), 2 x (N, hidden)."""
    hidden, cell = state
    gates = hw.linear(input, w_ih, b_ih) + hw.linear(hidden, w_hh, b_hh)
    i, f, g, o = gates.chunk(4, -1)
    cell = hw.sigmoid(f) * cell + hw.sigmoid(i) * hw.tanh(g)
    return hw.sigmoid(o) * hw.tanh(cell), cell


def gru_cell(
    input: Tensor,
    hidden: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a GRU; gates in the order reset, update, new. Shapes (N, in), (N, hidden) to (N, hidden)."""
    from_input = hw.linear(input, w_ih, b_ih).chunk(3, -1)
    from_hidden = hw.linear(hidden, w_hh, b_hh).chunk(3, -1)
    reset = hw.sigmoid(from_input[0] + from_hidden[0])
    update = hw.sigmoid(from_input[1] + from_hidden[1])
    new = hw.tanh(from_input[2] + reset * from_hidden[2])
    return new + update * (hidden - new)


def rnn_layers(
    input: Tensor,
    initial: Tensor,
    weights: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    training: bool,
    bidirectional: bool,
    activation: Callable[[Tensor], Tensor],
) -> tuple[Tensor, Tensor]:
    """Elman network over (L, N, in): output (L, N, directions * hidden), final (layers * directions, N, hidden).

    The products with the inputs of all steps are one matrix product.
    """
    step = 4 if has_biases else 2
    directions = 2 if bidirectional else 1
    finals = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            at = layer * directions + direction
            w_ih, w_hh, *biases = weights[at * step : (at + 1) * step]
            b_ih, b_hh = biases if biases else (None, None)
            output, final = _direction(input, initial[at], w_ih, w_hh, b_ih, b_hh, activation, direction == 1)
            outputs.append(output)
            finals.append(final)
        input = hw.cat(outputs, -1) if directions == 2 else outputs[0]
        if dropout > 0 and training and layer < num_layers - 1:
            input = hw.dropout(input, dropout, True)
    return input, hw.stack(finals)


def _direction(
    input: Tensor,
    hidden: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
    activation: Callable[[Tensor], Tensor],
    backward: bool,
) -> tuple[Tensor, Tensor]:
    from_input = hw.linear(input, w_ih, b_ih).unbind(0)
    steps = range(len(from_input))
    outputs: list[Tensor] = []
    for t in reversed(steps) if backward else steps:
        hidden = activation(from_input[t] + hw.linear(hidden, w_hh, b_hh))
        outputs.append(hidden)
    if backward:
        outputs.reverse()
    return hw.stack(outputs), hidden
