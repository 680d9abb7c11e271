"""What benchmarks/boxing.py measures, under OneFlow 0.9.0 on CPU: it starts this file with the Python that
PEER_PY310 names, through oneflow.distributed.launch, and reads the line "rows: ..." of rank 0.

    PEER_PY310=.../bin/python LD_LIBRARY_PATH=(what OneFlow links) python benchmarks/boxing.py

It imports nothing of headwater, and needs Python 3.10.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import time
from typing import Any


def command_of(ranks: int, port: int, *arguments: str) -> tuple[list[str], dict[str, str]] | None:
    """How to start this file; None without PEER_PY310."""
    python = os.environ.get("PEER_PY310")
    if not python:
        return None
    command = [python, "-m", "oneflow.distributed.launch", "--nproc_per_node", str(ranks), "--master_port", str(port), __file__, *arguments]
    return command, {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def rows_of(ranks: int, port: int, *arguments: str) -> Any:
    """What rank 0 measured; a text that says why there is nothing; None without OneFlow."""
    started = command_of(ranks, port, *arguments)
    if started is None:
        return None
    command, environment = started
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, timeout=240)
    except subprocess.TimeoutExpired:
        return "OneFlow did not end within 240 s"
    lines = [line.partition("rows: ")[2] for line in done.stdout.splitlines() if "rows: " in line]
    return json.loads(lines[0]) if lines else f"OneFlow failed: {done.stderr.strip()[-500:]}"


def boxing(a: argparse.Namespace) -> list[float]:
    """Milliseconds of each change of SBP, in the order of boxing.py."""
    import oneflow as flow

    ranks, rank = flow.env.get_world_size(), flow.env.get_rank()
    placement = flow.placement("cpu", list(range(ranks)))
    split, broadcast, partial = flow.sbp.split, flow.sbp.broadcast, flow.sbp.partial_sum
    pairs = [(partial, broadcast), (partial, split(0)), (partial, split(1)), (split(0), broadcast), (split(1), broadcast),
             (split(0), split(1)), (split(1), split(0))]  # fmt: skip
    found = []
    for source, target in pairs:
        shape = [n // ranks if source == split(axis) else n for axis, n in enumerate((a.rows, a.columns))]
        given = flow.ones(*shape).to_global(placement=placement, sbp=source)
        times = []
        for turn in range(a.repeat + 2):
            flow.comm.barrier()
            begin = time.perf_counter()
            got = given.to_global(sbp=target)
            got.to_local()[0, 0].item()  # it only queues the work
            flow.comm.barrier()
            if turn > 1:
                times.append(time.perf_counter() - begin)
        value = float(got.to_local()[0, 0].item())
        if value != (ranks if source == partial else 1):
            raise SystemExit(f"rank {rank}: {source} to {target} gave {value}")
        found.append(statistics.median(times) * 1e3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1920)
    parser.add_argument("--columns", type=int, default=4096)
    parser.add_argument("--repeat", type=int, default=15)
    a, _ = parser.parse_known_args()
    rows = boxing(a)
    import oneflow as flow

    if flow.env.get_rank() == 0:
        print("rows: " + json.dumps(rows), flush=True)


if __name__ == "__main__":
    main()
