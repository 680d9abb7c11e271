"""How long planning takes for a thousand devices: a network of GPT-3's size on 8 stages x 16 x 8 ranks. Goals: 30 s, 4 GB.

    OMP_NUM_THREADS=1 python benchmarks/planning.py [--search]
"""

from __future__ import annotations

import argparse
import resource
import time

import headwater as hw
from headwater import nn
from models.gpt2.config import Config
from models.gpt2.model import GPT2LMHeadModel

SIZES = Config(vocab_size=50257, n_positions=2048, n_embd=12288, n_layer=96, n_head=96)
DEVICE = hw.distributed.Device(flops=200e12, memory_rate=2e12, op_time=5e-6, link_rate=50e9, link_latency=1e-5)


def of_tokens(scores: hw.Tensor, ids: hw.Tensor) -> hw.Tensor:
    return nn.functional.cross_entropy(scores.flatten(0, 1), ids.flatten())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--search", action="store_true", help="search the plan too")
    args = parser.parse_args()
    with hw.distributed.sizes_only():
        model = GPT2LMHeadModel(SIZES)
    ids = hw.zeros((), dtype=hw.int64).expand(1536, 2048)
    mesh = hw.mesh("meta", (8, 16, 8), names=("pipe", "data", "model"))
    begin = time.perf_counter()
    print(hw.distributed.estimate(model, mesh, "tensor+zero1+recompute", ids, ids, loss_of=of_tokens, micro_batches=96, device=DEVICE))
    spent = time.perf_counter() - begin
    print(f"{sum(p.numel() for p in model.parameters()) / 1e9:.1f} billion parameters, {mesh.size} ranks: estimated in {spent:.1f} s, "
          f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB")  # fmt: skip
    if args.search:
        begin = time.perf_counter()
        found = hw.distributed.search_plan(model, mesh, ids, ids, loss_of=of_tokens, micro_batches=96, device=DEVICE, memory=80 << 30)
        print(f"\n{len(found)} plans in {time.perf_counter() - begin:.1f} s; the best:\n{found[0]}")


if __name__ == "__main__":
    main()
