"""Steps with gradients of unusual kinds: double backward, hooks, own functions."""

from __future__ import annotations

from networks import batches, network
from same import assert_same, check_steps, frozen

import headwater as hw
from headwater import nn
from headwater.nn import functional as F


def test_penalty_of_the_gradient_by_double_backward():
    def make():
        net = network()
        opt = hw.optim.Adam(net.parameters(), lr=0.01)

        def step(x, y):
            opt.zero_grad()
            x = x.detach().requires_grad_()
            loss = F.cross_entropy(net(x), y)
            (g,) = hw.autograd.grad(loss, x, create_graph=True)
            total = loss + (g * g).sum()
            total.backward()
            opt.step()
            return total, g.detach()

        return step, [net, opt]

    check_steps(make, batches(3), captures=1)


def test_backward_twice_with_retain_graph():
    def make():
        net = network()
        opt = hw.optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            opt.zero_grad()
            out = net(x)
            loss, other = F.cross_entropy(out, y), out.square().mean()
            loss.backward(retain_graph=True)
            other.backward()
            opt.step()
            return loss, other

        return step, [net, opt]

    check_steps(make, batches(3), captures=1)


def test_backward_with_create_graph_leaves_grads_with_history_inside():
    def make():
        w = hw.tensor([1.0, 2.0], requires_grad=True)

        def step(x):
            w.grad = None
            ((w * x) ** 3).sum().backward(create_graph=True)
            g = w.grad
            (second,) = hw.autograd.grad(g.sum(), w)
            w.grad = None
            with hw.no_grad():
                w.sub_(0.01 * second)
            return second

        return step, [w]

    check_steps(make, [(hw.tensor([1.0, 0.5]),), (hw.tensor([0.3, 0.2]),)], captures=1)


def test_hooks():
    def make():
        net = network()
        opt = hw.optim.SGD(net.parameters(), lr=0.1)
        net[0].weight.register_hook(lambda g: g * 2)
        net.register_forward_hook(lambda m, args, out: out * 0.5)
        net[1].register_forward_pre_hook(lambda m, args: (args[0] + 1,))
        net[1].register_full_backward_hook(lambda m, gi, go: (gi[0] * 3,))

        def step(x, y):
            opt.zero_grad()
            out = net(x)
            out.register_hook(lambda g: g.clamp(-0.1, 0.1))
            out.retain_grad()
            loss = F.cross_entropy(out, y)
            loss.backward()
            opt.step()
            return loss, out.grad

        return step, [net, opt]

    check_steps(make, batches(3), captures=1)


def test_step_in_the_backward_pass():
    """An optimiser for each parameter, stepped by a hook as soon as its gradient is there."""

    def make():
        net = network()
        opts = {p: hw.optim.SGD([p], lr=0.1, momentum=0.9) for p in net.parameters()}

        def update(p):
            opts[p].step()
            opts[p].zero_grad()

        for p in net.parameters():
            p.register_post_accumulate_grad_hook(update)

        def step(x, y):
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            return loss

        return step, [net, list(opts.values())]

    check_steps(make, batches(3), captures=1)


class Scaled(hw.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return (x * factor).tanh()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (1 - (x * ctx.factor).tanh() ** 2) * ctx.factor * 0.5, None


def test_own_function():
    def make():
        net = nn.ModuleList([nn.Linear(5, 8), nn.Linear(8, 3)])
        opt = hw.optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(net[1](Scaled.apply(net[0](x), 1.5)), y)
            loss.backward()
            opt.step()
            return loss

        return step, [net, opt]

    check_steps(make, batches(3), captures=1)


def test_gradients_none_present_and_set_between_calls():
    def run(wrap):
        hw.manual_seed(0)
        net = network()
        opt = hw.optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            return loss

        program = wrap(step)
        found = []
        for i, batch in enumerate(batches(8)):
            if i == 2:
                opt.zero_grad()
            if i == 3:
                net[0].weight.grad = hw.ones_like(net[0].weight)
            if i == 4:
                net[0].weight.grad = None
            if i == 5:
                opt.zero_grad(set_to_none=False)
            if i == 6:
                opt.step()
            program(*batch)
            found.append(frozen([net, opt]))
        return found

    assert_same(run(hw.compile), run(lambda f: f))
