"""hw.profile over ranks: one trace that holds all of a job, by one clock."""

import json

import pytest
from ranks import launch, needs_mpi


@needs_mpi
def test_one_trace_holds_all_ranks(tmp_path):
    path = tmp_path / "trace.json"
    out = launch(2, "profiled.py", path, "together")
    assert out.returncode == 0, out.stderr[-3000:]
    events = json.loads(path.read_text())["traceEvents"]
    assert {e["pid"] for e in events} == {0, 1}
    named = {e["args"]["name"].split(" (")[0] for e in events if e["name"] == "process_name"}
    assert named == {"rank 0", "rank 1"}
    steps = {e["name"]: (e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["name"].startswith("step of rank")}
    assert len(steps) == 2
    (begin_0, end_0), (begin_1, end_1) = steps["step of rank 0"], steps["step of rank 1"]
    assert begin_0 < end_1 and begin_1 < end_0  # a barrier ends both
    for rank in (0, 1):
        assert any(e["ph"] == "X" and e["pid"] == rank and e["name"] == "mm" for e in events)
    for event in events:  # what Perfetto asks of an event
        assert event["ph"] in "XMCsf" and isinstance(event["pid"], int)
        assert event["ph"] == "M" or event["ts"] >= 0


@needs_mpi
def test_clocks_of_two_machines_are_compared(tmp_path):
    out = launch(2, "profiled.py", tmp_path / "trace.json", "apart")
    assert out.returncode == 0, out.stderr[-3000:]
    differences = [int(line.split()[-1]) for line in out.stdout.splitlines() if "difference" in line]
    assert differences == [pytest.approx(-7_000_000_000, abs=1_000_000_000)] * 2  # busy machines answer late
