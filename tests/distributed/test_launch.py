"""headwater launch: prefixes, first causes, killed ranks, Ctrl-C, restarts."""

import signal
import subprocess
import time

import pytest
from ranks import command, environment, launch, needs_mpi

from headwater.cli import main
from headwater.cli.launch import mpirun_command


def seconds_of(f):
    begin = time.monotonic()
    out = f()
    return out, time.monotonic() - begin


@needs_mpi
@pytest.mark.parametrize(
    "mode, said",
    [
        ("raises", "rank 1 failed first: ValueError: the disk is full\n  at "),
        ("killed", "rank 1 was killed by SIGKILL"),
        pytest.param("sizes", "all_reduce of 3 f32: rank 0 sent", marks=pytest.mark.slow),
        pytest.param("timeout", "barrier; nothing came from rank 1", marks=pytest.mark.slow),
    ],
)
def test_the_first_cause_ends_all_ranks(mode, said):
    out, seconds = seconds_of(lambda: launch(3, "endings.py", mode))
    assert out.returncode == 1
    assert said in out.stderr, out.stderr[-3000:]
    assert "[rank 1] started" in out.stdout and "ended" not in out.stdout  # a rank may be ended before it has said so
    assert seconds < 80  # nobody waits for the ranks that sleep or stand in the barrier


@needs_mpi
def test_ctrl_c_stops_all_ranks():
    process = subprocess.Popen(command(2, "endings.py", "sleeps"), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))  # fmt: skip
    assert process.stdout.readline().endswith("started\n") and process.stdout.readline().endswith("started\n")
    process.send_signal(signal.SIGINT)
    (_, errors), seconds = seconds_of(lambda: process.communicate(timeout=80))
    assert process.returncode == 130 and "interrupted, stopping all ranks" in errors
    assert seconds < 60  # they would sleep for ten minutes


@needs_mpi
def test_restarts_after_a_failure():
    out = launch(2, "endings.py", "once", options=("--max-restarts", "2"))
    assert out.returncode == 0, out.stderr[-2000:]
    assert "rank 1 failed first: ValueError: only the first time" in out.stderr and "restart 1 of 2" in out.stderr
    assert "restart 2" not in out.stderr and out.stdout.count("ended") == 2


def test_mpi_ends_while_its_engine_is_held():
    out = launch(2, "endings.py", "holds")
    assert out.returncode == 0, out.stderr[-2000:]
    assert out.stdout.count("ended") == 2 and "signal" not in out.stderr


def test_open_mpi_leaves_out_what_sleeps_for_a_second(monkeypatch, tmp_path):
    for says, expected in (("mpirun (Open MPI) 5.0.11", True), ("HYDRA build details: Version: 4.2.0", False)):
        mpirun = tmp_path / "mpirun"
        mpirun.write_text(f"#!/bin/sh\necho '{says}'\n")
        mpirun.chmod(0o755)
        monkeypatch.delenv("OMPI_MCA_btl", raising=False)
        words, _ = mpirun_command(str(mpirun), 2)
        assert ("--mca btl ^ofi" in " ".join(words)) == expected
        monkeypatch.setenv("OMPI_MCA_btl", "self,tcp")  # the user's choice stays
        assert "--mca" not in mpirun_command(str(mpirun), 2)[0]


def test_what_cannot_be_started(monkeypatch, capsys, tmp_path):
    with pytest.raises(SystemExit):
        main(["launch", "-n", "2", str(tmp_path / "none.py")])
    assert "there is no script" in capsys.readouterr().err
    script = tmp_path / "a.py"
    script.write_text("")
    monkeypatch.setattr("headwater.cli.launch.shutil.which", lambda _: None)
    with pytest.raises(SystemExit) as status:
        main(["launch", "-n", "2", str(script)])
    assert status.value.code == 1 and "pip install 'headwater[distributed]'" in capsys.readouterr().err
