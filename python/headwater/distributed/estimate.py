"""What a training step under a plan would cost: rehearsed on a mesh of "meta" devices, which hold no values."""
from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import headwater as hw
from headwater import nn

from .accumulate import _micro_batches
from .deferred import deferred_sums
from .parallelize import parallelize, place_batch
from .placing import places_of
from .stages import listed

_MIB = 2**20


@dataclass(frozen=True)
class Device:
    """What one rank can do; `measure_device` fills it in for the machine at hand."""

    flops: float = 1e11  # a second
    memory_rate: float = 1e10  # bytes a second
    op_time: float = 1e-6  # seconds that each kernel costs beside its work
    link_rate: float = 1e9  # bytes a second that a rank receives
    link_latency: float = 1e-5  # seconds of a message


def _quickest(work: Callable[[], Any], rounds: int = 7) -> float:
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def measure_device() -> Device:
    """Measures this machine for about a tenth of a second: a product, a copy, a small operator, and messages between the processes.

    Every process of a world must call it; all get the same numbers, those of the slowest.
    """
    from . import collectives, world

    a, line, few = hw.ones(512, 512), hw.ones(4 << 20), hw.ones(8)
    with hw.no_grad():
        product, copied = _quickest(lambda: a @ a), _quickest(lambda: line.add_(1.0))
        small = _quickest(lambda: [few + few for _ in range(100)]) / 100
        large_message, small_message = copied / 2, small
        if world.comm().size > 1:
            large_message = _quickest(lambda: collectives.all_reduce(line))
            small_message = _quickest(lambda: collectives.all_reduce(few))
        found = hw.tensor([product, copied, small, large_message, small_message], dtype=hw.float64)
        if world.comm().size > 1:
            collectives.all_reduce(found, collectives.ReduceOp.MAX)
    product, copied, small, large_message, small_message = found.tolist()
    size, n = line.numel() * 4, max(2, world.comm().size)
    return Device(flops=2 * 512**3 / product, memory_rate=2 * size / copied, op_time=small, link_latency=small_message,
                  link_rate=2 * size * (n - 1) / n / large_message)  # fmt: skip


@dataclass
class Estimate:
    """The cost of one training step under a plan; of the rank that has the most to do. Seconds and bytes."""

    mesh: Any  # of "meta" devices
    plan: Any
    stages: list[int] | None
    micro_batches: int
    seconds: float
    compute: float
    communication: float
    memory: int  # the most at any time
    parameters: int  # what stays between steps: parameters, gradients, the optimiser's state
    traffic: dict[str, tuple[int, float]] = field(default_factory=dict)  # messages and bytes received, by mesh axis and collective
    stage_seconds: list[float] = field(default_factory=list)  # of one micro-batch, for each stage

    def __str__(self) -> str:
        lines = [
            f"{self.mesh}, plan {self.plan!r}" + (f", stages {self.stages}" if self.stages else ""),
            f"  step          {self.seconds * 1e3:.3f} ms: compute {self.compute * 1e3:.3f}, communication {self.communication * 1e3:.3f}",
            f"  memory        {self.memory / _MIB:.1f} MiB a rank, of which {self.parameters / _MIB:.1f} stay between steps",
        ]
        lines += [f"  {name:<24} {count} messages, {size / _MIB:.3f} MiB" for name, (count, size) in sorted(self.traffic.items())]
        if len(self.stage_seconds) > 1:
            lines.append("  stages        " + ", ".join(f"{s * 1e3:.3f}" for s in self.stage_seconds) + " ms a micro-batch")
        return "\n".join(lines)


@contextmanager
def sizes_only() -> Iterator[None]:
    """A context in which modules are made whose parameters have sizes, but no memory: for `estimate` and `search_plan`.

    >>> with hw.distributed.sizes_only():
    ...     layer = hw.nn.Linear(10**6, 10**6)
    >>> layer.weight.numel()
    1000000000000
    """
    nowhere = hw._C.make_mesh("meta", [1], ["none"], [0])
    with hw._C.CreatedLike(hw.zeros(()).to_global(nowhere, [hw.broadcast])):
        yield


def _stand_in(t: hw.Tensor) -> hw.Tensor:
    return hw.zeros((), dtype=t.dtype).expand(tuple(t.shape))


def _shadow(model: nn.Module) -> nn.Module:
    """A copy of the model whose parameters and buffers have sizes, but no memory."""
    memo: dict[int, Any] = {}
    for full, owner, name, is_parameter in places_of(model):
        t = owner.__dict__[name]
        if t.is_global and t.mesh.device != "meta":
            raise ValueError(f"estimate: '{full}' lies on a mesh already; estimate the model before hw.parallelize")
        memo[id(t)] = nn.Parameter(_stand_in(t), requires_grad=t.requires_grad) if is_parameter else _stand_in(t)
    return copy.deepcopy(model, memo)


class _Sums:
    """The costs of each mesh so far, in the order of the ranks."""

    def __init__(self, rehearsal: Any, meshes: list[Any]):
        found = rehearsal.costs()
        nothing = {"compute": 0.0, "communication": 0.0, "ops": 0, "traffic": {}, "memory": 0, "peak": 0}
        self.each = [found.get(repr(m)[len("<mesh ") : -1], nothing) for m in meshes]

    def of(self, name: str, before: _Sums | None = None) -> list[float]:
        return [c[name] - (before.each[i][name] if before else 0) for i, c in enumerate(self.each)]


def _rehearsed(model: nn.Module, mesh: Any, plan: Any, stages: list[int] | None, loss_of: Callable[..., hw.Tensor], micro: Any,
               optimizer: Callable[..., Any], device: Device) -> tuple[_Sums, _Sums]:  # fmt: skip
    """A micro-batch, then the sums of gradients and the optimiser's step: the costs after each, for each stage."""
    rehearsal = hw._C.Rehearsal(device.flops, device.memory_rate, device.op_time, device.link_rate, device.link_latency)
    with hw.random.fork_rng(), rehearsal:
        shadow = parallelize(_shadow(model), mesh, plan, stages=stages)
        pipeline = shadow.__dict__.get("_pipeline")
        meshes = [s.mesh for s in pipeline.stages] if pipeline else [mesh]
        steps = optimizer([p for p in shadow.parameters() if p.requires_grad])
        with deferred_sums(shadow):
            loss = loss_of(shadow(*micro.inputs), *listed(place_batch(shadow, *micro.targets)) if micro.targets else ())
            loss.backward()
            del loss
            worked = _Sums(rehearsal, meshes)
        steps.step()
        return worked, _Sums(rehearsal, meshes)


def estimate(model: nn.Module, mesh: Any, plan: Any = "data", inputs: Any = (), targets: Any = (), *, loss_of: Callable[..., hw.Tensor],
             optimizer: Callable[..., Any] = hw.optim.Adam, micro_batches: int = 1, stages: list[int] | None = None,
             device: Device | None = None) -> Estimate:  # fmt: skip
    """What one training step of `hw.parallelize(model, mesh, plan)` would cost, without taking it.

    The step is rehearsed on ranks that hold no values, by the same choices of signatures and the same boxing as a real one; so a mesh
    of a thousand ranks takes no more memory than one. Operators cost the larger of their arithmetic and their memory traffic; nothing
    overlaps, as in a real step today. Of stages, 1F1B is assumed as hw.accumulate runs it.

    Args:
        model: an nn.Module that is not parallelized; it stays as it is.
        mesh: any hw.mesh; only its shape and names count.
        plan, stages: as for hw.parallelize.
        loss_of, inputs, targets, micro_batches: as for hw.accumulate.
        optimizer: from parameters to an optimiser, as `lambda p: hw.optim.SGD(p, 0.1)`.
        device: what a rank can do; default: Device(), a plain machine. `measure_device()` measures this one.
    Raises RuntimeError for a step that reads values (item(), a condition on data), and what hw.parallelize raises.

    >>> model = hw.nn.Linear(64, 8)
    >>> found = hw.distributed.estimate(model, hw.mesh("meta", 1024), "data", hw.ones(2048, 64), hw.ones(2048, 8),
    ...                                 loss_of=hw.nn.functional.mse_loss)
    >>> list(found.traffic)
    ['axis0 all-reduce']
    """
    device = device or Device()
    meta = hw._C.make_mesh("meta", list(mesh.shape), list(mesh.names), list(mesh.ranks))
    micro = _micro_batches(listed(inputs), listed(targets), micro_batches, "mean")[0]
    worked, stepped = _rehearsed(model, meta, plan, stages, loss_of, micro, optimizer, device)

    compute, traffic_time = worked.of("compute"), worked.of("communication")
    each = [a + b for a, b in zip(compute, traffic_time, strict=True)]
    last = [a + b for a, b in zip(stepped.of("compute", worked), stepped.of("communication", worked), strict=True)]
    busiest = max(range(len(each)), key=lambda i: each[i])
    seconds = sum(each) + (micro_batches - 1) * each[busiest] + max(last)
    communication = micro_batches * traffic_time[busiest] + stepped.of("communication", worked)[busiest]
    stay = stepped.of("memory")
    peaks = list(stepped.of("peak"))
    for i, (peak, kept, static) in enumerate(zip(worked.of("peak"), worked.of("memory"), stay, strict=True)):
        at_once = min(micro_batches, len(each) - i)  # micro-batches of which stage i keeps the activations
        peaks.append(static + max(0, peak - kept) * at_once)
    traffic: dict[str, tuple[int, float]] = {}
    for name, (count, size) in stepped.each[busiest]["traffic"].items():
        before = worked.each[busiest]["traffic"].get(name, (0, 0.0))
        traffic[name] = (count + (micro_batches - 1) * before[0], size + (micro_batches - 1) * before[1])
    return Estimate(meta, plan, stages, micro_batches, seconds, micro_batches * compute[busiest] + stepped.of("compute", worked)[busiest],
                    communication, int(max(peaks)), int(max(stay)), traffic, each)  # fmt: skip
