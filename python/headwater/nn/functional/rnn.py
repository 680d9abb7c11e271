"""Single steps of the recurrent networks; whole sequences are operators."""

from __future__ import annotations

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
