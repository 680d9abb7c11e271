"""What test_compiled_processes.py runs in several processes: the same steps eager and compiled."""

import os

import numpy as np

import headwater as hw
from headwater import nn
from models.gpt2.config import Config as GPTConfig
from models.gpt2.model import GPT2LMHeadModel


def mlp():
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.2), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))


def gpt():
    return GPT2LMHeadModel(GPTConfig(vocab_size=40, n_positions=16, n_embd=16, n_layer=1, n_head=4, dropout=0.1))


def batch(model, rng):
    if model is gpt:
        ids = hw.tensor(rng.integers(0, 40, (4, 9)))
        return ids[:, :-1].clone(), ids[:, 1:].clone()
    return hw.tensor(rng.standard_normal((6, 8)).astype("float32")), hw.tensor(rng.standard_normal((6, 4)).astype("float32"))


def loss_of(net, x, y):
    out = net(x)
    return nn.functional.cross_entropy(out.flatten(0, 1), y.flatten()) if y.dtype == hw.int64 else nn.functional.mse_loss(out, y)


def bits(t):
    return t.detach().full().numpy().tobytes()


def train(model, shape, plan, wrap, steps=3):
    """Losses, final parameters and the state of the optimiser of a few whole steps, and how often it was captured."""
    hw.manual_seed(3)
    rng = np.random.default_rng(1)
    names = ("data", "model") if len(shape) == 2 else ({"tensor": "model", "stages": "pipe"}.get(plan, "data"),)
    net = hw.parallelize(model(), hw.mesh("cpu", shape, names=names), "data" if plan == "stages" else plan)
    opt = hw.optim.AdamW(net.parameters(), lr=0.01)

    def step(x, y):
        loss = loss_of(net, x, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    run = wrap(step)
    losses = []
    for _ in range(steps):
        x, y = batch(model, rng)
        losses.append(run(x, hw.distributed.place_batch(net, y)).item())
    state = [bits(v) for p in net.parameters() for v in opt.state[p].values() if isinstance(v, hw.Tensor)]
    return losses, [bits(p) for p in net.parameters()], state, getattr(run, "captures", 1)


def steps(cases):
    """By case: results of eager and of compiled steps."""
    models = {"mlp": mlp, "gpt": gpt}
    return [[train(models[model], shape, plan, wrap) for wrap in (lambda f: f, hw.compile)] for model, shape, plan in cases]


def gradients_outside():
    """A compiled forward pass with gradients computed outside: forward and backward are programs of their own, both with exchanges."""
    found = []
    line = hw.mesh("cpu", 2)
    for wrap in (lambda f: f, hw.compile):
        hw.manual_seed(1)
        net = nn.Sequential(nn.Linear(8, 6), nn.GELU(), nn.Linear(6, 4)).to_global(line, {"0.*": hw.split(0), "2.weight": hw.split(1)})
        x = hw.randn(6, 8).to_global(line, hw.broadcast).requires_grad_()
        forward = wrap(lambda t, net=net: net(t).relu())
        for _ in range(3):
            forward(x).square().mean().backward()
        found.append([bits(t) for t in [x.grad, *(p.grad for p in net.parameters())]])
    return found


def results():
    """Values of several kinds, eager and compiled, among them a piece that only one process wants and a view of part of a tensor."""
    line = hw.mesh("cpu", 2)
    x, w = hw.arange(15.0).reshape(5, 3).to_global(line, hw.split(0)), hw.ones(3, 4).to_global(line, hw.split(1))
    second = hw.mesh("cpu", 1, ranks=[1])

    def hand_over(x):
        moved = (x * 2).to_global(second, hw.broadcast)  # process 0 sends, and gets nothing
        return moved.sum(), x.sum(0).relu()

    def several(x):
        return x.full(), (x @ w).full(), x.to_global(line, hw.split(1)) + 1, x[1:4].softmax(0), x.mean(), x.max()

    found = []
    for f in (hand_over, several):
        for run in (f, hw.compile(f)):
            found.append([[bits(t) if t.is_global else t.numpy().tobytes() for t in run(x)] for _ in range(2)])
    return found


def tables():
    """Steps of an embedding table and a classifier that are split by rows: losses and parameters, eager and compiled."""
    line, found = hw.mesh("cpu", 2), []
    for wrap in (lambda f: f, hw.compile):
        hw.manual_seed(0)
        table = nn.Embedding(30, 8, sparse=True).to_global(line, hw.split(0))
        classes = nn.PartialFC(8, 50, sample_rate=1.0).to_global(line, hw.split(0))
        opt = hw.optim.SGD([*table.parameters(), *classes.parameters()], lr=0.1)

        def step(ids, y, table=table, classes=classes, opt=opt):
            loss = classes(table(ids), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss

        run = wrap(step)
        ids, y = (hw.randint(0, n, (6,)).to_global(line, hw.split(0)) for n in (30, 50))
        found.append([*(run(ids, y).item() for _ in range(3)), *(bits(p) for p in (table.weight, *classes.parameters()))])
    return found


def frozen():
    """What hw.freeze says of ranks in several processes."""
    x = hw.ones(4, 4).to_global(hw.mesh("cpu", 2), hw.split(0))
    try:
        hw.freeze(lambda x: x.sum(0).relu(), (x,), os.devnull)
    except hw.FreezeError as e:
        return str(e)
    return ""


def everything(cases):
    return steps(cases), gradients_outside(), results(), tables(), frozen()


def line_is_cut():
    """What eager and compiled calls raise when nothing can be sent."""

    def exchange(sent, sizes):
        raise OSError("the line is cut")

    hw._C.join_world(0, 2, 2, exchange)
    x, raised = hw.arange(6.0).reshape(2, 3).to_global(hw.mesh("cpu", 2), hw.split(0)), []
    for f in (lambda x: x.sum(0).relu(), hw.compile(lambda x: x.sum(0).relu())):
        try:
            f(x)
        except OSError as e:
            raised.append(f"{type(e).__name__}: {e}")
    return raised
