"""Data parallel training: checkpoints by all ranks, resumed by another number of ranks; equal losses; the consistency check."""

import sys

import headwater as hw
import headwater.distributed as dist
from headwater import checkpoint

folder, mode = sys.argv[1:3]
me, ranks = dist.get_rank(), dist.get_world_size()
hw.manual_seed(me)  # they differ: broadcast_parameters must make them equal
model = hw.nn.Sequential(hw.nn.Linear(4, 8), hw.nn.ReLU(), hw.nn.Linear(8, 1))
dist.broadcast_parameters(model)
optimizer = hw.optim.Adam(model.parameters(), lr=0.01)
check = dist.ConsistencyCheck(model, every=2)
first = 0
if mode == "resume":
    state = checkpoint.load(folder)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    first = state["step"]
    local = checkpoint.load_local(folder)
    assert (local is None) == (ranks != 2) and (local is None or local == {"rank": me}), local

hw.manual_seed(7)
x = hw.randn(6, 16, 4)
target = x.sum(-1, keepdim=True)
for step in range(first, 6):
    mine = slice(me * 16 // ranks, (me + 1) * 16 // ranks)
    optimizer.zero_grad()
    loss = ((model(x[step, mine]) - target[step, mine]) ** 2).mean()
    loss.backward()
    dist.average_gradients(model, bucket_bytes=100)
    optimizer.step()
    check.step()
    if mode == "first" and step < 3:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
        checkpoint.save(folder, state, local={"rank": me}, step=step + 1, asynchronous=step != 2)
total = hw.tensor([float(p.detach().double().abs().sum()) for p in model.parameters()]).sum()
if me == 0:
    print(f"sum of the parameters: {float(total):.6f}")
if mode == "first":
    with hw.no_grad():
        model[2].bias.add_(me == 1)
    try:
        dist.check_equal(model)
    except RuntimeError as error:
        assert "the ranks disagree: '2.bias' of rank 1 differs from that of rank 0" in str(error), error
        print("noticed")
