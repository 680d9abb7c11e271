"""Compiled methods of instances, and compiled functions that several threads call."""
import sys
import threading

import pytest

import headwater as hw
from headwater import nn


class Trainer:
    def __init__(self, scale):
        self.model = nn.Linear(3, 2)
        self.optimizer = hw.optim.SGD(self.model.parameters(), lr=0.1)
        self.scale = scale

    @hw.compile
    def step(self, x):
        """One step."""
        loss = (self.model(x) * self.scale).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss

    @hw.compile
    def scaled(self, x):
        return x * self.scale


def test_a_method_is_compiled_for_each_instance():
    a, b = Trainer(2.0), Trainer(3.0)
    x = hw.ones(4, 3)
    assert hw.equal(a.scaled(x), 2 * x) and hw.equal(b.scaled(x), 3 * x) and hw.equal(a.scaled(x), 2 * x)
    assert a.scaled.captures == 2
    a.scale = 5.0
    assert hw.equal(a.scaled(x), 5 * x)


def test_a_method_has_what_a_compiled_function_has():
    trainer = Trainer(1.0)
    before = Trainer.step.captures
    losses = [trainer.step(hw.ones(4, 3)).item() for _ in range(4)]
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]
    assert trainer.step.captures == before + 1
    assert "largest tensors" in trainer.step.inspect().text()
    assert trainer.step.__doc__ == "One step." and trainer.step.__self__ is trainer
    trainer.step.reset()
    assert not trainer.step.variants


def in_threads(work, count=4):
    errors = []

    def guarded(i):
        try:
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert not errors, errors


def test_threads_share_a_function():
    weight = hw.randn(16, 16)

    @hw.compile
    def f(x):
        return ((x @ weight).relu() + x).softmax(-1)

    def work(i):
        x = hw.full((8, 16), float(i)) + weight[:8]
        want = ((x @ weight).relu() + x).softmax(-1)
        for _ in range(100):
            assert hw.allclose(f(x), want, atol=1e-6)

    in_threads(work)
    assert f.captures == 1


@pytest.mark.parametrize("turn", range(10))  # a race shows in some turns only
def test_threads_train_one_model(turn):
    model = nn.Linear(4, 4)
    optimizer = hw.optim.Adam(model.parameters())

    @hw.compile
    def step(x):
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    x = hw.ones(2, 4)
    in_threads(lambda i: [step(x).item() for _ in range(25)])
    assert step.captures == 1
    assert optimizer.state_dict()["state"][0]["step"] == 100
