"""Whole training steps, compiled, leave what eager steps leave."""

from __future__ import annotations

import numpy as np
import pytest
from networks import OPTIMISERS, batches, network
from same import array, assert_same, check_steps, frozen

import headwater as hw
from headwater import nn
from headwater.nn import functional as F


@pytest.mark.parametrize("zero", ["start", "end", "to zero", "never"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers(name, zero):
    def make():
        net = network()
        opt = OPTIMISERS[name](net.parameters())

        def step(x, y):
            if zero == "start":
                opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            if zero == "end":
                opt.zero_grad()
            if zero == "to zero":
                opt.zero_grad(set_to_none=False)
            return loss

        return step, [net, opt]

    # The gradients are None before the first call and, unless they end as None, tensors before the others.
    check_steps(make, batches(5), captures={"start": 1, "end": 1, "to zero": 2, "never": 2}[zero])


def test_groups_with_their_own_rates_and_parameters_without_gradient():
    def make():
        net = nn.ModuleList([nn.Linear(5, 8), nn.Linear(8, 3), nn.Linear(5, 3)])
        opt = hw.optim.Adam([{"params": net[0].parameters(), "lr": 0.1}, {"params": [*net[1].parameters(), *net[2].parameters()]}])

        def step(x, y, both):
            opt.zero_grad()
            out = net[1](F.relu(net[0](x)))
            if both:
                out = out + net[2](x)
            loss = F.cross_entropy(out, y)
            loss.backward()
            opt.step()
            return loss

        return step, [net, opt]

    calls = [(*b, i in (1, 4)) for i, b in enumerate(batches(6))]
    check_steps(make, calls)


SCHEDULES = {
    "step": lambda o: hw.optim.lr_scheduler.StepLR(o, 2, 0.5),
    "cosine": lambda o: hw.optim.lr_scheduler.CosineAnnealingLR(o, 5),
    "linear": lambda o: hw.optim.lr_scheduler.LinearLR(o, 0.1, total_iters=3),
    "one_cycle": lambda o: hw.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=10),
    "lambda": lambda o: hw.optim.lr_scheduler.LambdaLR(o, lambda epoch: 0.9**epoch),
    "chained": lambda o: hw.optim.lr_scheduler.ChainedScheduler(
        [hw.optim.lr_scheduler.ExponentialLR(o, 0.9), hw.optim.lr_scheduler.ConstantLR(o, 0.5, 2)]
    ),
    "sequential": lambda o: hw.optim.lr_scheduler.SequentialLR(
        o, [hw.optim.lr_scheduler.ConstantLR(o, 0.1, 2), hw.optim.lr_scheduler.ExponentialLR(o, 0.9)], [2]
    ),
}


@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_inside_the_step(name, optimiser):
    def make():
        net = network()
        opt = OPTIMISERS[optimiser](net.parameters())
        schedule = SCHEDULES[name](opt)

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            schedule.step()
            return loss

        return step, [net, opt, schedule]

    check_steps(make, batches(6), captures=1)


def test_schedule_between_steps_and_rate_set_by_hand():
    def make():
        net = network()
        opt = hw.optim.AdamW(net.parameters(), lr=0.01)
        schedule = hw.optim.lr_scheduler.ExponentialLR(opt, 0.7)
        return net, opt, schedule

    def run(wrap):
        hw.manual_seed(0)
        net, opt, schedule = make()

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            return loss

        program = wrap(step)
        for i, batch in enumerate(batches(6)):
            program(*batch)
            schedule.step()
            if i == 3:
                opt.param_groups[0]["weight_decay"] = 0.5
            if i == 4:
                opt.param_groups[0]["lr"] = 0.5
        return frozen([net, opt, schedule]), program

    want, _ = run(lambda f: f)
    got, program = run(hw.compile)
    assert_same(got, want)
    assert program.captures == 1


def test_schedule_that_needs_the_loss_is_refused():
    net = network()
    opt = hw.optim.SGD(net.parameters(), lr=0.1)
    schedule = hw.optim.lr_scheduler.ReduceLROnPlateau(opt)

    @hw.compile
    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        schedule.step(loss)

    before = frozen([net, opt])
    with pytest.raises(hw.CompileError, match=r"schedule.step\(loss\)"):
        step(*batches(1)[0])
    assert_same(frozen([net, opt]), before)


@pytest.mark.parametrize("kind", ["norm", "norm inf", "norm none", "value", "max norm tensor"])
def test_clipping(kind):
    def make():
        net = network()
        opt = hw.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            norm = None
            if kind == "value":
                nn.utils.clip_grad_value_(net.parameters(), 0.01)
            elif kind == "norm inf":
                norm = nn.utils.clip_grad_norm_(net.parameters(), 0.1, norm_type=float("inf"))
            else:
                norm = nn.utils.clip_grad_norm_(net.parameters(), 1e6 if kind == "norm none" else 0.1)
            opt.step()
            return loss, norm

        return step, [net, opt]

    check_steps(make, batches(4), captures=1)


def test_gradient_accumulation_with_a_flag():
    def make():
        net = network()
        opt = hw.optim.Adam(net.parameters(), lr=0.01)

        def step(x, y, update):
            loss = F.cross_entropy(net(x), y) / 3
            loss.backward()
            if update:
                opt.step()
                opt.zero_grad()
            return loss

        return step, [net, opt]

    calls = [(*b, i % 3 == 2) for i, b in enumerate(batches(12))]
    # without update: no gradients before, gradients before; with update: gradients before.
    check_steps(make, calls, captures=3)


def test_accumulation_over_a_loop_inside():
    def make():
        net = network()
        opt = hw.optim.SGD(net.parameters(), lr=0.1)

        def step(xs, ys):
            opt.zero_grad()
            total = 0.0
            for x, y in zip(xs, ys):
                loss = F.cross_entropy(net(x), y)
                loss.backward()
                total = total + loss.detach()
            opt.step()
            return total

        return step, [net, opt]

    rng = np.random.default_rng(3)
    calls = [
        (hw.tensor(rng.standard_normal((3, 4, 5)), dtype=hw.float32), hw.tensor(rng.integers(0, 3, (3, 4)))) for _ in range(3)
    ]
    check_steps(make, calls, captures=1)


def test_dropout_draws_the_same_numbers():
    def make():
        net = nn.Sequential(nn.Linear(5, 16), nn.Dropout(0.5), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
        opt = hw.optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            opt.zero_grad()
            noisy = x + 0.1 * hw.randn_like(x) + hw.rand(x.shape[1])
            loss = F.cross_entropy(net(noisy), y)
            loss.backward()
            opt.step()
            return loss, noisy, hw.randint(0, 10, (4,)), hw.randperm(5)

        return step, [net, opt]

    check_steps(make, batches(4), captures=1)


def test_batch_norm_statistics():
    def make():
        net = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1),
            nn.BatchNorm2d(4, momentum=0.3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3),
        )  # fmt: skip
        opt = hw.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            return loss

        return step, [net, opt]

    rng = np.random.default_rng(3)
    calls = [(hw.tensor(rng.standard_normal((4, 3, 6, 6)), dtype=hw.float32), hw.tensor(rng.integers(0, 3, 4))) for _ in range(4)]
    check_steps(make, calls, captures=1)


def test_cumulative_batch_norm_is_refused_while_training():
    net = nn.Sequential(nn.BatchNorm1d(5, momentum=None))
    program = hw.compile(net)
    x = batches(1)[0][0]
    before = frozen(net)
    with pytest.raises(hw.CompileError, match="BatchNorm1d.*momentum=None averages"):
        program(x)
    assert_same(frozen(net), before)
    net.eval()
    assert_same(array(program(x)), array(net(x)))


def test_train_and_eval_side_by_side():
    def make():
        net = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 3))
        opt = hw.optim.Adam(net.parameters(), lr=0.01)

        def step(x, y, training):
            net.train(training)
            if not training:
                with hw.no_grad():
                    return F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            return loss

        return step, [net, opt]

    calls = [(*b, i % 3 != 2) for i, b in enumerate(batches(9))]
    check_steps(make, calls)


def test_mode_set_outside():
    hw.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
    program = hw.compile(lambda x: net(x))
    x = batches(1)[0][0]
    with hw.no_grad():
        for training in (True, False, True, False, True):
            net.train(training)
            before = frozen(net)
            hw.manual_seed(4)
            want = array(net(x))
            after = frozen(net)
            net.load_state_dict({k: hw.tensor(v["values"]) for k, v in before["state"].items()})
            hw.manual_seed(4)
            assert_same(array(program(x)), want)
            assert_same(frozen(net), after)
    assert program.captures == 2


def test_moving_average_of_parameters():
    def make():
        net = network()
        average = [p.detach().clone() for p in net.parameters()]
        opt = hw.optim.AdamW(net.parameters(), lr=0.01)

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            with hw.no_grad():
                for a, p in zip(average, net.parameters()):
                    a.mul_(0.9).add_(p, alpha=0.1)
            return loss

        return step, [net, opt, average]

    check_steps(make, batches(4), captures=1)


def test_moving_average_by_lerp_into_a_second_module():
    def make():
        net, teacher = network(), network()
        opt = hw.optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            opt.zero_grad()
            with hw.no_grad():
                target = teacher(x).softmax(-1)
            loss = F.cross_entropy(net(x), target) + F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            with hw.no_grad():
                for t, p in zip(teacher.parameters(), net.parameters()):
                    t.lerp_(p, 0.1)
            return loss

        return step, [net, teacher, opt]

    check_steps(make, batches(4), captures=1)


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_autocast(where):
    def make():
        net = nn.Sequential(nn.Linear(5, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3))
        opt = hw.optim.AdamW(net.parameters(), lr=0.01)

        def step(x, y):
            opt.zero_grad()
            with hw.autocast("cpu", dtype=hw.bfloat16):
                out = net(x)
                loss = F.cross_entropy(out, y)
            loss.backward()
            opt.step()
            return loss, out

        def plain(x, y):
            opt.zero_grad()
            out = net(x)
            loss = F.cross_entropy(out, y)
            loss.backward()
            opt.step()
            return loss, out

        return step if where == "inside" else plain, [net, opt]

    if where == "inside":
        check_steps(make, batches(3), captures=1)
        return
    with hw.autocast("cpu", dtype=hw.bfloat16):
        check_steps(make, batches(3), captures=1)


def test_autocast_outside_is_seen():
    net = network()
    program = hw.compile(net)
    x = batches(1)[0][0]
    for on in (False, True, False, True):
        with hw.autocast("cpu", dtype=hw.bfloat16, enabled=on), hw.no_grad():
            want = net(x)
            got = program(x)
        assert got.dtype == want.dtype == (hw.bfloat16 if on else hw.float32)
        assert_same(array(got), array(want))
    assert program.captures == 2


def test_numbers_of_numpy_are_told_by_value():
    import numpy as np

    f = hw.compile(lambda x, n: x * float(n))
    for value in (2.0, 2.0, 3.0, 2.0):
        assert f(hw.ones(1), np.array(value)).item() == value
        assert f(hw.ones(1), np.float64(value)).item() == value
    assert f.captures <= 4
