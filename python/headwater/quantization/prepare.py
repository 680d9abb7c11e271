"""From a float model to integers: prepare, calibrate, train if wanted, convert."""
from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable
from typing import Any

import headwater as hw
from headwater import nn

from .batch_norm import pairs, same_inputs
from .fake_quantize import is_quantizer
from .layers import QUANTIZABLE, Prepared, in_float, quantized
from .presets import Preset


def prepare(model: Any, preset: Preset, inputs: Any = None, *, skip: Collection[str] = ()) -> Any:
    """A copy of `model` whose Linear, Conv1d and Conv2d layers carry the observers of `preset`; layers named in `skip` stay as they are.

    Batch normalisation after a convolution is folded: between neighbours of an nn.Sequential, and, if `inputs` (a tensor or a tuple of
    arguments) is given, wherever a run of the model shows it.
    """
    return _wrap(model, preset, inputs, skip, train=False).eval()


def prepare_qat(model: Any, preset: Preset, data: Iterable[Any] | None, inputs: Any = None, *, skip: Collection[str] = ()) -> Any:
    """As `prepare`, with fake quantisation that is trained. Scales are first taken from the batches of `data`; with data=None they
    come from the first batches of training, which a learned scale cannot do."""
    prepared = _wrap(model, preset, inputs, skip, train=True)
    if data is None:
        learned = [q for q in _quantizers(prepared) if list(q.parameters(recurse=False))]
        if learned:
            raise ValueError(f"preset {preset.name!r} learns its scales and needs `data` to start them from")
        return prepared.train()
    for q in _quantizers(prepared):
        q.disable_fake_quant()
    calibrate(prepared, data)
    for q in _quantizers(prepared):
        q.initialize()
        q.enable_fake_quant()
    return prepared.train()


def _quantizers(model: Any) -> list[Any]:
    return [m for m in model.modules() if is_quantizer(m)]


def _wrap(model: Any, preset: Preset, inputs: Any, skip: Collection[str], train: bool) -> Any:
    if not isinstance(preset, Preset):
        raise TypeError(f"preset must be one of headwater.quantization.presets, got {type(preset).__name__}")
    if any(isinstance(m, Prepared) for m in model.modules()):
        raise ValueError("the model is prepared already. Prepare the float model anew, or convert this one.")
    model = copy.deepcopy(model)
    names = {name for name, _ in model.named_modules()}
    if unknown := sorted(set(skip) - names):
        raise ValueError(f"skip names {', '.join(unknown)}, which the model has not")
    targets = [(n, m) for n, m in model.named_modules(remove_duplicate=False) if type(m) in QUANTIZABLE and n not in skip]
    if not targets:
        raise ValueError("the model has no Linear, Conv1d or Conv2d layer to quantise")
    norms = {name: norm for name, norm in pairs(model, inputs).items() if name not in skip}
    shared = {} if inputs is None else same_inputs(model, inputs)
    made: dict[int, Prepared] = {}
    for name, layer in targets:
        if id(layer) not in made:
            norm = model.get_submodule(norms[name]) if name in norms else None
            made[id(layer)] = _prepared(layer, norm, preset, train)
            made[id(layer)].input_number = shared.get(name)
        if not name:
            return made[id(layer)]
        model.set_submodule(name, made[id(layer)])
    for norm_name in norms.values():
        model.set_submodule(norm_name, nn.Identity())
    return model


def _prepared(layer: Any, norm: Any, preset: Preset, train: bool) -> Prepared:
    channels = layer.weight.shape[0]
    sources: list[Any] = [preset.activation() if preset.activation else None, preset.output() if preset.output else None]
    weight: Any = preset.weight(channels)
    if train:
        sources = [None if s is None else preset.train_activation(s) for s in sources]
        weight = preset.train_weight(weight, channels)
    return Prepared(layer, norm, sources[0], weight, sources[1])


def calibrate(model: Any, data: Iterable[Any]) -> Any:
    """Runs the batches of `data` through the model in evaluation mode and returns it. A batch is a tensor, or a tuple or list
    whose first element is the input."""
    was, count = model.training, 0
    model.eval()
    with hw.no_grad():
        for batch in data:
            model(batch[0] if isinstance(batch, tuple | list) else batch)
            count += 1
    model.train(was)
    if not count:
        raise ValueError("calibrate got no batch, so the observers have seen nothing")
    return model


def convert(model: Any, *, skip: Collection[str] = ()) -> Any:
    """A copy of a prepared model whose layers hold integers (those named in `skip`: floats again), in evaluation mode.

    Layers that `prepare` saw take the same tensor share its scale where they found the same one, so that it is quantised once."""
    first: dict[int, Any] = {}

    def make(name: str, prepared: Prepared) -> Any:
        if name in skip:
            return in_float(prepared)
        layer = quantized(prepared)
        if prepared.input_number is not None:
            layer.share_input(first.setdefault(prepared.input_number, layer))
        return layer

    return _replace(model, make)


def _replace(model: Any, make: Callable[[str, Prepared], Any]) -> Any:
    model = copy.deepcopy(model).eval()
    targets = [(n, m) for n, m in model.named_modules(remove_duplicate=False) if isinstance(m, Prepared)]
    if not targets:
        raise ValueError("the model has no prepared layer. Call prepare(model, preset) or prepare_qat(...) first.")
    made: dict[int, Any] = {}
    for name, layer in targets:
        if id(layer) not in made:
            made[id(layer)] = make(name, layer).eval()
        if not name:
            return made[id(layer)]
        model.set_submodule(name, made[id(layer)])
    return model
