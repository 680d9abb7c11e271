"""Random graphs with random ends: they give what a loop would, none hangs, and nothing of them is left. HEADWATER_STRESS_SECONDS
makes the short one longer; `-m slow` has ten minutes."""

import faulthandler
import gc
import os
import random
import sys
import threading
import time

import pytest

from headwater.stream import Graph


class Number:
    """A value that knows how many of it there are."""

    alive = 0
    lock = threading.Lock()

    def __init__(self, value):
        self.value = value
        with Number.lock:
            Number.alive += 1

    def __del__(self):
        with Number.lock:
            Number.alive -= 1


class Trouble(Exception):
    pass


def possessions():
    gc.collect()
    return {
        "threads": len(os.listdir("/proc/self/task")), "files": len(os.listdir("/proc/self/fd")), "values": Number.alive,
        "blocks": sys.getallocatedblocks(),
    }  # fmt: skip


class RandomGraph:
    """A graph, and what it gives: every stage adds its inputs and its own number, some to what it made a step before."""

    def __init__(self, rng):
        self.rng, self.graph = rng, Graph(copies=rng.randint(1, 4))
        self.steps, self.values, self.want = rng.randint(0, 30), [], []
        self.trouble = rng.randrange(40) if rng.random() < 0.4 else -1  # the step in which some stage raises
        self.culprit = rng.randrange(8)
        for i in range(rng.randint(1, 2)):
            longer = self.steps + rng.randint(0, 3) * i
            self.values.append(self.graph.source([Number(100 * i + n) for n in range(longer)], name=f"source{i}"))
            self.want.append([100 * i + n for n in range(longer)])
        for i in range(rng.randint(1, 6)):
            self.add_stage(i)
        self.results = rng.sample(range(len(self.values)), rng.randint(1, min(3, len(self.values))))
        self.graph.results(*(self.values[i] for i in self.results))
        self.steps = min(len(self.want[i]) for i in self.results)

    def add_stage(self, number):
        chosen = self.rng.sample(range(len(self.values)), self.rng.randint(1, min(3, len(self.values))))
        start = [1000 * n for n in range(self.rng.randint(1, 3))] if self.rng.random() < 0.3 else []
        inputs = [self.values[i] for i in chosen]
        if start:
            loop = self.graph.loop(*(Number(n) for n in start))
            inputs.insert(self.rng.randint(0, len(inputs)), loop)
        step, pause = -1, 1e-4 if self.rng.random() < 0.2 else 0

        def work(*given):
            nonlocal step
            step += 1
            if pause:
                time.sleep(pause)
            if number == self.culprit and step == self.trouble:
                raise Trouble
            return Number(number + sum(g.value for g in given))

        value = self.graph.stage(work, *inputs, copies=self.rng.choice([None, 1, 2, 5]))
        made = []
        for k in range(min(len(self.want[i]) for i in chosen)):
            back = (start[k] if k < len(start) else made[k - len(start)]) if start else 0
            made.append(number + back + sum(self.want[i][k] for i in chosen))
        if start:
            self.graph.close(loop, value)
        self.values.append(value)
        self.want.append(made)

    def play(self):
        leave = self.rng.randrange(40) if self.rng.random() < 0.4 else -1
        how = self.rng.choice(["break", "close", "thread"])
        run, got, stopped = self.graph(), 0, False
        closer = None
        try:
            for values in run:
                values = [v.value for v in values] if len(self.results) > 1 else [values.value]
                assert values == [self.want[i][got] for i in self.results]
                got += 1
                if got == leave and how == "break":
                    stopped = True
                    break
                if got == leave and how == "close":
                    stopped = True
                    run.close()
                if got == leave and how == "thread":
                    stopped = True
                    closer = threading.Thread(target=run._native.stop)
                    closer.start()
        except Trouble:
            assert 0 <= self.trouble
            stopped = True
        if closer:
            closer.join()
        assert stopped or got == self.steps


def stress(seconds, seed=1):
    until, rounds, first = time.monotonic() + seconds, 0, None
    before = possessions()
    faulthandler.dump_traceback_later(seconds + 120, exit=True)
    try:
        while time.monotonic() < until:
            try:
                RandomGraph(random.Random(seed + rounds)).play()
            except BaseException:
                print(f"seed {seed + rounds}")
                raise
            rounds += 1
            if rounds == 30:
                first = possessions()
    finally:
        faulthandler.cancel_dump_traceback_later()
    after = possessions()
    for what in ("threads", "files", "values"):
        assert after[what] == before[what], f"{what} in {rounds} rounds"
    if first:  # what a round leaves would be thousands of blocks
        assert after["blocks"] - first["blocks"] < 1000 + rounds, f"in {rounds - 30} rounds"
    assert rounds > 5


def test_stress():
    stress(float(os.environ.get("HEADWATER_STRESS_SECONDS", 2.5)), int(os.environ.get("HEADWATER_STRESS_SEED", 1)))


@pytest.mark.slow
def test_long_stress():
    stress(600, seed=1_000_000)
