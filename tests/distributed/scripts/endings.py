"""Ends in the way that the first argument names, while the other ranks wait."""

import os
import signal
import sys
import time

import headwater as hw
import headwater.distributed as dist

mode, me = sys.argv[1], dist.get_rank()
dist.barrier()
print("started", flush=True)
if mode == "killed" and me == 1:
    os.kill(os.getpid(), signal.SIGKILL)
if mode == "raises" and me == 1:
    raise ValueError("the disk is full")
if mode == "once" and me == 1 and os.environ["HEADWATER_RESTARTS"] == "0":
    raise ValueError("only the first time")
if mode == "timeout":
    dist.init(timeout=0.5)
    if me == 1:
        time.sleep(600)
if mode == "sizes":
    dist.all_reduce(hw.zeros(3 if me else 4))
if mode == "sleeps":
    time.sleep(600)
dist.barrier()
if mode == "holds":  # a part of the program keeps the engine, whose thread goes on looking for messages and saying that this rank lives
    held = dist.world.comm()
    dist.destroy_process_group()
    time.sleep(3)
print("ended", flush=True)
