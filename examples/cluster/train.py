"""Trains a small model on however many ranks there are: the mesh is all that changes.

    python train.py --model gpt
    python train.py --model gpt --mesh pipe=2,data=2                 # four virtual ranks in this process
    mpirun -n 4 python train.py --model resnet --mesh data=4         # a rank a process; slurm.sh and mpijob.yaml do the same

Models: digits (a perceptron on scikit-learn's handwritten digits), resnet (a narrow ResNet on the same), gpt (a tiny GPT-2 on the
project's documents). Every mesh gives the losses of one rank, but for the order in which sums are formed. Batch norm over few rows
makes much of that: `--dtype float64` shows that nothing else differs.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where models/ is

import headwater as hw  # noqa: E402
import headwater.nn.functional as F  # noqa: E402
from headwater import nn  # noqa: E402

Batches = Iterator[tuple[hw.Tensor, hw.Tensor]]


def images(batch: int, large: bool) -> Batches:
    from models.mlp.train import digits

    pictures, labels, _, _ = digits()
    while True:
        rows = hw.randint(0, len(labels), (batch,))
        x = pictures[rows]
        yield F.interpolate(x.unsqueeze(1), scale_factor=4, mode="nearest") if large else x, labels[rows]


def characters(batch: int, length: int) -> Batches:
    from models.text import characters, windows

    text = characters()
    while True:
        ids = windows(text, batch, length + 1)
        yield ids[:, :-1], ids[:, 1:]


def model_and_data(name: str, batch: int) -> tuple[nn.Module, Batches]:
    if name == "digits":
        from models.mlp.config import Config as Sizes
        from models.mlp.model import MLP

        return MLP(Sizes(inputs=64, hidden=(64, 64))), images(batch, large=False)
    if name == "resnet":
        from models.resnet.config import Config
        from models.resnet.model import ResNet

        return ResNet(Config(width=8, depths=(1, 1, 1, 1), channels=1, classes=10)), images(batch, large=True)
    from models.gpt2.config import TINY
    from models.gpt2.model import GPT2LMHeadModel

    return GPT2LMHeadModel(TINY), characters(batch, 24)


def loss_of(scores: hw.Tensor, targets: hw.Tensor) -> hw.Tensor:
    return F.cross_entropy(scores.reshape(-1, scores.shape[-1]), targets.reshape(-1))


def train(name: str, mesh: str, plan: str, steps: int, dtype: str = "float32", batch: int = 16, micro_batches: int = 4) -> list[float]:
    """Returns the loss of each step. `mesh`: its axes, as "pipe=2,data=2"."""
    axes = {axis: int(size) for axis, size in (part.split("=") for part in mesh.split(","))}
    hw.manual_seed(0)
    model, batches = model_and_data(name, batch)
    kind = getattr(hw, dtype)
    model.to(kind)
    model = hw.parallelize(model, hw.mesh("cpu", tuple(axes.values()), names=tuple(axes)), plan)
    optimizer = hw.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    for _ in range(steps):
        inputs, targets = next(batches)
        inputs = inputs.to(kind) if inputs.is_floating_point() else inputs
        optimizer.zero_grad()
        loss = hw.accumulate(model, loss_of, inputs, targets, micro_batches=micro_batches)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=("digits", "resnet", "gpt"), default="digits")
    parser.add_argument("--mesh", default="data=1")
    parser.add_argument("--plan", default="data")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    a = parser.parse_args()
    losses = train(a.model, a.mesh, a.plan, a.steps, a.dtype)
    if hw.distributed.get_rank() == 0:
        ranks = math.prod(int(part.split("=")[1]) for part in a.mesh.split(","))
        print(f"{a.model} on {ranks} ranks ({a.mesh}, {a.plan}):", *(f"{loss:.6f}" for loss in losses), flush=True)


if __name__ == "__main__":
    main()
