"""The benchmarks of many ranks, with the smallest sizes that they take: they run, and print the rows that the results page has."""

import subprocess
import sys

import pytest
from ranks import ROOT, environment, needs_mpi


def output(name, *arguments, timeout=100):
    command = [sys.executable, str(ROOT / "benchmarks" / name), *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=timeout, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


@needs_mpi
@pytest.mark.parametrize(("name", "arguments", "rows"), [
    ("boxing.py", ["--rows=8", "--columns=4", "--repeat=1"], ["P(sum) to B, all-reduce", "S(1) to S(0), all-to-all"]),
    ("scaling.py", ["--tiny", "--rounds=1", "--batch=2", "--no-torch"], ["resnet50 | headwater", "bert | headwater", "block | headwater"]),
])  # fmt: skip
def test_it_runs(name, arguments, rows):
    said = output(name, *arguments)
    assert all(f"| {row} |" in said for row in rows), said
