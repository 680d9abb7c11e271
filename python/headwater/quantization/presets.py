"""Presets: what watches activations and weights. `minmax`, `moving_average`, `entropy`, `percentile`, `mse`, `lsq`, `tqt`,
`weight_only_int8`, `weight_only_int4`; change one with `dataclasses.replace`."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .fake_quantize import LSQ, TQT, FakeQuantize, _Quantizer
from .histogram import HistogramObserver, MSEObserver, PercentileObserver
from .observers import MinMaxObserver, MovingAverageMinMaxObserver, Observer, PerChannelMinMaxObserver
from .scheme import Scheme

_ACTIVATION = Scheme("uint8")
_WEIGHT = Scheme("int8", True, 0)


@dataclass(frozen=True)
class Preset:
    """activation() makes the observer of a layer's input, None: inputs stay in float. weight(channels) makes the weight's.
    train_activation and train_weight make of an observer what training runs. output: as activation, of the outputs; by default
    they are not quantised, because the next layer's input is."""

    name: str
    activation: Callable[[], Observer] | None
    weight: Callable[[int], Observer]
    train_activation: Callable[[Observer], _Quantizer] = FakeQuantize
    train_weight: Callable[[Observer, int], _Quantizer] = FakeQuantize
    output: Callable[[], Observer] | None = None


def _per_channel(channels: int) -> Observer:
    return PerChannelMinMaxObserver(_WEIGHT, channels)


minmax = Preset("minmax", lambda: MinMaxObserver(_ACTIVATION), _per_channel)
moving_average = Preset("moving_average", lambda: MovingAverageMinMaxObserver(_ACTIVATION), _per_channel)
entropy = Preset("entropy", lambda: HistogramObserver(_ACTIVATION), _per_channel)
percentile = Preset("percentile", lambda: PercentileObserver(_ACTIVATION), _per_channel)
mse = Preset("mse", lambda: MSEObserver(_ACTIVATION), _per_channel)
lsq = Preset("lsq", lambda: MSEObserver(_ACTIVATION), _per_channel, LSQ, lambda o, channels: LSQ(o, channels, batched=False))
tqt = Preset("tqt", lambda: MinMaxObserver(Scheme("int8", True)), lambda channels: MinMaxObserver(Scheme("int8", True)), TQT, TQT)
weight_only_int8 = Preset("weight_only_int8", None, _per_channel)
weight_only_int4 = Preset("weight_only_int4", None, lambda channels: PerChannelMinMaxObserver(Scheme("int4", True, 0), channels))
