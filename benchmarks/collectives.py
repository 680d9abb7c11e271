"""Collectives between processes of one host, beside MPI's own loop, and small tensors as buckets.

    python benchmarks/collectives.py --ranks 2

Programs take turns, ours and one that only calls MPI_Allreduce through ctypes (in one process the two would meet inside MPI, which
is asked for one thread at a time). Median of each program's repetitions, median of the rounds.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import headwater as hw
import headwater.distributed as dist
from headwater.cli.launch import find_mpirun, mpirun_command

SIZES = (("8 B", 2), ("4 KB", 1 << 10), ("256 KB", 1 << 16), ("4 MB", 1 << 20), ("64 MB", 1 << 24))


def median_ms(candidates: dict[str, Callable[[], object]], repeat: int, together: Callable[[], object]) -> dict[str, float]:
    """Candidates take turns; each turn starts together."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(repeat + 2):
        for name, run in candidates.items():
            together()
            begin = time.perf_counter()
            run()
            if turn > 1:
                times[name].append((time.perf_counter() - begin) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def ours(repeat: int) -> dict[str, float]:
    out: dict[str, float] = {}
    for name, count in SIZES:
        t = hw.ones(count)
        out |= median_ms({name: lambda: dist.all_reduce(t)}, repeat, dist.barrier)  # noqa: B023
    small, large = [hw.ones(1 << 10) for _ in range(1000)], hw.ones(1000 << 10)
    out |= median_ms({"one": lambda: dist.all_reduce(large, "max"), "bucket": lambda: dist.all_reduce_coalesced(small, "max")},
                     3 * repeat, dist.barrier)  # fmt: skip
    out |= median_ms({"wire": lambda: dist.all_reduce_coalesced(small, "max", wire=hw.bfloat16)}, repeat, dist.barrier)
    each = {"each": lambda: [w.wait() for w in [dist.all_reduce(t, "max", async_op=True) for t in small]]}
    return out | median_ms(each, repeat, dist.barrier)


def mpi(repeat: int) -> tuple[int, dict[str, float]]:
    """Open MPI by its symbols: its handles are addresses of variables."""
    library = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
    library.MPI_Init(None, None)
    world, real, total = (ctypes.byref(ctypes.c_char.in_dll(library, f"ompi_mpi_{name}")) for name in ("comm_world", "float", "op_sum"))
    rank = ctypes.c_int()
    library.MPI_Comm_rank(world, ctypes.byref(rank))
    out: dict[str, float] = {}
    for name, count in SIZES:
        source, target = hw.ones(count), hw.empty(count)
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (source, target)]
        run = {name: lambda: library.MPI_Allreduce(*pointers, count, real, total, world)}  # noqa: B023
        out |= median_ms(run, repeat, lambda: library.MPI_Barrier(world))
    library.MPI_Finalize()
    return rank.value, out


def measure(role: str, ranks: int, repeat: int) -> dict[str, float]:
    mpirun = find_mpirun()
    if mpirun is None:
        raise SystemExit("no mpirun")
    command = [*mpirun_command(mpirun, ranks)[0], sys.executable, __file__, "--role", role, "--repeat", str(repeat)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    return json.loads(re.search(r"\{.*\}", said)[0])  # type: ignore[index]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--role", choices=("ours", "mpi"))
    a = parser.parse_args()
    if a.role:
        rank, times = mpi(a.repeat) if a.role == "mpi" else (dist.get_rank(), ours(a.repeat))
        if rank == 0:
            print(json.dumps(times), flush=True)
        return
    rounds = [(measure("ours", a.ranks, a.repeat), measure("mpi", a.ranks, a.repeat)) for _ in range(a.rounds)]
    of_ours = {name: statistics.median(r[0][name] for r in rounds) for name in rounds[0][0]}
    of_mpi = {name: statistics.median(r[1][name] for r in rounds) for name in rounds[0][1]}
    print("| all_reduce, float32 | headwater | MPI_Allreduce | ratio |\n|---|---:|---:|---:|")
    for name, _ in SIZES:
        print(f"| {name} | {of_ours[name]:.3f} ms | {of_mpi[name]:.3f} ms | {of_ours[name] / of_mpi[name]:.2f} |")
    print("\n| 1,000 tensors of 4 KB | time | to one tensor of the size |\n|---|---:|---:|")
    words = {"one": "one tensor of 4 MB", "bucket": "as buckets", "wire": "as buckets, bfloat16 on the wire", "each": "one by one"}
    for name, text in words.items():
        ratio = statistics.median(r[0][name] / r[0]["one"] for r in rounds)
        print(f"| {text} | {of_ours[name]:.2f} ms | {ratio:.2f} |")


if __name__ == "__main__":
    main()
