"""Pipelines: order, overlap, bounded memory, ends of every kind; plans and the command that prints them."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import headwater as hw
from headwater import cli
from headwater.stream import Pipeline, load_plan, stage


def slow(seconds):
    def work(x):
        time.sleep(seconds)
        return x

    return work


def threads():
    return len(os.listdir("/proc/self/task"))


def test_results_come_in_order():
    before = threads()
    pipe = Pipeline(lambda x: x + 1, lambda x: x * 2)
    assert list(pipe(range(100))) == [(x + 1) * 2 for x in range(100)]
    assert list(pipe([])) == []
    assert list(Pipeline()("abc")) == ["a", "b", "c"]
    assert pipe.run(iter(range(7))) == 7
    assert pipe.last_run.stats()["source"]["calls"] == 7
    assert threads() == before


def test_stages_overlap(one_of_several):
    """10, 20 and 15 ms: a step is that of the slowest, not the sum. Judged by what was at work at once, and by measured sums."""
    one_of_several(check_overlap)


def check_overlap():
    pipe = Pipeline(slow(0.010), slow(0.020), slow(0.015))
    began = time.monotonic()
    with pipe(range(40)) as run:
        assert list(run) == list(range(40))
    whole = time.monotonic() - began
    names = [n for n in run.stats() if n != "source"]
    assert whole < 0.75 * sum(run.stats()[n]["seconds"] for n in names)
    calls = {n: [(b, e) for stage, _, b, e in run.records() if stage == n] for n in names}
    assert all(len(c) == 40 for c in calls.values())
    together = sum(any(b < e2 and b2 < e for b2, e2 in calls[names[2]]) for b, e in calls[names[1]])
    assert together >= 36
    step = pipe.plan().analysis()  # with what was measured
    assert step["critical_cycle"] == [names[1]]
    assert step["step_seconds"] == pytest.approx(run.stats()[names[1]]["seconds"] / 40, rel=1e-3)


def test_a_slow_consumer_bounds_its_producers():
    class Tracked:
        alive = most = 0

        def __init__(self):
            Tracked.alive += 1
            Tracked.most = max(Tracked.most, Tracked.alive)

        def __del__(self):
            Tracked.alive -= 1

    run = Pipeline(lambda _: Tracked(), copies=3)(range(60))
    for thing in run:
        time.sleep(0.001)
        del thing
    assert Tracked.most <= 3 + 2
    assert Tracked.alive == 0
    stats = run.stats()
    assert stats["source"]["most_held"] <= 3


def test_the_caller_holds_back_the_source():
    given = []

    def source():
        for i in range(10**9):
            given.append(i)
            yield i

    with Pipeline(lambda x: x)(source()) as run:
        assert next(run) == 0
        time.sleep(0.05)
        assert len(given) <= 8
    assert len(given) <= 8


@pytest.mark.parametrize("where", ["source", "first", "second"])
def test_an_exception_of_a_stage(where):
    before = threads()

    def source():
        for i in range(10):
            if where == "source" and i == 5:
                raise KeyError("broken")
            yield i

    def check(name):
        def work(x):
            if where == name and x == 5:
                raise KeyError("broken")
            return x

        work.__name__ = name
        return work

    got = []
    run = Pipeline(check("first"), check("second"))(source())
    with pytest.raises(KeyError, match="broken") as error:
        got.extend(run)
    assert got == list(range(len(got)))
    assert len(got) <= 5
    assert error.traceback[-1].name in ("source", "work")
    if sys.version_info >= (3, 11):
        assert f"actor '{where}'" in error.value.__notes__[0]
        if where != "source":
            assert "test_pipeline.py:" in error.value.__notes__[0]
    assert list(run) == []
    assert threads() == before
    assert list(Pipeline(slow(0))(range(3))) == [0, 1, 2]  # the process goes on


def test_a_stage_that_raises_stop_iteration_is_an_error():
    def work(x):
        raise StopIteration

    with pytest.raises(RuntimeError):
        list(Pipeline(work)(range(3)))


def test_leaving_early_ends_the_threads():
    before = threads()
    for x in Pipeline(slow(0.001), slow(0.001))(range(1000)):
        if x == 3:
            break
    assert threads() == before


def test_a_stage_that_hangs():
    go, entered = threading.Event(), threading.Event()

    def hang(x):
        entered.set()
        go.wait()

    pipe = Pipeline(hang, timeout=0.3)
    run = pipe(range(3))
    run._closer.detach()  # closing waits for the call; that is looked at below
    assert entered.wait(60)
    with pytest.raises(RuntimeError, match=r"timeout of 0.3 s; 'hang' is in its firing 1"):
        next(run)
    entered.clear()
    other = Pipeline(hang)(range(3))
    assert entered.wait(60)
    with pytest.raises(RuntimeError, match=r"a stage does not return: 'hang' is in its firing 1"):
        other.close(grace=0.1)
    go.set()


def test_compiled_functions_and_modes():
    weight = hw.randn(8, 8, requires_grad=True)

    @hw.compile
    def compute(x):
        return (x @ weight).relu()

    def load(i):
        assert not hw.is_grad_enabled()
        return hw.from_numpy(np.full((4, 8), i, np.float32))

    with hw.no_grad():
        got = list(Pipeline(load, compute, compute)(range(20)))
        want = [compute(compute(load(i))) for i in range(20)]
    for a, b in zip(got, want, strict=True):
        assert np.array_equal(a.numpy(), b.numpy())


def test_training_gives_the_same_bits():
    def trained(run):
        hw.manual_seed(0)
        model = hw.nn.Linear(16, 4)
        optimizer = hw.optim.SGD(model.parameters(), lr=0.1)

        @hw.compile
        def step(x):
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        return run(step), model.weight.detach().numpy().copy()

    data = [np.random.default_rng(i).normal(size=(32, 16)).astype(np.float32) for i in range(30)]
    a, weight_a = trained(lambda step: [x.item() for x in Pipeline(hw.from_numpy, step)(data)])
    b, weight_b = trained(lambda step: [step(hw.from_numpy(x)).item() for x in data])
    assert a == b
    assert np.array_equal(weight_a, weight_b)


def test_plans(tmp_path, capsys):
    stages = [stage(slow(0), name="decode", seconds=0.010, bytes=1000), stage(slow(0), name="step", seconds=0.020, copies=1)]
    pipe = Pipeline(*stages, copies=1, source_seconds=0.015, source_bytes=100)
    assert pipe.plan().analysis()["step_seconds"] == pytest.approx(0.030)
    pipe = Pipeline(*stages, memory_budget=10_000, source_seconds=0.015, source_bytes=100)
    plan = pipe.plan()
    assert plan.analysis()["step_seconds"] == pytest.approx(0.020)
    assert plan.copies() == {"source.result": 2, "decode.result": 2, "step.result": 1}
    with pytest.raises(ValueError, match="the budget is 1000"):
        Pipeline(*stages, memory_budget=1000, source_bytes=100).plan()
    plan.save(tmp_path / "plan.txt")
    assert str(load_plan(tmp_path / "plan.txt")) == str(plan)
    assert cli.main(["plan", str(tmp_path / "plan.txt")]) == 0
    out = capsys.readouterr().out
    for part in ("step time: 20 ms", "critical cycle:\n  'step' -> (its next firing)", "100 % busy", "memory:\n  cpu:0 of rank 0:"):
        assert part in out
    script = tmp_path / "script.py"
    script.write_text("from headwater.stream import Pipeline\npipe = Pipeline(len)\nnone = 3\n")
    assert cli.main(["plan", "--json", f"{script}:pipe"]) == 0
    assert json.loads(capsys.readouterr().out)["utilisation"]["len"] == 0
    for wrong, words in [(f"{script}:none", "is a int"), (f"{script}:other", "has no other"), (str(script), "line 1"), ("no", "No such")]:
        assert cli.main(["plan", wrong]) == 1
        assert words in capsys.readouterr().err


def test_a_trace_opens_as_json(tmp_path):
    pipe = Pipeline(slow(0.001))
    pipe.run(range(5))
    pipe.last_run.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(e["ph"] == "X" and e["name"] == "work" for e in events) == 5


def test_mistakes_are_named():
    with pytest.raises(TypeError, match="needs a function, got int"):
        Pipeline(3)
    with pytest.raises(ValueError, match="copies must be at least 1, got 0"):
        stage(len, copies=0)
    with pytest.raises(TypeError, match="not iterable"):
        Pipeline(len)(3)


SCRIPT = """
import sys, time
from headwater.stream import Pipeline
def work(x):
    time.sleep(0.01)
    return x
run = Pipeline(work, work)(range(10**9))
next(run)
{then}
"""
ENDS = {
    "interrupt": "for x in run: pass",
    "catch": "try:\n    print('go', flush=True)\n    for x in run: pass\n"
    "except KeyboardInterrupt:\n    print(list(Pipeline(work)(range(3))))",
    "exit": "sys.exit(3)",
    "end": "pass",
    "busy": "Pipeline(work, lambda x: 1 / 0).run(range(5))",
}


@pytest.mark.parametrize(("end", "code"), [("interrupt", -signal.SIGINT), ("catch", 0), ("exit", 3), ("end", 0), ("busy", 1)])
def test_the_process_ends(end, code):
    then = ENDS[end] if end == "catch" else f"print('go', flush=True)\n{ENDS[end]}"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.replace("{then}", then)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        env={**os.environ, "PYTHONPATH": "python" + os.pathsep + os.environ.get("PYTHONPATH", "")},
    )  # fmt: skip
    assert process.stdout.readline() == "go\n"
    if end in ("interrupt", "catch"):
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == code, err
    if end == "catch":
        assert out == "[0, 1, 2]\n"
    if end == "busy":
        assert "ZeroDivisionError" in err
