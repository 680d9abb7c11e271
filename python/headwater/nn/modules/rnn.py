"""Recurrent networks: whole sequences (RNN, LSTM, GRU) and single steps (the cells)."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar

import headwater as hw

from .. import init
from ..functional import rnn as steps
from ..packed_sequence import PackedSequence, run_packed
from ..parameter import Parameter
from .module import Module

State = Any  # a tensor, or for an LSTM the pair (hidden, cell)


class RNNBase(Module):
    """What RNN, LSTM and GRU share. Parameters of layer k: weight_ih_lk, weight_hh_lk, bias_ih_lk, bias_hh_lk.

    Those of the backward direction end in _reverse.
    """

    gates: ClassVar[int]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if hidden_size <= 0:
            raise ValueError(f"hidden_size must be greater than zero, got {hidden_size}")
        if num_layers <= 0:
            raise ValueError(f"num_layers must be greater than zero, got {num_layers}")
        if not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError(f"dropout should be a number in range [0, 1], got {dropout!r}")
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                f"dropout={dropout} has no effect with num_layers=1: it acts between the layers", stacklevel=3
            )
        if not 0 <= proj_size < hidden_size:
            raise ValueError(f"proj_size must be from 0 (no projection) to below hidden_size={hidden_size}, got {proj_size}")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._weight_names: list[str] = []
        for layer in range(num_layers):
            for end in ("", "_reverse")[: 2 if bidirectional else 1]:
                self._add_layer(layer, end, device, dtype)
        self.reset_parameters()

    def _add_layer(self, layer: int, end: str, device: Any, dtype: Any) -> None:
        directions = 2 if self.bidirectional else 1
        inputs = self.input_size if layer == 0 else self._output_size * directions
        rows = self.gates * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, inputs), "weight_hh": (rows, self._output_size)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            full = f"{name}_l{layer}{end}"
            setattr(self, full, Parameter(hw.empty(shape, device=device, dtype=dtype)))
            self._weight_names.append(full)

    @property
    def _output_size(self) -> int:
        """The width of h: proj_size, or hidden_size without a projection."""
        return self.proj_size or self.hidden_size

    @property
    def _flat_weights(self) -> list[Any]:
        own = self.__dict__
        return [own[name] for name in self._weight_names]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters, one list for each layer and direction."""
        step = (4 if self.bias else 2) + (1 if self.proj_size else 0)
        flat = self._flat_weights
        return [flat[i : i + step] for i in range(0, len(flat), step)]

    def flatten_parameters(self) -> None:
        """Nothing to do here; kept so that scripts written for torch run."""

    def reset_parameters(self) -> None:
        """All parameters uniform in +-1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _zeros(self, input: hw.Tensor, batch: int, num_states: int) -> list[hw.Tensor]:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        sizes = (self._output_size, self.hidden_size)[:num_states]
        return [hw.zeros(layers, batch, size, dtype=input.dtype) for size in sizes]

    def _check(self, input: hw.Tensor, states: list[hw.Tensor], single: bool) -> None:
        """`states` as the caller gave them, `input` likewise."""
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{self.mode}: Expected input to be 2D or 3D, got {input.ndim}D instead: {tuple(input.shape)}"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}: "
                f"{self.mode} of input {tuple(input.shape)}"
            )
        layers = self.num_layers * (2 if self.bidirectional else 1)
        batch = () if single else (input.shape[0 if self.batch_first else 1],)
        for state, size in zip(states, (self._output_size, self.hidden_size)):
            wanted = (layers, *batch, size)
            if tuple(state.shape) != wanted:
                raise RuntimeError(f"{self.mode}: Expected hidden size {wanted}, got {tuple(state.shape)}")

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text

    def _run(self, input: hw.Tensor, states: list[hw.Tensor]) -> tuple[hw.Tensor, list[hw.Tensor]]:
        """The network over (L, N, in) or, batch first, (N, L, in)."""
        raise NotImplementedError

    def _steps_first(self, num_states: int) -> Any:
        """The network as a function of (L, N, in) and states, whatever batch_first says."""

        def run(input: hw.Tensor, states: list[hw.Tensor] | None) -> tuple[hw.Tensor, list[hw.Tensor]]:
            if self.batch_first:
                input = input.transpose(0, 1)
            output, final = self._forward(input, states, num_states)
            return (output.transpose(0, 1) if self.batch_first else output), final

        return run

    def _forward(self, input: Any, given: list[hw.Tensor] | None, num_states: int) -> tuple[Any, list[Any]]:
        if isinstance(input, PackedSequence):
            return run_packed(self._steps_first(num_states), input, given)
        single = input.ndim == 2
        self._check(input, given or [], single)
        if single:
            input = input.unsqueeze(0 if self.batch_first else 1)
            given = None if given is None else [state.unsqueeze(1) for state in given]
        if given is None:
            given = self._zeros(input, input.shape[0 if self.batch_first else 1], num_states)
        output, states = self._run(input, given)
        if single:
            return output.squeeze(0 if self.batch_first else 1), [state.squeeze(1) for state in states]
        return output, states


class RNN(RNNBase):
    """Elman network: h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh).

    Shapes: input (L, N, input_size), or (N, L, input_size) with batch_first, or (L, input_size);
    output (L, N, directions * hidden_size), final state (num_layers * directions, N, hidden_size).
    """

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, 0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity

    def forward(self, input: hw.Tensor, hx: hw.Tensor | None = None) -> tuple[hw.Tensor, hw.Tensor]:
        output, states = self._forward(input, None if hx is None else [hx], 1)
        return output, states[0]

    def _run(self, input: hw.Tensor, states: list[hw.Tensor]) -> tuple[hw.Tensor, list[hw.Tensor]]:
        run = hw.rnn_tanh if self.nonlinearity == "tanh" else hw.rnn_relu
        output, final = run(
            input, states[0], self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional, self.batch_first,
        )  # fmt: skip
        return output, [final]


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997); gates in the order input, forget, cell, output.

    Shapes: input (L, N, input_size), or (N, L, input_size) with batch_first, or (L, input_size);
    output (L, N, directions * hidden_size), final (hidden, cell) each (num_layers * directions, N, hidden_size).
    With proj_size, h is projected to that width (Sak et al. 2014): output and hidden have it instead of hidden_size.
    """

    gates = 4

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

    def forward(
        self, input: hw.Tensor, hx: tuple[hw.Tensor, hw.Tensor] | None = None
    ) -> tuple[hw.Tensor, tuple[hw.Tensor, hw.Tensor]]:
        output, states = self._forward(input, None if hx is None else list(hx), 2)
        return output, (states[0], states[1])

    def _run(self, input: hw.Tensor, states: list[hw.Tensor]) -> tuple[hw.Tensor, list[hw.Tensor]]:
        output, *final = hw.lstm(
            input, states, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional, self.batch_first,
        )  # fmt: skip
        return output, final


class GRU(RNNBase):
    """Gated recurrent unit (Cho et al. 2014); gates in the order reset, update, new. Shapes as for RNN."""

    gates = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )

    def forward(self, input: hw.Tensor, hx: hw.Tensor | None = None) -> tuple[hw.Tensor, hw.Tensor]:
        output, states = self._forward(input, None if hx is None else [hx], 1)
        return output, states[0]

    def _run(self, input: hw.Tensor, states: list[hw.Tensor]) -> tuple[hw.Tensor, list[hw.Tensor]]:
        output, final = hw.gru(
            input, states[0], self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional, self.batch_first,
        )  # fmt: skip
        return output, [final]


class RNNCellBase(Module):
    """One step; parameters weight_ih (gates * hidden, in), weight_hh (gates * hidden, hidden), bias_ih, bias_hh."""

    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(hw.empty(rows, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(hw.empty(rows, hidden_size, device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(hw.empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """All parameters uniform in +-1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias is True else f"{text}, bias={self.bias}"

    def _prepare(self, input: hw.Tensor, states: Any, count: int) -> tuple[hw.Tensor, list[hw.Tensor], bool]:
        """Input and states with a batch axis, and whether it had to be added."""
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead: {tuple(input.shape)}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{name}: input has size {input.shape[-1]} in its last axis, input_size is {self.input_size}"
            )
        single = input.ndim == 1
        batched = input.unsqueeze(0) if single else input
        if states is None:
            return batched, [hw.zeros(batched.shape[0], self.hidden_size, dtype=input.dtype)] * count, single
        wanted = (self.hidden_size,) if single else (input.shape[0], self.hidden_size)
        for state in states:
            if tuple(state.shape) != wanted:
                raise RuntimeError(f"{name}: expected a hidden state of shape {wanted}, got {tuple(state.shape)}")
        return batched, [state.unsqueeze(0) if single else state for state in states], single


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh). Shapes: (N, input_size), (N, hidden_size) to (N, hidden_size)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity: {nonlinearity}")
        self.nonlinearity = nonlinearity

    def forward(self, input: hw.Tensor, hx: hw.Tensor | None = None) -> hw.Tensor:
        x, (hidden,), single = self._prepare(input, None if hx is None else [hx], 1)
        out = steps.rnn_cell(x, hidden, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, self.nonlinearity)
        return out.squeeze(0) if single else out

    def extra_repr(self) -> str:
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity={self.nonlinearity}"


class LSTMCell(RNNCellBase):
    """One step of an LSTM: (N, input_size) and (hidden, cell), each (N, hidden_size), to the next (hidden, cell)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: hw.Tensor, hx: tuple[hw.Tensor, hw.Tensor] | None = None) -> tuple[hw.Tensor, hw.Tensor]:
        x, (hidden, cell), single = self._prepare(input, hx, 2)
        out = steps.lstm_cell(x, (hidden, cell), self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (out[0].squeeze(0), out[1].squeeze(0)) if single else out


class GRUCell(RNNCellBase):
    """One step of a GRU: (N, input_size), (N, hidden_size) to (N, hidden_size)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: hw.Tensor, hx: hw.Tensor | None = None) -> hw.Tensor:
        x, (hidden,), single = self._prepare(input, None if hx is None else [hx], 1)
        out = steps.gru_cell(x, hidden, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return out.squeeze(0) if single else out
