"""Training of a sampled classifier and of split tables, for one process and for several."""

import numpy as np

import headwater as hw
import headwater.nn.functional as F
from headwater import nn
from models.dlrm.config import Config
from models.dlrm.model import DLRM

B, S = hw.broadcast, hw.split


def head(mesh, classes, rate, **options):
    hw.manual_seed(3)
    if mesh is None:
        return nn.PartialFC(8, classes, rate, scale=8.0, **options)
    with hw.distributed.tables_on(mesh, [S(0) if name != "data" else B for name in mesh.names]):
        return nn.PartialFC(8, classes, rate, scale=8.0, **options)


OPTIMIZERS = {"sgd": lambda p: hw.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-3), "adagrad": lambda p: hw.optim.Adagrad(p, lr=0.1),
              "adam": lambda p: hw.optim.SparseAdam(p, lr=0.01)}


def train_head(mesh, classes, rate, optimizer, sbp=B, steps=3, clip=None):
    """Losses, the weight and that of a layer before it at the end."""
    fc, before = head(mesh, classes, rate), nn.Linear(8, 8)
    if mesh is not None:
        before = before.to_global(mesh, [B] * mesh.ndim)
    steppers = [OPTIMIZERS[optimizer](fc.parameters()), hw.optim.SGD(before.parameters(), lr=0.1)]
    rng, losses = np.random.default_rng(0), []
    for _ in range(steps):
        x, t = hw.tensor(rng.standard_normal((6, 8)).astype("float32")), hw.tensor(rng.integers(0, classes, 6))
        if mesh is not None:
            x, t = x.to_global(mesh, sbp), t.to_global(mesh, sbp)
        for o in steppers:
            o.zero_grad()
        loss = fc(before(x), t)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_([*fc.parameters(), *before.parameters()], clip)
        for o in steppers:
            o.step()
        losses.append(loss.item())
    return losses, fc.weight.detach().full().numpy(), before.weight.detach().full().numpy()


def make_dlrm(mesh, sparse):
    config = Config(dense=4, embedding=8, tables=(50, 23, 31), bottom=(16,), top=(16,), sparse=sparse)
    hw.manual_seed(0)
    if mesh is None:
        return DLRM(config)
    split = [S(0) if i == mesh.ndim - 1 else B for i in range(mesh.ndim)]
    with hw.distributed.tables_on(mesh, split):
        model = DLRM(config)
    return model.to_global(mesh, {"emb_l.*": split})


def train_dlrm(mesh, optimizer, sparse, steps=3):
    model = make_dlrm(mesh, sparse)
    tables = [t.weight for t in model.emb_l]
    rest = [p for p in model.parameters() if not any(p is t for t in tables)]
    steppers = [optimizer(tables), hw.optim.SGD(rest, lr=0.1)]
    rng, losses = np.random.default_rng(0), []
    for _ in range(steps):
        dense = hw.tensor(rng.standard_normal((6, 4)).astype("float32"))
        ids = hw.tensor(np.stack([rng.integers(0, rows, (6, 2)) for rows in (50, 23, 31)]))
        y = hw.tensor(rng.integers(0, 2, (6, 1)).astype("float32"))
        if mesh is not None:
            rows = [S(0) if i == 0 else B for i in range(mesh.ndim)]
            dense, y = dense.to_global(mesh, rows), y.to_global(mesh, rows)
            ids = ids.to_global(mesh, [S(1) if s == S(0) else B for s in rows])
        for o in steppers:
            o.zero_grad()
        loss = F.binary_cross_entropy(model(dense, ids), y)
        loss.backward()
        for o in steppers:
            o.step()
        losses.append(loss.item())
    return losses, [t.detach().full().numpy() for t in tables]


SPARSE = {"sgd": lambda p: hw.optim.SGD(p, lr=0.5), "adagrad": lambda p: hw.optim.Adagrad(p, lr=0.1),
          "lazy adam": lambda p: hw.optim.SparseAdam(p, lr=0.01)}
