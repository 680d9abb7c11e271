"""A stream over two processes, whose second one is killed if the first argument says so."""

import os
import signal
import sys

import headwater as hw

mode = sys.argv[1]


def second(t):
    if mode == "killed" and t[0].item() == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return t.sum().item()


graph = hw.stream.Graph()
graph.stage(second, graph.stage(lambda x: hw.full((1000,), float(x)), graph.source(range(30)), name="first"), name="second", rank=1)
with graph() as run:
    values = list(run)
print("values", len(values), sum(values), flush=True)
