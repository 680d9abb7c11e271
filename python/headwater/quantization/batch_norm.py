"""Batch normalisation behind a convolution: found, and folded into its weight and bias."""
from __future__ import annotations

import copy
from typing import Any

import headwater as hw
from headwater import nn

_NORMS = {nn.Conv1d: nn.BatchNorm1d, nn.Conv2d: nn.BatchNorm2d}


def norm_factor(norm: Any) -> hw.Tensor:
    """What a channel is multiplied by: gamma / sqrt(running_var + eps)."""
    rstd = hw.rsqrt(norm.running_var + norm.eps)
    return rstd if norm.weight is None else norm.weight * rstd


def folded(layer: Any, norm: Any) -> tuple[hw.Tensor, hw.Tensor]:
    """Weight and bias of the convolution that does both."""
    factor = norm_factor(norm)
    weight = layer.weight * factor.reshape([-1] + [1] * (layer.weight.dim() - 1))
    bias = ((0.0 if layer.bias is None else layer.bias) - norm.running_mean) * factor
    return weight, bias if norm.bias is None else bias + norm.bias


def _fits(layer: Any, norm: Any) -> bool:
    return type(norm) is _NORMS.get(type(layer)) and norm.running_var is not None


def pairs(model: Any, inputs: Any = None) -> dict[str, str]:
    """Convolution -> normalisation, by name. Neighbours of an nn.Sequential; with `inputs`, also those between which no module stands
    when the model runs."""
    names = {id(m): n for n, m in model.named_modules()}
    found: dict[str, str] = {}
    for module in model.modules():
        if isinstance(module, nn.Sequential):
            children = list(module.children())
            found.update({names[id(a)]: names[id(b)] for a, b in zip(children, children[1:]) if _fits(a, b)})
    if inputs is not None:
        found.update(_traced(model, inputs, names))
    return found


def same_inputs(model: Any, inputs: Any) -> dict[str, int]:
    """A number for each module without children that ran once: the same one where a run gave them the very same tensor."""
    _, taken = _run(model, inputs)
    names = {id(m): n for n, m in model.named_modules()}
    numbers: dict[int, int] = {}
    runs = [id(m) for m, _ in taken]
    return {names[id(m)]: numbers.setdefault(id(given), len(numbers)) for m, given in taken if runs.count(id(m)) == 1}


def _run(model: Any, inputs: Any) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]:
    """Modules without children, in the order of a run, with what they made and with their first argument."""
    made: list[tuple[Any, Any]] = []  # tensors are kept, so that identities stay unique
    taken: list[tuple[Any, Any]] = []

    def note(module: Any, given: Any, out: Any) -> None:
        made.append((module, out))
        taken.append((module, given[0] if given else None))

    hooks = [module.register_forward_hook(note) for module in model.modules() if not list(module.children())]
    was = model.training
    try:
        with hw.no_grad():
            model.eval()(*inputs) if isinstance(inputs, tuple) else model.eval()(inputs)
    finally:
        model.train(was)
        for hook in hooks:
            hook.remove()
    return made, taken


def _traced(model: Any, inputs: Any, names: dict[int, str]) -> dict[str, str]:
    made, taken = _run(model, inputs)
    found = {}
    for source, out in made:
        users = [m for m, given in taken if given is out]
        runs = sum(1 for m, _ in made if m is source)
        if len(users) == 1 and runs == 1 and _fits(source, users[0]):
            found[names[id(source)]] = names[id(users[0])]
    return found


def fold_batch_norm(model: Any, inputs: Any = None) -> Any:
    """A copy of the model with each batch normalisation folded into the convolution before it (evaluation only)."""
    model = copy.deepcopy(model).eval()
    for conv, norm in pairs(model, inputs).items():
        layer = model.get_submodule(conv)
        with hw.no_grad():
            weight, bias = folded(layer, model.get_submodule(norm))
        layer.weight, layer.bias = nn.Parameter(weight.detach()), None
        del layer.bias
        layer.register_parameter("bias", nn.Parameter(bias.detach()))
        model.set_submodule(norm, nn.Identity())
    return model
