"""One trace of all ranks of a job: clocks compared, events brought to rank 0."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .. import _C

_ROUNDS = 16  # of comparing clocks; the quickest counts
_TAG = 16_383  # the last of users


def _machine() -> str:
    """Processes with the same answer read the same steady clock."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _gathered(mine: bytes) -> list[bytes]:
    """What each rank gives, on every rank."""
    import headwater as hw
    import headwater.distributed as dist

    ranks, me = dist.get_world_size(), dist.get_rank()
    sizes = [hw.zeros(1, dtype=hw.int64) for _ in range(ranks)]
    dist.all_gather(sizes, hw.tensor([len(mine)]))
    parts = [hw.zeros(int(n.item()), dtype=hw.uint8) for n in sizes]
    dist.all_gather(parts, hw.frombuffer(bytearray(mine), dtype=hw.uint8) if mine else parts[me])
    return [bytes(p.numpy()) for p in parts]


def clock_differences() -> list[int]:
    """For each rank, the nanoseconds to add to its clock's time for that of rank 0. All ranks call it.

    On one machine they are 0: its processes read one clock. Else as NTP has it: the clock of rank 0 is taken to have been read in the
    middle of a round trip, of the quickest of several. It errs by half of that at most.
    """
    import headwater as hw
    import headwater.distributed as dist

    machines, me = _gathered(_machine().encode()), dist.get_rank()
    differences = [0] * len(machines)
    word = hw.zeros(1, dtype=hw.int64)
    for rank in range(1, len(machines)):
        if (machines[rank] and machines[rank] == machines[0]) or me not in (0, rank):
            continue
        best = None
        for _ in range(_ROUNDS):
            if me == 0:
                dist.recv(word, rank, tag=_TAG)
                dist.send(hw.tensor([_C.trace_now()]), rank, tag=_TAG)
                continue
            begin = _C.trace_now()
            dist.send(word, 0, tag=_TAG)
            dist.recv(word, 0, tag=_TAG)
            end = _C.trace_now()
            if best is None or end - begin < best:
                best, differences[me] = end - begin, int(word.item()) - (begin + end) // 2
    return [int(d) for d in _gathered(str(differences[me]).encode())]


def events_of_ranks(mine: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """The events of a Chrome trace of all ranks by the clock of rank 0; on other ranks None. All ranks call it."""
    import headwater.distributed as dist

    differences = clock_differences()
    parts = _gathered(json.dumps(mine).encode())
    if dist.get_rank() != 0:
        return None
    events: list[dict[str, Any]] = []
    for part, difference in zip(parts, differences, strict=True):
        for event in json.loads(part):
            if "ts" in event:
                event["ts"] += difference / 1e3
            events.append(event)
    return events
