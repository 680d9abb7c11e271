"""Collectives between processes of one host, beside MPI's own.

    headwater launch -n 2 benchmarks/collectives.py

MPI's times come from the same processes: its functions are called with ctypes on the same buffers, in turn with ours. Medians.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import time
from collections.abc import Callable

import headwater as hw
import headwater.distributed as dist


class OpenMpi:
    """MPI_Allreduce of float32 sums by the library that carries our messages (Open MPI's handles are addresses of symbols)."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libmpi.so.40")
        self.world, self.real, self.sum = (
            ctypes.byref(ctypes.c_char.in_dll(self.library, f"ompi_mpi_{name}")) for name in ("comm_world", "float", "op_sum")
        )

    def all_reduce(self, source: hw.Tensor, target: hw.Tensor) -> None:
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (source, target)]
        self.library.MPI_Allreduce(*pointers, ctypes.c_int(source.numel()), self.real, self.sum, self.world)


def median_ms(candidates: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """Candidates take turns; each turn starts together."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(repeat + 2):
        for name, run in candidates.items():
            dist.barrier()
            begin = time.perf_counter()
            run()
            if turn > 1:
                times[name].append((time.perf_counter() - begin) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def say(what: str, ours: float, other: float, peer: str) -> None:
    if dist.get_rank() == 0:
        print(f"| {what} | {dist.get_world_size()} | {ours:.3f} | {other:.3f} | {other / ours:.2f} | {peer} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=15)
    repeat = parser.parse_args().repeat
    dist.barrier()
    mpi = OpenMpi()
    if dist.get_rank() == 0:
        print("| case | ranks | ours ms | other ms | other / ours | other |\n|---|---|---|---|---|---|")
    for name, count in (("8 B", 2), ("4 KB", 1 << 10), ("256 KB", 1 << 16), ("4 MB", 1 << 20), ("64 MB", 1 << 24)):
        source, target, kept = hw.ones(count), hw.empty(count), hw.ones(count)
        times = median_ms({"ours": lambda: dist.all_reduce(kept, "max"), "mpi": lambda: mpi.all_reduce(source, target)}, repeat)  # noqa: B023
        say(f"all_reduce {name}", times["ours"], times["mpi"], "MPI_Allreduce")
    small, large = [hw.ones(1 << 10) for _ in range(1000)], hw.ones(1000 << 10)
    times = median_ms(
        {"bucket": lambda: dist.all_reduce_coalesced(small, "max"), "one": lambda: dist.all_reduce(large, "max"),
         "wire": lambda: dist.all_reduce_coalesced(small, "max", wire=hw.bfloat16),
         "each": lambda: [w.wait() for w in [dist.all_reduce(t, "max", async_op=True) for t in small]]}, repeat)  # fmt: skip
    say("1,000 tensors of 4 KB as a bucket", times["bucket"], times["one"], "one tensor of the size")
    say("the same, bfloat16 on the wire", times["wire"], times["one"], "one tensor of the size")
    say("the same, one by one", times["each"], times["one"], "one tensor of the size")


if __name__ == "__main__":
    main()
