"""lstm, gru, rnn_tanh and rnn_relu as torch calls them: initial states and weights as lists."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _C

Tensor = _C.Tensor


def _run(name: str, input: Any, states: Sequence[Any], params: Sequence[Any], options: tuple[Any, ...]) -> tuple[Any, ...]:  # noqa: A002
    names = ("has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")
    return tuple(_C.op_function_of(name, False)(input, *states, list(params), **dict(zip(names, options, strict=True))))


def lstm(input: Any, hx: Sequence[Any], params: Sequence[Any], has_biases: bool, num_layers: int, dropout: float,  # noqa: A002
         train: bool, bidirectional: bool, batch_first: bool) -> tuple[Any, Any, Any]:
    """Long short-term memory over a sequence; returns (output, h_n, c_n).

    Shapes: input [L, N, in] ([N, L, in] with batch_first); hx = (h_0, c_0), each [num_layers * directions, N, H];
    params: w_ih, w_hh[, b_ih, b_hh] for each layer and direction; where h_0 is narrower than c_0, a last w_hr projects h.
    """
    if len(hx) != 2:
        raise RuntimeError(f"lstm: hx must be (h_0, c_0), got {len(hx)} tensors")
    output, h_n, c_n = _run("_lstm", input, hx, params, (has_biases, num_layers, dropout, train, bidirectional, batch_first))
    return output, h_n, c_n


def _single(op: str, text: str) -> Callable[..., tuple[Any, Any]]:
    def run(input: Any, hx: Any, params: Sequence[Any], has_biases: bool, num_layers: int, dropout: float,  # noqa: A002
            train: bool, bidirectional: bool, batch_first: bool) -> tuple[Any, Any]:
        output, h_n = _run(op, input, (hx,), params, (has_biases, num_layers, dropout, train, bidirectional, batch_first))
        return output, h_n

    run.__name__ = run.__qualname__ = op[1:]
    run.__doc__ = text + " over a sequence; returns (output, h_n). Shapes as for lstm; hx is h_0."
    return run


gru = _single("_gru", "Gated recurrent unit")
rnn_tanh = _single("_rnn_tanh", "Plain recurrent network with tanh")
rnn_relu = _single("_rnn_relu", "Plain recurrent network with relu")


def install(namespace: dict[str, Any]) -> None:
    """Adds the four functions to the package."""
    namespace.update(lstm=lstm, gru=gru, rnn_tanh=rnn_tanh, rnn_relu=rnn_relu)
