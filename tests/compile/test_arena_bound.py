"""The arena of the networks in models/ is at most 3 % above the largest sum of tensors alive at once: the lower bound."""

from __future__ import annotations

import importlib

import pytest

import headwater as hw
from headwater.nn import functional

# Name: folder, what makes the network, inputs.
NETWORKS = {
    "mlp": ("mlp", "MLP", lambda: [hw.randn(32, 784)]),
    "dlrm": ("dlrm", "DLRM", lambda: [hw.randn(64, 13), hw.randint(0, 1000, (26, 64, 1))]),
    "lstm": ("lstm", "LSTMModel", lambda: [hw.randint(0, 10000, (8, 4))]),
    "resnet18": ("resnet", "resnet18", lambda: [hw.randn(2, 3, 96, 96)]),
    "resnet50": ("resnet", "resnet50", lambda: [hw.randn(2, 3, 96, 96)]),
    "mobilenet_v2": ("mobilenet_v2", "mobilenet_v2", lambda: [hw.randn(2, 3, 96, 96)]),
    "bert": ("bert", "BertForMaskedLM", lambda: [hw.randint(0, 30522, (2, 32))]),
    "gpt2": ("gpt2", "gpt2", lambda: [hw.randint(0, 50257, (2, 32))]),
}
QUICK = ("mlp", "resnet18", "mobilenet_v2")
CASES = [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in NETWORKS]


def made(name):
    room, make, inputs = NETWORKS[name]
    hw.manual_seed(0)
    return getattr(importlib.import_module(f"models.{room}.model"), make)(), inputs()


def check(run):
    for program in run.inspect().programs:
        bound = program.arena_lower_bound
        assert bound > 0 and program.arena_bytes <= 1.03 * bound, f"{program.arena_bytes} bytes, alive at once {bound}"


@pytest.mark.parametrize("name", CASES)
def test_inference(name, monkeypatch):
    monkeypatch.setenv("HEADWATER_VERIFY", "0")
    model, inputs = made(name)
    run = hw.compile(model.eval())
    with hw.no_grad():
        run(*inputs)
    check(run)


@pytest.mark.parametrize("name", CASES)
def test_training_step(name, monkeypatch):
    monkeypatch.setenv("HEADWATER_VERIFY", "0")
    model, inputs = made(name)
    optimizer = hw.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    @hw.compile
    def step(*inputs):
        loss = functional.mse_loss(out := model(*inputs), hw.zeros_like(out))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    step(*inputs)
    check(step)
