"""hw.compile with ranks in several processes: the bits of eager mode, there and in one process, and the end of all after an error."""

import json
import os
import subprocess
import sys

import pytest
from compiled_programs import everything, gradients_outside, line_is_cut, results, steps, tables
from pipe_processes import run
from ranks import PROGRAMS, ROOT, environment, needs_mpi

from headwater.cli.launch import find_mpirun, mpirun_command

CASES = [("mlp", (2,), "data"), ("mlp", (2,), "zero1"), ("gpt", (2,), "tensor"), ("mlp", (2,), "stages")]
MORE = [("gpt", (2,), "data"), ("mlp", (2,), "zero2"), ("gpt", (2,), "zero3"), ("gpt", (2,), "zero1")]
FOUR = [("mlp", (4,), "data"), ("gpt", (4,), "zero1"), ("gpt", (4,), "tensor"), ("gpt", (2, 2), "tensor+zero1"), ("mlp", (4,), "stages")]


def under_mpi(count, argument):
    path = os.pathsep.join([environment()["PYTHONPATH"], str(ROOT), str(ROOT / "tests" / "distributed")])
    command = [*mpirun_command(find_mpirun(), count)[0], sys.executable, str(PROGRAMS / "compiled.py"), argument]
    return subprocess.run(command, env={**environment(), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
                          timeout=100)  # fmt: skip


def alone(cases):
    return [compiled for _, compiled in steps(cases)]


def check(found, here):
    for (eager, compiled), want in zip(found, here, strict=True):
        assert compiled[:3] == eager[:3] == want[:3]
        assert compiled[3] == 1 and len(set(compiled[0])) == 3


def test_two_processes_have_the_bits_of_eager_mode_and_of_one_process():
    here, others = alone(CASES), (gradients_outside(), results(), tables())
    for found in run(2, everything, CASES, ranks=2):
        check(found[0], here)
        for got, want in zip(found[1:4], others, strict=True):
            assert got[0::2] == got[1::2] == want[0::2]
        assert "ranks lie in several processes" in found[4] and "take what is on a mesh whole first" in found[4], found[4]


@pytest.mark.slow
def test_more_plans_of_two_processes():
    here = alone(MORE)
    for found in run(2, steps, MORE):
        check(found, here)


@needs_mpi
@pytest.mark.slow
@pytest.mark.parametrize(("count", "cases"), [(2, CASES), (2, MORE), (4, FOUR)], ids=["2", "2-more", "4"])
def test_training_steps_under_mpi(count, cases):
    out = under_mpi(count, json.dumps(cases))
    assert out.returncode == 0, out.stderr[-3000:]
    answers = [json.loads(line.split("result ", 1)[1]) for line in out.stdout.splitlines() if "result " in line]
    losses = [compiled[0] for compiled in alone(cases)]
    assert answers == [[[True] * len(cases), losses, [1] * len(cases)]] * count


@needs_mpi
def test_an_error_in_one_rank_ends_all():
    out = under_mpi(2, "fails")
    assert out.returncode != 0
    assert out.stdout.count("[6.0, 10.0]") == 2, out.stdout + out.stderr[-3000:]
    assert "IndexError: embedding: index 9 is out of range for axis 0 with size 4 (compiled.py:" in out.stderr
    assert "RuntimeError: rank 1: IndexError: embedding: index 9" in out.stderr and "ended" not in out.stdout


def test_what_a_messenger_raises_comes_out_of_the_compiled_call():
    assert run(1, line_is_cut) == [["OSError: the line is cut"] * 2]
