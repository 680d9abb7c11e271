"""Hooks around forward and backward, against torch where it has an answer."""

import pickle

import pytest
import torch
from torch_pairs import close, copy_state, to_hw

import headwater as hw
from headwater import nn
from headwater.nn.modules import hooks


def double(module, args, output):
    return output * 2


class Sum(nn.Module):
    def forward(self, x, scale=1):
        return x * scale


def test_pre_hook_sees_and_replaces_args():
    m, seen = Sum(), []
    handle = m.register_forward_pre_hook(lambda module, args: seen.append((module, args)))
    m.register_forward_pre_hook(lambda module, args: args[0] + 1)
    assert float(m(hw.tensor(1.0))) == 2 and seen[0][0] is m and len(seen[0][1]) == 1
    handle.remove()
    handle.remove()
    m(hw.tensor(1.0))
    assert len(seen) == 1


def test_hooks_with_kwargs():
    m, seen = Sum(), []
    m.register_forward_pre_hook(lambda module, args, kwargs: (args, {"scale": kwargs["scale"] + 1}), with_kwargs=True)
    m.register_forward_hook(lambda module, args, kwargs, out: seen.append(kwargs), with_kwargs=True)
    assert float(m(hw.tensor(1.0), scale=2)) == 3 and seen == [{"scale": 3}]
    m.register_forward_pre_hook(lambda module, args, kwargs: 5, with_kwargs=True)
    with pytest.raises(RuntimeError, match="must return None or"):
        m(hw.tensor(1.0), scale=2)


def test_forward_hooks_run_in_order_and_prepend_goes_first():
    m = Sum()
    m.register_forward_hook(lambda module, args, out: out + 1)
    with m.register_forward_hook(double):
        assert float(m(hw.tensor(1.0))) == 4
    assert float(m(hw.tensor(1.0))) == 2
    m.register_forward_hook(double, prepend=True)
    assert float(m(hw.tensor(1.0))) == 3


def test_always_call_runs_after_an_error():
    class Broken(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    m, seen = Broken(), []
    m.register_forward_hook(lambda module, args, out: seen.append(out), always_call=True)
    m.register_forward_hook(lambda module, args, out: seen.append("never"))
    with pytest.raises(ValueError, match="no"):
        m(1)
    assert seen == [None]


def test_hooks_of_every_module():
    seen = []
    call = nn.Module.__call__
    try:
        pre = nn.modules.register_module_forward_pre_hook(lambda module, args: seen.append("before"))
        post = nn.modules.register_module_forward_hook(lambda module, args, out: seen.append("after"))
        nn.Sequential(Sum())(hw.tensor(1.0))
        assert seen == ["before", "before", "after", "after"]
        pre.remove()
        post.remove()
        nn.Sequential(Sum())(hw.tensor(1.0))
        assert len(seen) == 4
    finally:
        nn.Module.__call__ = call
        assert not hooks.every_module


def hooked_pair():
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    ours = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    copy_state(theirs, ours)
    return theirs, ours


@pytest.mark.parametrize("with_input_grad", [True, False])
def test_backward_hooks_see_torchs_gradients(with_input_grad):
    theirs, ours = hooked_pair()
    x = torch.randn(5, 3).requires_grad_(with_input_grad)
    records = []
    for net, data in ((theirs, x), (ours, to_hw(x))):
        record = []
        for module in net:
            module.register_full_backward_hook(lambda m, gin, gout, record=record: record.append((gin, gout)))
            module.register_full_backward_pre_hook(lambda m, gout, record=record: record.append((gout,)))
        net(data).sum().backward()
        records.append(record)
    assert len(records[0]) == len(records[1]) == 6
    for expected, got in zip(*records):
        for a, b in zip(got, expected):
            assert [t is None for t in a] == [t is None for t in b]
            for s, t in zip(a, b):
                if t is not None:
                    close(s, t)


def test_backward_hooks_can_change_gradients():
    theirs, ours = hooked_pair()
    x = torch.randn(5, 3, requires_grad=True)
    own = to_hw(x)
    for net in (theirs, ours):
        net[1].register_full_backward_hook(lambda m, gin, gout: (gin[0] * 2,))
        net[2].register_full_backward_pre_hook(lambda m, gout: (gout[0] * 3,))
    theirs(x).sum().backward()
    ours(own).sum().backward()
    close(own.grad, x.grad)
    close(ours[0].weight.grad, theirs[0].weight.grad)


def test_a_backward_hook_with_a_wrong_number_of_gradients_is_an_error():
    m = nn.Linear(2, 2)
    m.register_full_backward_hook(lambda module, gin, gout: (None, None))
    out = m(hw.ones(1, 2, requires_grad=True)).sum()
    with pytest.raises(RuntimeError, match="returned 2 gradients"):
        out.backward()


def test_hooks_do_nothing_in_no_grad_and_survive_pickling():
    m = nn.Linear(2, 2)
    m.register_full_backward_hook(lambda module, gin, gout: None)
    with hw.no_grad():
        assert not m(hw.ones(1, 2)).requires_grad
    n = Sum()
    n.register_forward_hook(double)
    assert float(pickle.loads(pickle.dumps(n))(hw.tensor(1.0))) == 2
