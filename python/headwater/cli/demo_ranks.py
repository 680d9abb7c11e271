"""The demo's second rank: a few training steps on one rank and, where an MPI is present, on two; their losses are compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

STEPS, BATCH, PATIENCE = 10, 32, 20.0  # PATIENCE in seconds
MARK = "losses of two ranks: "


def losses(ranks: int, file: str) -> list[float]:
    """Of data parallel steps on a mesh of so many ranks, with the digits of a file."""
    import headwater as hw

    from .demo import DigitsNet

    hw.manual_seed(0)
    data = hw.load(file)
    images, labels = data["images"], data["labels"]
    model = hw.parallelize(DigitsNet(), hw.mesh("cpu", ranks, names=("data",)), "data")
    optimizer = hw.optim.AdamW(model.parameters(), lr=3e-3)
    found = []
    for i in range(STEPS):
        rows = slice(i * BATCH, (i + 1) * BATCH)
        y: Any = hw.distributed.place_batch(model, labels[rows])
        loss = hw.nn.functional.cross_entropy(model(images[rows]), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def _on_two(file: str) -> list[float] | str:
    """The losses, or why there are none."""
    from .. import distributed
    from .launch import ADVICE, find_mpirun, mpirun_command

    mpirun = find_mpirun()
    if mpirun is None or not distributed.is_available():
        return f"there is no MPI here ({ADVICE})"
    if len(os.sched_getaffinity(0)) < 2:
        return "there is one core here"
    environment = {**os.environ, "HEADWATER_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        command = [*mpirun_command(mpirun, 2)[0], sys.executable, "-m", "headwater.cli.demo_ranks", file]
        out = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"mpirun did not do it: {error}"
    if out.returncode or MARK not in out.stdout:
        said = (out.stderr or out.stdout).strip().splitlines()
        return f"mpirun ended with status {out.returncode}: {said[-1] if said else 'no words'}"
    first: list[float] = json.JSONDecoder().raw_decode(out.stdout.split(MARK, 1)[1])[0]
    return first


def report(file: str) -> str:
    """What the demo says; it never fails for want of a second rank. `file`: images and labels."""
    began = time.perf_counter()
    two = _on_two(file)
    if isinstance(two, str):
        return f"ran on one rank, because {two}"
    taken = time.perf_counter() - began
    apart = max(abs(a - b) for a, b in zip(losses(1, file), two))
    return (
        f"ran {STEPS} steps on 2 ranks too, over MPI, in {taken:.1f} s with their start: "
        f"loss {two[0]:.3f} to {two[-1]:.3f}, at most {apart:.0e} from that of one rank"
    )


if __name__ == "__main__":
    here = losses(2, sys.argv[1])
    from headwater.distributed import get_rank

    if get_rank() == 0:
        print(MARK + json.dumps(here), flush=True)
