"""Stages on processes of their own: bit for bit the numbers of one process, over pipes and over MPI."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pipe_processes import run
from pipeline_programs import train
from ranks import ROOT, environment, needs_mpi

from headwater.cli.launch import find_mpirun, mpirun_command

MORE = pytest.mark.slow


@pytest.mark.parametrize(("count", "shape", "names", "plan"), [
    (2, (2,), ("pipe",), "data"),
    pytest.param(2, (2, 2), ("pipe", "data"), "zero2", marks=MORE), pytest.param(2, (2, 2), ("data", "pipe"), "data", marks=MORE)])
def test_over_pipes(count, shape, names, plan):
    here = train(shape, names, plan)
    assert run(count, train, shape, names, plan) == [here] * count


@needs_mpi
@pytest.mark.parametrize(("count", "shape", "names", "plan"), [
    (2, (2,), ("pipe",), "recompute"),
    *(pytest.param(n, s, a, p, marks=MORE) for n, s, a, p in (
        (2, (2, 2), ("pipe", "data"), "zero2"), (2, (2, 2), ("data", "pipe"), "zero3"), (4, (4,), ("pipe",), "data"),
        (4, (2, 2), ("pipe", "model"), "tensor+sequence"), (4, (2, 2), ("data", "pipe"), "zero1"), (2, (4,), ("pipe",), "data")))])
def test_over_mpi(count, shape, names, plan, tmp_path):
    path = os.pathsep.join([environment()["PYTHONPATH"], str(ROOT)])
    program = str(Path(__file__).parent / "pipeline_programs.py")
    command = [*mpirun_command(find_mpirun(), count)[0], sys.executable, program, json.dumps([shape, names, plan]), str(tmp_path)]
    out = subprocess.run(command, env={**environment(), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
                         timeout=100)  # fmt: skip
    assert out.returncode == 0, out.stderr[-3000:]
    here = json.loads(json.dumps(train(shape, names, plan)))
    assert [json.loads((tmp_path / str(rank)).read_text()) for rank in range(count)] == [here] * count


@needs_mpi
def test_the_benchmark_of_the_bubble_runs():
    program = str(ROOT / "benchmarks" / "bubble.py")
    command = [sys.executable, "-m", "headwater", "launch", "-n", "2", program, "--tiny"]
    out = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=100)
    assert out.returncode == 0 and "| 8 x 4 rows |" in out.stdout, out.stderr[-3000:]
