"""Every layer against torch: state_dict keys and shapes, values, gradients, both modes, repr, copies."""

import copy
import pickle
import warnings

import pytest
import torch
from cases import CASES, RANDOM
from test_lazy import LAYERS as LAZY
from torch_pairs import close, copy_state, flat, same_forward_and_backward, to_hw

import headwater as hw
from headwater import nn


def label(entry):
    def text(value):  # values of tensors are random, and pytest's workers must agree on the names
        return f"tensor{list(value.shape)}" if isinstance(value, torch.Tensor) else str(value)

    name, args, kwargs, _, _ = entry
    listed = ",".join([*map(text, args), *[f"{key}={text(value)}" for key, value in kwargs.items()]])
    return f"{name}({listed})".replace(" ", "")[:70]


def build(entry):
    name, args, kwargs, inputs, call = entry
    torch.manual_seed(0)
    theirs = getattr(torch.nn, name)(*args, **kwargs)
    ours = getattr(nn, name)(*to_hw(args), **to_hw(kwargs))
    with torch.no_grad():
        for buffer_name, buffer in theirs.named_buffers():  # running statistics that are not the initial ones
            if buffer.is_floating_point() and "running" in buffer_name:
                buffer.uniform_(0.5, 1.5)
    copy_state(theirs, ours)
    return theirs, ours, inputs(), call()


@pytest.mark.parametrize("entry", CASES, ids=label)
def test_training_mode(entry):
    theirs, ours, args, kwargs = build(entry)
    same_forward_and_backward(theirs, ours, args, kwargs)


@pytest.mark.parametrize("entry", [c for c in CASES if "Norm" in c[0] or "Trans" in c[0]] + RANDOM, ids=label)
def test_evaluation_mode(entry):
    theirs, ours, args, kwargs = build(entry)
    torch.backends.mha.set_fastpath_enabled(False)
    assert ours.eval() is ours
    same_forward_and_backward(theirs.eval(), ours, args, kwargs)


@pytest.mark.parametrize("entry", CASES + RANDOM, ids=label)
def test_repr(entry):
    theirs, ours, _, _ = build(entry)
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("entry", CASES, ids=label)
def test_copies_compute_the_same_and_own_their_state(entry):
    _, ours, args, kwargs = build(entry)
    args, kwargs = to_hw(args), to_hw(kwargs)
    start = copy.deepcopy(ours)
    again = pickle.loads(pickle.dumps(ours))
    for twin in (start, again):
        assert type(twin) is type(ours)
        assert list(twin.state_dict()) == list(ours.state_dict())
        for a, b in zip(twin.state_dict().values(), ours.state_dict().values()):
            assert a.data_ptr() != b.data_ptr() or a.numel() == 0
        assert [p.requires_grad for p in twin.parameters()] == [p.requires_grad for p in ours.parameters()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [flat(module(*args, **kwargs)) for module in (ours, start, again)]
    for twin in results[1:]:
        for a, b in zip(twin, results[0]):
            close(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("entry", CASES, ids=label)
def test_state_dict_round_trip(entry):
    _, ours, _, _ = build(entry)
    name, args, kwargs, _, _ = entry
    other = getattr(nn, name)(*to_hw(args), **to_hw(kwargs))
    assert repr(other.load_state_dict(ours.state_dict())) == "<All keys matched successfully>"
    for a, b in zip(other.state_dict().values(), ours.state_dict().values()):
        close(a, b, rtol=0, atol=0)


def test_every_layer_of_the_package_has_a_case():
    tested = {name for name, *_ in CASES + RANDOM} | set(LAZY)
    containers = {"Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "Module"}
    bases = {"RNNBase", "RNNCellBase", "TransformerEncoder", "TransformerDecoder"}  # the last two: inside Transformer
    classifiers = {"CosineLinear", "MarginCrossEntropyLoss", "PartialFC"}  # tests/distributed/test_large_classifiers.py
    layers = {
        n for n in nn.modules.__all__ if isinstance(getattr(nn, n), type) and issubclass(getattr(nn, n), nn.Module)
    }
    assert layers - tested - containers - bases - classifiers == set()


@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.Linear(20, 30),
        lambda m: m.Conv2d(4, 8, 3),
        lambda m: m.LSTM(4, 16),
        lambda m: m.Embedding(50, 20),
        lambda m: m.MultiheadAttention(16, 2),
        lambda m: m.Bilinear(5, 6, 7),
        lambda m: m.ConvTranspose2d(4, 8, 3),
    ],
)
def test_initial_parameters_have_torchs_distribution(make):
    torch.manual_seed(0)
    hw.manual_seed(0)
    theirs, ours = make(torch.nn), make(nn)
    for (name, a), (_, b) in zip(ours.named_parameters(), theirs.named_parameters()):
        if b.numel() < 16:
            continue
        got, expected = a.detach().numpy(), b.detach().numpy()
        assert abs(got.std() - expected.std()) <= 0.3 * expected.std() + 1e-8, name
        assert abs(abs(got).max() - abs(expected).max()) <= 0.3 * abs(expected).max() + 1e-8, name


@pytest.mark.parametrize(
    "name, shape, channels",
    [
        ("Dropout", (100, 100), None),
        ("Dropout1d", (50, 40, 8), 2),
        ("Dropout2d", (50, 40, 4, 4), 2),
        ("Dropout3d", (50, 40, 2, 2, 2), 2),
    ],
)
def test_dropout_zeroes_and_scales(name, shape, channels):
    hw.manual_seed(1)
    layer = getattr(nn, name)(0.25)
    out = layer(hw.ones(shape)).numpy()
    assert abs((out == 0).mean() - 0.25) < 0.05
    assert abs(out[out != 0] - 1 / 0.75).max() < 1e-6
    if channels:
        flat_channels = out.reshape(*shape[:channels], -1)
        assert (flat_channels == flat_channels[..., :1]).all()


def test_alpha_dropout_keeps_mean_and_variance():
    hw.manual_seed(2)
    out = nn.AlphaDropout(0.2)(hw.randn(400, 400)).numpy()
    assert abs(out.mean()) < 0.02
    assert abs(out.var() - 1) < 0.03


def test_in_place_activations_change_their_input():
    for name in (
        "ReLU",
        "ReLU6",
        "ELU",
        "SELU",
        "CELU",
        "LeakyReLU",
        "SiLU",
        "Mish",
        "Hardtanh",
        "Hardsigmoid",
        "Hardswish",
    ):
        values = hw.tensor([-2.0, -0.5, 0.5, 9.0])
        plain = getattr(nn, name)()(values)
        out = getattr(nn, name)(inplace=True)(values)
        assert out is values, name
        close(values, plain, rtol=0, atol=0)
