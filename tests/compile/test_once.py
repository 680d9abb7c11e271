"""What depends on state alone runs when the state changes, and only then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headwater as hw


class Scaled(hw.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = hw.nn.Parameter(hw.rand(4, 3))
        self.scale = hw.nn.Parameter(hw.rand(4))

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        return x @ (self.weight * self.scale.exp().unsqueeze(1)).t()


@pytest.fixture
def net() -> Scaled:
    hw.manual_seed(3)
    return Scaled().eval()


def once(step: Any) -> Any:
    (program,) = step.inspect().programs
    return program


def check(step: Any, net: Scaled, x: hw.Tensor) -> None:
    with hw.no_grad():
        assert (step(x) == net(x)).all()


def test_runs_once(net: Scaled) -> None:
    step = hw.compile(net)
    for _ in range(3):
        check(step, net, hw.rand(2, 3))
    p = once(step)
    assert p.once_runs == 1 and len(p.once) >= 1 and p.once_bytes == [4 * 3 * 4]
    assert "when the state changes (run 1 times so far)" in step.inspect().text()


@pytest.mark.parametrize(
    "change",
    [
        lambda n: n.weight.mul_(2.0),
        lambda n: n.scale.copy_(hw.rand(4)),
        lambda n: n.weight[1].zero_(),
        lambda n: n.load_state_dict({k: v + 1 for k, v in n.state_dict().items()}),
        lambda n: setattr(n.weight, "data", hw.rand(4, 3)),
        lambda n: n.weight.detach().fill_(0.25),
        lambda n: n.weight.detach().view(-1)[2:5].normal_(),
    ],
)
def test_sees_each_change(net: Scaled, change: Any) -> None:
    step = hw.compile(net)
    x = hw.rand(2, 3)
    for turn in range(3):
        check(step, net, x)
        with hw.no_grad():
            change(net)
        check(step, net, x)
        check(step, net, x)
        assert once(step).once_runs == turn + 2


def test_sees_an_optimiser_and_another_compiled_step(net: Scaled) -> None:
    step = hw.compile(net)
    optimizer = hw.optim.SGD(net.parameters(), lr=0.1)

    def train(x: hw.Tensor) -> hw.Tensor:
        loss = net(x).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    compiled = hw.compile(train)
    for _ in range(3):
        x = hw.rand(2, 3)
        check(step, net, x)
        train(x)
        check(step, net, x)
        compiled(x)
        check(step, net, x)


def test_memory_shared_with_numpy_is_computed_anew_while_it_is_shared(net: Scaled) -> None:
    step = hw.compile(net)
    x = hw.rand(2, 3)
    check(step, net, x)
    array = net.weight.detach().numpy()
    check(step, net, x)
    array[:] = 7  # no version changes here
    check(step, net, x)
    runs = once(step).once_runs
    del array
    check(step, net, x)
    check(step, net, x)
    assert once(step).once_runs == runs


def test_memory_that_came_from_numpy(net: Scaled) -> None:
    array = np.ones((4, 3), np.float32)
    net.weight.data = hw.from_numpy(array)
    step = hw.compile(net)
    x = hw.rand(2, 3)
    check(step, net, x)
    array *= 3
    check(step, net, x)


def test_dlpack_shares_too(net: Scaled) -> None:
    step = hw.compile(net)
    x = hw.rand(2, 3)
    check(step, net, x)
    array = np.from_dlpack(net.weight.detach())
    view = net.weight.detach().numpy()
    del view
    twin = hw.from_dlpack(net.weight.detach())
    with hw.no_grad():
        twin.fill_(2.0)
    check(step, net, x)
    assert array[0, 0] == 2


def test_results_are_not_the_users(net: Scaled) -> None:
    @hw.compile
    def scaled() -> hw.Tensor:
        return net.weight * 2

    with hw.no_grad():
        first = scaled()
        first.zero_()
        assert (scaled() == net.weight * 2).all()


def test_sizes_share_what_runs_once(net: Scaled) -> None:
    step = hw.compile(net)
    for batch in range(1, 6):
        check(step, net, hw.rand(batch, 3))
    programs = step.inspect().programs
    assert len(programs) > 2
    assert all(p.once_runs == 1 for p in programs)


def test_training_keeps_nothing(net: Scaled) -> None:
    step = hw.compile(net)
    step(hw.rand(2, 3)).sum().backward()
    assert not any(p.once for p in step.inspect().programs)


def test_constants_that_are_merged_do_not_shift_the_state():
    """merge_equal takes a constant out of the graph's sources; what runs once must still read the state it was captured with."""
    first, second = hw.randn(4, 4), hw.randn(6, 4)

    def f(x):
        x = hw.maximum(x, hw.tensor(0.5)) @ first.t()
        return hw.maximum(x, hw.tensor(0.5)) @ (second * 2.0).t()

    x = hw.randn(3, 4)
    fast = hw.compile(f)
    with hw.no_grad():
        assert (fast(x) == f(x)).all()
        second.mul_(3.0)
        assert (fast(x) == f(x)).all()
