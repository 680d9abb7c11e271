"""Argument names, order and defaults of layers, functions, Module's methods, optimisers, schedules and data loading are torch's."""

import inspect

import pytest
import torch

import headwater.nn.functional as F
from headwater import data, nn, optim
from headwater.nn import init, utils

# torch gives `relu` itself as the default, we its name; torch's recurrent layers take *args.
DIFFERENT = {"Transformer", "TransformerEncoderLayer", "TransformerDecoderLayer", "RNN", "LSTM", "GRU"}
ALSO_DIFFERENT = {"F.normalize", "Module.forward", "Module.state_dict", "Module.share_memory"}
# A sampler may still name its data here, as in older torch; a generator is looked up at each call.
ALSO_DIFFERENT |= {"data.Sampler", "data.random_split"}
OWN = {"CosineLinear", "MarginCrossEntropyLoss", "PartialFC", "partial_margin_cross_entropy"}  # torch has none of these


def arguments(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # torch's own built-in functions have none
        return None
    return [(p.name, p.kind.name, repr(p.default)) for p in parameters]


PAIRS = (
    [(n, getattr(nn, n), getattr(torch.nn, n)) for n in nn.modules.__all__ if isinstance(getattr(nn, n), type) and n not in OWN]
    + [(f"F.{n}", getattr(F, n), getattr(torch.nn.functional, n)) for n in F.__all__ if n not in OWN]
    + [
        (n, getattr(init, n), getattr(torch.nn.init, n))
        for n in dir(init)
        if n.endswith("_") and hasattr(torch.nn.init, n)
    ]
    + [(n, getattr(utils, n), getattr(torch.nn.utils, n)) for n in utils.__all__ if n.endswith(("_", "norm", "s"))]
    + [
        (f"Module.{n}", getattr(nn.Module, n), getattr(torch.nn.Module, n))
        for n in dir(nn.Module)
        if not n.startswith("_") and callable(getattr(nn.Module, n)) and hasattr(torch.nn.Module, n)
    ]
    + [
        (f"{room}.{n}", getattr(ours, n), getattr(theirs, n))
        for room, ours, theirs in (
            ("optim", optim, torch.optim),
            ("lr_scheduler", optim.lr_scheduler, torch.optim.lr_scheduler),
            ("data", data, torch.utils.data),
        )
        for n in dir(ours)
        if not n.startswith("_") and inspect.isroutine(getattr(ours, n)) | inspect.isclass(getattr(ours, n)) and hasattr(theirs, n)
    ]
)


@pytest.mark.parametrize(
    "name, ours, theirs", [p for p in PAIRS if callable(p[1])], ids=lambda v: v if isinstance(v, str) else ""
)
def test_same_arguments(name, ours, theirs):
    expected = arguments(theirs)
    if expected is None or name in DIFFERENT | ALSO_DIFFERENT:
        pytest.skip("no comparable signature")
    assert arguments(ours) == expected
