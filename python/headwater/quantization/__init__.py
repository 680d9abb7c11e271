"""Quantisation: observers, fake quantisation with learned scales, presets, and the steps from a float model to integers.

    from headwater import quantization as q
    ready = q.convert(q.calibrate(q.prepare(model, q.presets.minmax, inputs=batch), batches))
"""
from __future__ import annotations

from . import presets as presets
from .batch_norm import fold_batch_norm as fold_batch_norm
from .fake_quantize import LSQ as LSQ
from .fake_quantize import TQT as TQT
from .fake_quantize import FakeQuantize as FakeQuantize
from .histogram import HistogramObserver as HistogramObserver
from .histogram import MSEObserver as MSEObserver
from .histogram import PercentileObserver as PercentileObserver
from .layers import QuantizedConv1d as QuantizedConv1d
from .layers import QuantizedConv2d as QuantizedConv2d
from .layers import QuantizedLinear as QuantizedLinear
from .observers import MinMaxObserver as MinMaxObserver
from .observers import MovingAverageMinMaxObserver as MovingAverageMinMaxObserver
from .observers import Observer as Observer
from .observers import PerChannelMinMaxObserver as PerChannelMinMaxObserver
from .prepare import calibrate as calibrate
from .prepare import convert as convert
from .prepare import prepare as prepare
from .prepare import prepare_qat as prepare_qat
from .presets import Preset as Preset
from .scheme import Scheme as Scheme
from .sensitivity import mixed_precision as mixed_precision
from .sensitivity import sensitivity as sensitivity
