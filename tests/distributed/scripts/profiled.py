"""Two ranks of a data-parallel step under a profile: rank 0 writes one trace of both."""

import sys

import headwater as hw
import headwater.distributed as dist
import headwater.profiler.ranks as ranks

path, apart = sys.argv[1], sys.argv[2] == "apart"
dist.init()
if apart:  # as if each rank had a machine of its own, whose clocks differ by seconds
    ranks._machine = lambda: f"machine {dist.get_rank()}"
    real, shift = hw._C.trace_now, 7_000_000_000 * dist.get_rank()

    class Shifted:
        trace_now = staticmethod(lambda: real() + shift)

    ranks._C = Shifted
    print("difference", ranks.clock_differences()[1])
else:
    assert ranks.clock_differences() == [0, 0]
mesh = hw.mesh("cpu", 2, names=("data",))
model = hw.parallelize(hw.nn.Linear(8, 4), mesh, "data")
x = dist.place_batch(model, hw.ones(4, 8))
dist.barrier()
with hw.profile() as p, hw.profiler.record_function(f"step of rank {dist.get_rank()}"):
    model(x).square().sum().backward()
    dist.barrier()
p.export_chrome_trace(path, all_ranks=True)
