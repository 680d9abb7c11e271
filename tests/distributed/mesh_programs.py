"""What the processes of test_processes.py run."""

import itertools

import numpy as np

import headwater as hw
import headwater.nn.functional as F
from models.gpt2.config import Config as GPTConfig
from models.gpt2.model import GPT2LMHeadModel

GPT = GPTConfig(vocab_size=40, n_positions=16, n_embd=16, n_layer=1, n_head=4, dropout=0.1)


def boxing():
    """Every pair on a few meshes of four ranks; what full() gave each time."""
    S, B, SUM, MAX = hw.split, hw.broadcast, hw.partial_sum, hw.partial_max
    line, grid, half, other = hw.mesh("cpu", 4), hw.mesh("cpu", (2, 2)), hw.mesh("cpu", 2, ranks=[2, 1]), hw.mesh("cpu", 3, ranks=[1, 2, 3])
    places = [(m, [k]) for m in (line, half, other) for k in (S(0), S(1), B, SUM, MAX)]
    places += [(grid, list(k)) for k in ((S(0), S(1)), (S(1), S(1)), (SUM, S(0)), (B, MAX), (SUM, SUM))]
    x = hw.arange(15.0).reshape(5, 3)
    for a, b in itertools.product(places, places):
        g = x.to_global(*a)
        h = (g + 0).to_global(*b)
        assert hw.equal(h.full(), x), (a, b)
    hosted = [rank for rank, _ in hw._C.local_parts(x.to_global(line, B))]
    p = hw.from_local([hw.full((2, 2), float(rank)) for rank in hosted], line, SUM, shape=(2, 2))
    return p.full().tolist(), hosted


def train(shape, plan, steps=3):
    hw.manual_seed(0)
    ids = hw.tensor(np.random.default_rng(1).integers(0, 40, (6, 9)))
    model = GPT2LMHeadModel(GPT)
    if shape:
        model = hw.parallelize(model, hw.mesh("cpu", shape, names=("data", "model")[:len(shape)]), plan)
        ids = hw.distributed.place_batch(model, ids)
    opt = hw.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        opt.zero_grad()
        scores = model(ids[:, :-1])
        loss = F.cross_entropy(scores.reshape(-1, 40), ids[:, 1:].reshape(-1))
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, [float(p.detach().full().sum().item()) for p in model.parameters()], hw.rand(3).tolist()


def stages():
    """Two disjoint meshes, each on its own process, with a value that goes from one to the other and a gradient back."""
    first, second = hw.mesh("cpu", 1, ranks=[0]), hw.mesh("cpu", 1, ranks=[1])
    x = hw.arange(6.0).reshape(2, 3).to_global(first, hw.broadcast).requires_grad_()
    y = F.dropout((x * 2).to_global(second, hw.split(0)), 0.5)
    (y * y).sum().backward()
    return y.detach().full().tolist(), x.grad.full().tolist()


def refused():
    """The messages of what does not work."""
    attempts = [
        lambda: hw.ones(3).to_global(hw.mesh("cpu", 3), hw.broadcast),
        lambda: hw.ones(3).to_global(hw.mesh("cpu", 2), hw.split(0)).to_global(hw.mesh("cpu", 4), hw.broadcast),
        lambda: hw.from_local(hw.ones(3), hw.mesh("cpu", 2), hw.split(0)),
        lambda: hw._C.join_world(0, 2, 2, print),
    ]
    messages = []
    for attempt in attempts:
        try:
            attempt()
        except (ValueError, RuntimeError) as e:
            messages.append(str(e))
    return messages


def several():
    return refused(), stages()
