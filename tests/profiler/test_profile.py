"""hw.profile: operators and their nesting, programs, actors against their plan, messages, memory; traces that Perfetto opens."""

import json
import os
import threading
import time

import numpy as np
import pytest

import headwater as hw
from headwater.profiler import merge, record_function, schedule
from headwater.stream import Pipeline, stage


def named(p, kind):
    return [e.name for e in p.events() if e.kind == kind]


def test_operators_with_shapes_inside_of_ranges():
    x = hw.ones(4, 3)
    with hw.profile() as p:
        with record_function("mine"):
            y = hw.matmul(x, x.T) + 1
    hw.exp(y)  # after the end
    assert "exp" not in named(p, "op")
    add = next(e for e in p.events() if e.name == "add")
    assert add.detail.startswith("f32[4, 4]") and 0 < add.duration < 10**9
    assert add.parent.name == "mine" and add.parent.kind == "range"
    assert add.memory >= 64  # its result
    matmul = next(e for e in p.events() if e.name == "matmul")
    assert matmul.children and all(matmul.begin <= c.begin and c.end <= matmul.end for c in matmul.children)
    assert sum(c.duration for c in matmul.children) + matmul.self_time == matmul.duration
    assert not hw._C.trace_on()


def test_nothing_is_recorded_when_off_and_one_profile_at_a_time():
    with hw.profile() as p:
        with pytest.raises(RuntimeError, match="another profile is recording"):
            hw.profile().start()
        hw.ones(2)
    assert len(named(p, "op")) >= 1
    assert hw._C.trace_stop() == []
    with pytest.raises(RuntimeError, match="nothing has been recorded yet"):
        hw.profile().table()
    with pytest.raises(ValueError, match="on purpose"), hw.profile() as p:
        hw.zeros(3)
        raise ValueError("on purpose")
    assert p.events() and not hw._C.trace_on()


def test_backward_and_optimizer():
    model = hw.nn.Linear(8, 4)
    optimizer = hw.optim.Adam(model.parameters())
    with hw.profile() as p:
        model(hw.ones(2, 8)).exp().sum().backward()
        optimizer.step()
    backward = named(p, "backward")
    assert any("sum" in n.lower() for n in backward) and any("exp" in n.lower() for n in backward)
    inner = [e for e in p.events() if e.kind == "op" and e.parent and e.parent.kind == "backward"]
    assert inner
    assert any(e.name.startswith("Optimizer.step") and e.children for e in p.events())


def test_steps_of_programs_name_kernel_and_line():
    model = hw.nn.Sequential(hw.nn.Linear(8, 16), hw.nn.ReLU(), hw.nn.Linear(16, 4))

    @hw.compile
    def forward(x):
        return model(x).exp()

    x = hw.ones(2, 8)
    forward(x)
    with hw.profile() as p, hw.no_grad():
        forward(x)
    steps = [e for e in p.events() if e.kind == "step"]
    assert steps and all(e.parent.kind == "program" for e in steps)
    assert any("Sequential.2" in e.origin and "test_profile.py:" in e.origin for e in steps), [e.origin for e in steps]
    assert all(": " in e.detail for e in steps) and any("f32[2, 8]" in e.detail for e in steps)
    assert [e.number for e in steps] == list(range(len(steps)))
    assert "test_profile.py:" in p.table(group_by_stack_n=1)


def test_capturing_is_not_running():
    @hw.compile
    def f(x):
        return hw.nn.functional.softplus(x) + hw.nn.functional.gelu(x)

    with hw.profile() as p:
        f(hw.ones(3))
    assert "gelu" not in named(p, "op") and "program" in {e.kind for e in p.events()}


def test_lines_of_eager_operators():
    model = hw.nn.Linear(2, 2)
    with hw.profile(with_stack=True, with_flops=True) as p:
        model(hw.ones(3, 2))
    found = [e for e in p.events() if "Linear" in e.origin]
    assert found and all("test_profile.py:" in e.origin for e in found)
    assert sum(e.flops for e in p.events() if e.kind == "op") >= 2 * 3 * 2 * 2
    assert "GFLOP/s" in p.table()


def test_tables():
    with hw.profile() as p:
        for n in (2, 3, 3):
            hw.exp(hw.ones(n))
    by_name = {a.key: a for a in p.key_averages()}
    assert by_name["exp"].count == 3
    by_shape = {(a.key, a.shapes): a.count for a in p.key_averages(group_by_input_shape=True)}
    assert by_shape[("exp", "f32[2]")] == 1 and by_shape[("exp", "f32[3]")] == 2
    table = p.table(sort_by="count", row_limit=2)
    assert table.splitlines()[1].split()[:2] == ["Name", "Kind"] and "# of Calls" in table and "memory of tensors: at most" in table
    counts = [int(line.split()[8]) for line in table.splitlines()[3:5]]
    assert counts == sorted(counts, reverse=True)
    with pytest.raises(ValueError, match="no column 'colour'"):
        p.table(sort_by="colour")
    total = p.key_averages().total_average()
    assert total.count == sum(a.count for a in p.key_averages())
    assert total.self_cpu_time_total == pytest.approx(sum(e.self_time for e in p.events()) / 1e3)


def test_memory_over_time():
    with hw.profile() as p:
        x = hw.ones(1 << 18)
        del x
    alive = [a for _, a in p.memory_timeline()]
    assert max(alive) - alive[-1] >= 1 << 20
    times = [t for t, _ in p.memory_timeline()]
    assert times == sorted(times) and 0 <= times[0]
    with hw.profile(profile_memory=False) as p:
        hw.ones(1 << 18)
    assert p.memory_timeline() == []


def test_schedules():
    saved = []
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    with hw.profile(schedule=plan, on_trace_ready=lambda p: saved.append([e.name for e in p.events() if e.kind == "range"])) as p:
        for _ in range(12):
            hw.ones(2)
            p.step()
    assert saved == [["ProfilerStep#3", "ProfilerStep#4"], ["ProfilerStep#7", "ProfilerStep#8"]]
    with pytest.raises(ValueError, match="active >= 1"):
        schedule(wait=0, warmup=0, active=0)


def test_a_range_as_a_decorator():
    @record_function("twice")
    def twice(x):
        """doc"""
        return 2 * x

    assert twice(3) == 6 and twice.__doc__ == "doc"
    with hw.profile() as p:
        assert twice(4) == 8
    assert named(p, "range") == ["twice"]


def work(seconds, result=None):
    def call(x):
        time.sleep(seconds)
        return x if result is None else result

    return call


def test_actors_are_compared_with_their_plan(tmp_path, one_of_several):
    one_of_several(lambda: check_comparison(tmp_path))


def check_comparison(tmp_path):
    pipe = Pipeline(stage(work(0.002), name="load", seconds=0.002, bytes=64), stage(work(0.006), name="step", seconds=0.006))
    with hw.profile() as p:
        assert pipe.run(range(30)) == 30
    (run,) = p.runs()
    c = run.comparison()
    assert c["firings"] == 30 and c["messages"] == {"source.result": 30, "load.result": 30, "step.result": 30}
    planned, measured = c["step_seconds"]
    assert planned == 0.006 and measured > 0.0055
    assert measured == pytest.approx(c["actor_seconds"]["step"][1], rel=0.3)  # the slowest stage is the step
    use = c["utilisation"]
    assert use["step"][0] == pytest.approx(1) and use["step"][1] > 0.7
    assert use["load"][0] == pytest.approx(1 / 3)
    assert c["register_bytes"]["load.result"] == 128
    text = p.table()
    assert "step: planned 6.000ms, measured" in text and "bounds it: step" in text
    names = {t["args"]["name"] for t in trace_of(p, tmp_path) if t["name"] == "thread_name"}
    assert {"load", "step"} <= names


def trace_of(p, folder):
    p.export_chrome_trace(folder / "trace.json")
    return json.loads((folder / "trace.json").read_text())["traceEvents"]


def inside(events, arrow):
    """Whether an end of an arrow lies in a slice of its track: otherwise Perfetto drops it."""
    return any(e["ph"] == "X" and e["tid"] == arrow["tid"] and e["pid"] == arrow["pid"] and
               e["ts"] - 1e-6 <= arrow["ts"] <= e["ts"] + e["dur"] + 1e-6 for e in events)  # fmt: skip


def test_traces_have_threads_counters_and_arrows(tmp_path):
    pipe = Pipeline(stage(work(0.001), name="load", copies=3), stage(work(0.002), name="step"))
    with hw.profile() as p:
        with record_function("all"):
            pipe.run(range(10))
            hw.ones(3)
    events = trace_of(p, tmp_path)
    for e in events:
        assert e["ph"] in "XMCsf" and isinstance(e["pid"], int) and isinstance(e["name"], str)
        if e["ph"] == "X":
            assert e["dur"] >= 0 and e["ts"] > 0 and isinstance(e["tid"], int)
    starts, ends = ([e for e in events if e["ph"] == ph] for ph in "sf")
    assert len(starts) == len(ends) == 30 and {e["id"] for e in starts} == {e["id"] for e in ends}
    assert all(inside(events, e) for e in starts + ends)
    held = [e["args"]["copies"] for e in events if e["name"] == "register load.result"]
    assert min(held) >= 0 and 1 <= max(held) <= 3
    assert any(e["name"] == "tensor memory" and e["args"]["bytes"] > 0 for e in events)
    main = [e["tid"] for e in events if e["name"] == "all"]
    assert main == [threading.get_native_id()]
    assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == {f"rank 0 (process {os.getpid()})"}


def test_messages_and_collectives(tmp_path):
    first, second = hw._C.inproc_comms(2)
    with hw.profile() as p:
        a, b, c = hw.ones(1000), hw.ones(1000), hw.zeros(1000)
        one, other = first.all_reduce(a, "sum", []), second.all_reduce(b, "sum", [])
        one.wait(), other.wait()
        got = second.recv(c, 0, 3)
        first.send(a, 1, 3).wait()
        got.wait()
    comm = [e for e in p.events() if e.kind == "comm"]
    assert sorted(e.name for e in comm) == ["all_reduce", "all_reduce", "recv", "send"]
    assert all(e.detail.startswith("all_reduce of 1000 f32") and e.number >= 4000 for e in comm if e.name == "all_reduce")
    send = next(e for e in comm if e.name == "send")
    assert (send.rank_from, send.rank_to, send.tag, send.number) == (0, 1, 3, 4000)
    assert "Communication" in p.table() and "all_reduce" in p.table()
    events = trace_of(p, tmp_path)
    arrows = [e for e in events if e["ph"] in "sf"]
    assert [a["id"] for a in arrows] == ["0-1-3-0"] * 2 and all(inside(events, a) for a in arrows)


def test_traces_of_ranks_are_merged(tmp_path):
    events = [{"name": "x", "ph": "X", "pid": 0, "tid": 1, "ts": 1.0, "dur": 2.0}]
    for rank in (0, 1):
        (tmp_path / f"{rank}.json").write_text(json.dumps({"traceEvents": [{**events[0], "pid": rank}]}))
    merge([tmp_path / "0.json", tmp_path / "1.json"], tmp_path / "all.json")
    assert [e["pid"] for e in json.loads((tmp_path / "all.json").read_text())["traceEvents"]] == [0, 1]
    with pytest.raises(ValueError, match="are both of rank 0"):
        merge([tmp_path / "0.json", tmp_path / "0.json"], tmp_path / "all.json")


def test_threads_that_end_before_the_profile():
    def other():
        hw.exp(hw.ones(5))

    with hw.profile() as p:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        hw.sin(hw.ones(2))
    threads = {e.name: e.thread for e in p.events()}
    assert threads["exp"] != threads["sin"] == threading.get_native_id()


def test_results_are_the_same_under_a_profile():
    def trained():
        hw.manual_seed(3)
        model = hw.nn.Sequential(hw.nn.Linear(6, 6), hw.nn.Dropout(0.5), hw.nn.Linear(6, 1))
        optimizer = hw.optim.SGD(model.parameters(), lr=0.1)
        for i in range(3):
            optimizer.zero_grad()
            model(hw.ones(4, 6) * i).pow(2).mean().backward()
            optimizer.step()
        return [p.detach().numpy().copy() for p in model.parameters()]

    plain = trained()
    with hw.profile(with_stack=True, with_flops=True):
        profiled = trained()
    assert all(np.array_equal(a, b) for a, b in zip(plain, profiled, strict=True))
