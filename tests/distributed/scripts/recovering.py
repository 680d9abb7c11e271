"""A pipeline whose second stage raises now and then; all ranks catch what comes of it, and take the step again."""

import sys

import headwater as hw
import headwater.distributed as dist
import headwater.nn.functional as F
from headwater import nn

ROWS, WIDTH = 8, int(sys.argv[1])


class Fails(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.calls = nn.Linear(WIDTH, WIDTH), 0

    def forward(self, x):
        self.calls += self.training and dist.get_rank() == 1
        if self.calls in (2, 7):  # one is the first pass of all
            raise ValueError("out of ideas")
        return self.linear(x)


hw.manual_seed(0)
model = hw.parallelize(nn.Sequential(nn.Linear(WIDTH, WIDTH), Fails()), hw.mesh("cpu", 2, names=("pipe",)))
optimizer = hw.optim.SGD(model.parameters(), lr=0.1)
failures, losses = [], []
while len(losses) < 3:
    try:
        optimizer.zero_grad()
        loss = hw.accumulate(model, F.mse_loss, hw.ones(ROWS, WIDTH), hw.ones(ROWS, WIDTH), micro_batches=4)
        optimizer.step()
        losses.append(loss.item())
    except (ValueError, RuntimeError) as error:
        failures.append(str(error))
        dist.recover()
assert len(failures) == 2, failures
assert all("out of ideas" in f for f in failures), failures
dist.barrier()
print("losses", *losses, flush=True)
