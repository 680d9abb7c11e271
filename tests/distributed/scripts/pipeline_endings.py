"""A pipeline of two stages whose second one ends in the way that the first argument names; writes when, into the second."""

import os
import signal
import sys
import time
from pathlib import Path

import headwater as hw
import headwater.nn.functional as F
from headwater import nn

mode, file = sys.argv[1], Path(sys.argv[2])
MICRO_BATCHES, FAILS_AT = 4, 6  # the second micro-batch of the second step


class Ends(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.calls = nn.Linear(4, 4), 0

    def forward(self, x):
        y = self.linear(x)
        if mode == "item":
            self.end(y)
        if self.training and hw.distributed.get_rank() == 1:
            self.calls += 1
            if self.calls == FAILS_AT:
                self.end(y)
            if mode == "backward":
                y.register_hook(self.in_backward)
        return y

    def in_backward(self, gradient):
        if self.calls == FAILS_AT:
            self.end(gradient)

    def end(self, y):
        file.write_text(str(time.time()))
        if mode == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if mode == "raises" or not y.requires_grad:
            raise ValueError("the layer is out of ideas")
        if mode == "item":
            print(y.sum().item())


hw.manual_seed(0)
model = hw.parallelize(nn.Sequential(nn.Linear(4, 4), Ends()), hw.mesh("cpu", 2, names=("pipe",)))
optimizer = hw.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    hw.accumulate(model, F.mse_loss, hw.ones(8, 4), hw.ones(8, 4), micro_batches=MICRO_BATCHES)
    optimizer.step()
    print("step", step, flush=True)
