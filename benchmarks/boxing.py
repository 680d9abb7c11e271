"""Changes of a global tensor's SBP between processes, beside the collective of `headwater.distributed` that moves the same bytes.

    python benchmarks/boxing.py --ranks 2

Both in the same processes, in turns; medians. The collective's buffers are one-dimensional and there before. Where PEER_PY310 names a
Python with OneFlow 0.9.0, its `to_global` on CPU stands beside, measured in processes of its own afterwards (oneflow_ranks.py).
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import oneflow_ranks

import headwater as hw
import headwater.distributed as dist
from headwater.cli.launch import find_mpirun, mpirun_command

S, B, SUM = hw.split, hw.broadcast, hw.partial_sum
PAIRS = [("all-reduce", SUM, B), ("reduce-scatter", SUM, S(0)), ("reduce-scatter", SUM, S(1)), ("all-gather", S(0), B),
         ("all-gather", S(1), B), ("all-to-all", S(0), S(1)), ("all-to-all", S(1), S(0))]  # fmt: skip


def bare(kind: str, count: int, ranks: int) -> Callable[[], object]:
    whole, part = hw.ones(count), hw.ones(count // ranks)
    if kind == "all-reduce":
        return lambda: dist.all_reduce(whole, "max")
    if kind == "reduce-scatter":
        return lambda: dist.reduce_scatter_tensor(part, whole)
    if kind == "all-gather":
        return lambda: dist.all_gather_into_tensor(whole, part)
    other = hw.ones(count // ranks)
    return lambda: dist.all_to_all_single(other, part)


def measure(rows: int, columns: int, repeat: int) -> list[dict[str, Any]]:
    ranks = dist.get_world_size()
    mesh, found = hw.mesh("cpu", ranks), []
    for kind, source, target in PAIRS:
        part = hw.ones(*(n // ranks if source == S(a) else n for a, n in enumerate((rows, columns))))
        given = hw.from_local([part], mesh, source, shape=(rows, columns))
        ways = {"boxing": lambda g=given, to=target: g.to_global(mesh, to), "collective": bare(kind, rows * columns, ranks)}
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(repeat + 2):
            for name, run in ways.items():
                dist.barrier()
                begin = time.perf_counter()
                run()
                dist.barrier()
                if turn > 1:
                    times[name].append(time.perf_counter() - begin)
        found.append({"kind": kind, "from": str(source), "to": str(target)} | {n: statistics.median(t) * 1e3 for n, t in times.items()})
    return found


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rows", type=int, default=1920)
    parser.add_argument("--columns", type=int, default=4096)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.inside:
        rows = measure(a.rows, a.columns, a.repeat)
        if dist.get_rank() == 0:
            print("rows: " + json.dumps(rows))
        return
    mpirun = find_mpirun()
    if mpirun is None:
        sys.exit("boxing.py: needs an MPI")
    command = [*mpirun_command(mpirun, a.ranks)[0], sys.executable, __file__, "--inside"]
    command += [f"--{name}={getattr(a, name)}" for name in ("rows", "columns", "repeat")]
    one_thread = os.environ | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    done = subprocess.run(command, capture_output=True, text=True, env=one_thread)
    lines = [line.partition("rows: ")[2] for line in done.stdout.splitlines() if "rows: " in line]
    if not lines:
        sys.exit(done.stderr[-2000:])
    peer = oneflow_ranks.rows_of(a.ranks, free_port(), *(f"--{name}={getattr(a, name)}" for name in ("rows", "columns", "repeat")))
    if isinstance(peer, str):
        print(peer, file=sys.stderr)
    theirs = peer if isinstance(peer, list) else []
    print(f"| float32 [{a.rows}, {a.columns}], {a.ranks} ranks | boxing | collective | ratio |" + " OneFlow |" * bool(theirs))
    print("|---|---:|---:|---:|" + "---:|" * bool(theirs))
    for i, r in enumerate(json.loads(lines[0])):
        beside = f" {theirs[i]:.2f} ms |" if theirs else ""
        ratio = r["boxing"] / r["collective"]
        print(f"| {r['from']} to {r['to']}, {r['kind']} | {r['boxing']:.2f} ms | {r['collective']:.2f} ms | {ratio:.2f} |{beside}")


if __name__ == "__main__":
    main()
