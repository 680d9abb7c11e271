"""Training on two hosts: the losses, or what ends it. Writes how each rank ended, and when, beside the wire's file."""

import sys
import time
from pathlib import Path

import headwater as hw
import headwater.distributed as dist
import headwater.nn.functional as F
from headwater import nn

folder, mode = Path(sys.argv[1]), sys.argv[2]
me = dist.get_rank()
hw.manual_seed(0)
names = ("pipe",) if mode.startswith("pipe") else ("data",)
model = hw.parallelize(nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 8)), hw.mesh("cpu", 2, names=names), "data")
optimizer = hw.optim.AdamW(model.parameters(), lr=0.01)
x, y = hw.randn(32, 64), hw.randn(32, 8)
losses = []
begin = time.monotonic()
try:
    while len(losses) < 4 or (mode.endswith("cut") and time.monotonic() - begin < 60):
        optimizer.zero_grad()
        loss = hw.accumulate(model, F.mse_loss, x, y, micro_batches=4)
        optimizer.step()
        losses.append(loss.item())
        if me == 0 and mode.endswith("cut") and len(losses) == 4:
            (folder / "cut").write_text(str(time.time()))
except RuntimeError as error:
    (folder / f"end-{me}").write_text(f"{time.time()} {error}")
    raise
(folder / f"losses-{me}").write_text(" ".join(map(str, losses)))
