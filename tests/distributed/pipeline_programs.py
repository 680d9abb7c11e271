"""What the processes of test_pipeline_processes.py run, by themselves over pipes or as a script under MPI."""

import json
import sys
from pathlib import Path

import numpy as np

import headwater as hw
import headwater.nn.functional as F
from headwater import nn
from models.gpt2.config import Config as GPTConfig
from models.gpt2.model import GPT2LMHeadModel


def train(shape, names, plan, steps=2):
    """Losses, norms and what is drawn afterwards, of a small GPT with dropout in uneven micro-batches."""
    hw.manual_seed(0)
    model = GPT2LMHeadModel(GPTConfig(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=4, dropout=0.1))
    hw.parallelize(model, hw.mesh("cpu", shape, names=names), plan)
    ids = hw.tensor(np.random.default_rng(1).integers(0, 40, (7, 9)))
    opt = hw.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = hw.amp.GradScaler(init_scale=64.0)
    found = []
    for step in range(steps):
        opt.zero_grad()
        loss = hw.accumulate(model, lambda y, t: F.cross_entropy(y.reshape(-1, 40), t.reshape(-1)), ids[:, :-1], ids[:, 1:],
                             ahead=step, micro_batches=3, scaler=scaler)  # fmt: skip
        scaler.unscale_(opt)
        found.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5).item())
        scaler.step(opt)
        scaler.update()
        found.append(loss.item())
    with hw.no_grad():
        scores = model.eval()(ids[:2]).full()
    return found, scores.tolist(), [float(p.detach().full().sum().item()) for p in model.parameters()], hw.rand(3).tolist()


if __name__ == "__main__":
    answer = json.dumps(train(*json.loads(sys.argv[1])))
    Path(sys.argv[2], str(hw.distributed.get_rank())).write_text(answer)
