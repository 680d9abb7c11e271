"""Data parallel by a plain backward(): gradients, what was sent when, and ends in the midst of a backward pass.

    headwater launch -n 3 overlap.py data          gradients of two passes as hashes, the collectives of a pass
    headwater launch -n 2 overlap.py data killed   rank 1 goes in the midst of a backward pass; also: raises, caught
"""

import json
import os
import signal
import sys

import headwater as hw
import headwater.distributed as dist
from headwater import nn

F = nn.functional


def network():
    hw.manual_seed(0)
    layers = [nn.Linear(6, 700), nn.ReLU(), nn.Linear(700, 600), nn.ReLU(), *(nn.Linear(600 if i == 0 else 5, 5) for i in range(12))]
    return nn.Sequential(*layers, nn.LayerNorm(5))


def gradients(ranks, plan, passes=2):
    """The model, and after two passes the hashes of the whole gradients."""
    model = hw.parallelize(network(), hw.mesh("cpu", ranks, names=("data",)), plan)
    model[0].weight.register_hook(lambda g: g * 2)  # is summed at once
    x, y = hw.randn(13, 6), dist.place_batch(model, hw.randn(13, 5))
    for _ in range(passes):
        F.mse_loss(model(x), y).backward()
    return model, (x, y), [hw._C.hash_tensor(p.grad.full().contiguous()) for p in model.parameters()]


def traffic(model, x, y):
    """Collectives of one pass, and how many of them had begun when the last product of the backward pass had not."""
    with hw.profile() as profile:
        F.mse_loss(model(x), y).backward()
    sums = [e for e in profile.events() if e.name.startswith(("all_reduce", "reduce_scatter"))]
    last = max(e.begin for e in profile.events() if e.name == "mm")
    return len(sums), sum(e.begin < last for e in sums)


class Trouble(nn.Module):
    """Something happens in the backward pass of rank 1, after gradients of later layers are on their way."""

    def __init__(self, mode):
        super().__init__()
        self.mode = mode

    def forward(self, x):
        if x.requires_grad:
            x.register_hook(self.happen)
        return x

    def happen(self, gradient):
        if self.mode == "killed" and dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.mode == "caught" or (self.mode == "raises" and dist.get_rank() == 1):
            raise ValueError("the loss is on fire")


def ends(mode):
    model = network()
    model.insert(2, Trouble(mode))
    model = hw.parallelize(model, hw.mesh("cpu", dist.get_world_size(), names=("data",)), "data")
    x, y = hw.randn(12, 6), dist.place_batch(model, hw.randn(12, 5))
    print("started", flush=True)
    for _ in range(3):
        model.zero_grad()
        try:
            F.mse_loss(model(x), y).backward()
        except ValueError:
            if mode != "caught":
                raise
            model[2].mode = ""  # on every rank: the next pass goes through
    print("ended", hw._C.hash_tensor(model[3].weight.grad.full()), flush=True)


if __name__ == "__main__":
    dist.init()
    if len(sys.argv) > 2:
        ends(sys.argv[2])
    else:
        found, batch, hashes = gradients(dist.get_world_size(), sys.argv[1])
        print("found", json.dumps([dist.get_rank(), hashes, traffic(found, *batch)]))
