"""How long the first call of a compiled training step takes: cold, from the cache on disk, and in torch.compile.

    python benchmarks/compile_time.py [--blocks 100] [--rounds 3] [--torch]

The network is blocks of linear, norm and ReLU, 3 layers each; a step is forward, cross-entropy, backward and update. Each
measurement is a process of its own; the time is that of the first call, which captures, compiles and runs. Importing the
package and building the model come before it and are printed apart. Wall and processor seconds, the median of the rounds.
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

CHILD = """
import json, sys, time
framework, norm, optimiser, blocks = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
start = time.perf_counter()
if framework == "torch":
    import torch as hw
    from torch import nn
else:
    import headwater as hw
    from headwater import nn
imported = time.perf_counter()
hw.manual_seed(0)
make = nn.BatchNorm1d if norm == "batch" else nn.LayerNorm
layers = [layer for _ in range(blocks) for layer in (nn.Linear(64, 64), make(64), nn.ReLU())]
model = nn.Sequential(*layers, nn.Linear(64, 10))
parameters = model.parameters()
optimizer = hw.optim.SGD(parameters, lr=0.01, momentum=0.9) if optimiser == "sgd" else hw.optim.Adam(parameters)

def step(x, label):
    loss = nn.functional.cross_entropy(model(x), label)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss

compiled = hw.compile(step)
x, label = hw.randn(32, 64), hw.arange(32) % 10
built, cpu = time.perf_counter(), time.process_time()
compiled(x, label)
done, cpu_done = time.perf_counter(), time.process_time()
compiled(x, label)
cached = framework == "headwater" and compiled.variants[0].program.from_cache
print(json.dumps({"import": imported - start, "model": built - imported, "first": done - built, "cpu": cpu_done - cpu,
                  "second": time.perf_counter() - done, "cached": cached}))
"""


def measure(framework: str, norm: str, optimiser: str, blocks: int, cache: str) -> dict[str, float]:
    """One process; `cache`: the folder of compiled programs."""
    environment = {**os.environ, "HEADWATER_CACHE_DIR": cache, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    command = [sys.executable, "-c", CHILD, framework, norm, optimiser, str(blocks)]
    out = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return dict(json.loads(out.stdout.splitlines()[-1]))


def show(name: str, runs: list[dict[str, float]]) -> None:
    medians = {key: statistics.median(r[key] for r in runs) for key in ("import", "model", "first", "cpu", "second")}
    print(
        f"{name:<32}{medians['first']:>9.3f}{medians['cpu']:>9.3f}{medians['second'] * 1000:>12.1f}"
        f"{medians['import']:>9.3f}{medians['model']:>8.3f}", flush=True,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torch", action="store_true", help="torch.compile too, cold: a minute or more each")
    options = parser.parse_args()
    print(f"{'first call, seconds':<32}{'wall':>9}{'cpu':>9}{'second, ms':>12}{'import':>9}{'model':>8}")
    for norm in ("batch", "layer"):
        for optimiser in ("sgd", "adam"):
            name = f"{norm} norm, {optimiser}"
            with tempfile.TemporaryDirectory() as cache:
                show(f"{name}: cold", [measure("headwater", norm, optimiser, options.blocks, "off") for _ in range(options.rounds)])
                measure("headwater", norm, optimiser, options.blocks, cache)
                warm = [measure("headwater", norm, optimiser, options.blocks, cache) for _ in range(options.rounds)]
                if not all(r["cached"] for r in warm):
                    raise SystemExit("a second process did not find the program in the cache")
                show(f"{name}: from the cache", warm)
            if options.torch:
                show(f"{name}: torch.compile", [measure("torch", norm, optimiser, options.blocks, "off")])


if __name__ == "__main__":
    main()
