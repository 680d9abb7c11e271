"""Carries modules, states and tensors from torch to headwater and compares results."""

import warnings

import numpy as np
import torch

import headwater as hw


def to_hw(value, seen=None):
    """A torch tensor (or a structure of them) as headwater tensors with their own memory; equal objects stay equal."""
    seen = {} if seen is None else seen
    if isinstance(value, torch.Tensor):
        if id(value) not in seen:
            seen[id(value)] = hw.tensor(value.detach().numpy()).requires_grad_(value.requires_grad)
        return seen[id(value)]
    if isinstance(value, (tuple, list)):
        return type(value)(to_hw(item, seen) for item in value)
    if isinstance(value, dict):
        return {key: to_hw(item, seen) for key, item in value.items()}
    return value


def flat(value):
    """All tensors of a result, in order."""
    if isinstance(value, (torch.Tensor, hw.Tensor)):
        return [value]
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in flat(item)]
    return []


def copy_state(theirs, ours):
    """Loads torch's state_dict into our module after checking that keys and shapes are equal."""
    state, own = theirs.state_dict(), ours.state_dict()
    assert list(state) == list(own)
    assert [tuple(v.shape) for v in state.values()] == [tuple(v.shape) for v in own.values()]
    ours.load_state_dict({key: hw.tensor(value.numpy()) for key, value in state.items()})


def close(ours, theirs, rtol=2e-4, atol=2e-5):
    ours, theirs = ours.detach().numpy(), theirs.detach().numpy()
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


def same_forward_and_backward(theirs, ours, args, kwargs=None, **tolerance):
    """Results, gradients of inputs and parameters, and buffers agree."""
    kwargs = kwargs or {}
    own_args, own_kwargs = to_hw(args), to_hw(kwargs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, got = flat(theirs(*args, **kwargs)), flat(ours(*own_args, **own_kwargs))
    assert len(expected) == len(got)
    for a, b in zip(got, expected):
        close(a, b, **tolerance)
    roots = [i for i, t in enumerate(expected) if t.requires_grad]
    assert roots == [i for i, t in enumerate(got) if t.requires_grad]
    if roots:
        weights = [torch.linspace(-1, 1, max(expected[i].numel(), 1)).reshape(expected[i].shape) for i in roots]
        sum((expected[i] * w).sum() for i, w in zip(roots, weights)).backward()
        total = None
        for i, w in zip(roots, weights):
            term = (got[i] * to_hw(w)).sum()
            total = term if total is None else total + term
        total.backward()
        for a, b in zip(flat(own_args), flat(args)):
            if b.grad is not None:
                close(a.grad, b.grad, **tolerance)
        for (name, a), (_, b) in zip(ours.named_parameters(), theirs.named_parameters()):
            assert (a.grad is None) == (b.grad is None), name
            if b.grad is not None:
                close(a.grad, b.grad, **tolerance)
    for (_, a), (_, b) in zip(ours.named_buffers(), theirs.named_buffers()):
        close(a, b, **tolerance)
