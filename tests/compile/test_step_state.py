"""Steps whose state is loaded, replaced or shared, and steps of larger networks."""

from __future__ import annotations

import numpy as np
import pytest
from networks import OPTIMISERS, batches, network
from same import assert_same, check_steps, frozen

import headwater as hw
from headwater import nn
from headwater.nn import functional as F


def test_loading_states_between_steps():
    def run(wrap, name):
        hw.manual_seed(0)
        net = network()
        opt = OPTIMISERS[name](net.parameters())

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            return loss

        program, found, saved = wrap(step), [], None
        for i, batch in enumerate(batches(8)):
            if i == 2:
                saved = {k: v.clone() for k, v in net.state_dict().items()}, __import__("copy").deepcopy(opt.state_dict())
            if i == 5:
                net.load_state_dict(saved[0])
                opt.load_state_dict(saved[1])
            program(*batch)
            found.append(frozen([net, opt]))
        return found

    for name in ("momentum", "adam", "amsgrad", "lamb"):
        assert_same(run(hw.compile, name), run(lambda f: f, name), name)


@pytest.mark.parametrize("name", ["momentum", "adam", "rmsprop_centered", "adagrad"])
def test_state_of_the_optimiser_replaced_by_hand(name):
    def run(wrap):
        hw.manual_seed(0)
        net = network()
        opt = OPTIMISERS[name](net.parameters())

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            return loss

        program, found = wrap(step), []
        for i, batch in enumerate(batches(8)):
            if i == 2:
                opt.state.clear()
            if i == 4:
                state = opt.state[net[0].weight]
                key = next(k for k in state if k != "step")
                state[key] = state[key] * 0.5
            if i == 6:
                del opt.state[net[0].bias]
            program(*batch)
            found.append(frozen([net, opt]))
        return found

    assert_same(run(hw.compile), run(lambda f: f))


def test_parameters_replaced_frozen_and_added():
    def run(wrap):
        hw.manual_seed(0)
        net = network()
        opt = hw.optim.Adam(net.parameters(), lr=0.01)

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            return loss

        program, found = wrap(step), []
        for i, batch in enumerate(batches(8)):
            if i == 2:
                net[0].requires_grad_(False)
            if i == 4:
                net[0].requires_grad_(True)
            if i == 5:
                net[2].weight = nn.Parameter(hw.full((3, 8), 0.1))
                opt.add_param_group({"params": [net[2].weight], "lr": 0.1})
            if i == 6:
                net[1] = nn.ReLU()
            program(*batch)
            found.append(frozen([net, opt]))
        return found

    assert_same(run(hw.compile), run(lambda f: f))


def test_two_optimisers_in_turn():
    """A generator and a discriminator, each trained with the other fixed."""

    def make():
        first, second = nn.Linear(5, 5), nn.Linear(5, 1)
        one, two = hw.optim.Adam(first.parameters(), lr=0.01), hw.optim.Adam(second.parameters(), lr=0.02)

        def step(x, _):
            fake = first(x)
            two.zero_grad()
            loss2 = F.softplus(second(fake.detach())).mean() + F.softplus(-second(x)).mean()
            loss2.backward()
            two.step()
            one.zero_grad()
            loss1 = F.softplus(-second(fake)).mean()
            loss1.backward()
            one.step()
            return loss1, loss2

        return step, [first, second, one, two]

    check_steps(make, batches(4))


def test_gradient_scaler_is_refused_or_right():
    """GradScaler looks at its gradients on the host: it must not be captured half."""
    net = network()
    opt = hw.optim.SGD(net.parameters(), lr=0.1)
    scaler = hw.amp.GradScaler("cpu")

    @hw.compile
    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        return loss

    before = frozen([net, opt, scaler.state_dict()])
    with pytest.raises(hw.CompileError):
        step(*batches(1)[0])
    assert_same(frozen([net, opt, scaler.state_dict()]), before)


def test_closure():
    def make():
        net = network()
        opt = hw.optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            def closure():
                opt.zero_grad()
                loss = F.cross_entropy(net(x), y)
                loss.backward()
                return loss

            return opt.step(closure)

        return step, [net, opt]

    check_steps(make, batches(3), captures=1)


def test_recurrent_step():
    def make():
        net = nn.ModuleDict({"lstm": nn.LSTM(5, 6, 2, dropout=0.2), "head": nn.Linear(6, 3)})
        opt = hw.optim.Adam(net.parameters(), lr=0.01)

        def step(x, y, h, c):
            opt.zero_grad()
            out, (h, c) = net["lstm"](x, (h, c))
            loss = F.cross_entropy(net["head"](out).flatten(0, 1), y.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.25)
            opt.step()
            return loss, h.detach(), c.detach()

        return step, [net, opt]

    rng = np.random.default_rng(3)
    calls = [
        (hw.tensor(rng.standard_normal((4, 2, 5)), dtype=hw.float32), hw.tensor(rng.integers(0, 3, (4, 2))),
            hw.zeros(2, 2, 6), hw.zeros(2, 2, 6))
        for _ in range(3)
    ]  # fmt: skip
    check_steps(make, calls, captures=1)


def test_transformer_step():
    def make():
        net = nn.ModuleDict({"emb": nn.Embedding(11, 8), "enc": nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)})
        opt = hw.optim.AdamW(net.parameters(), lr=0.01)

        def step(tokens):
            opt.zero_grad()
            x = net["enc"](net["emb"](tokens))
            loss = F.cross_entropy((x @ net["emb"].weight.t()).flatten(0, 1), tokens.flatten())
            loss.backward()
            opt.step()
            return loss

        return step, [net, opt]

    rng = np.random.default_rng(3)
    check_steps(make, [(hw.tensor(rng.integers(0, 11, (3, 7))),) for _ in range(3)], captures=1)
