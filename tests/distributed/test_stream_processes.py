"""A stream over two processes: its values, and a killed rank."""

import pytest
from ranks import launch, needs_mpi


@needs_mpi
@pytest.mark.parametrize("mode", ["whole", "killed"])
def test_a_stream_over_two_processes(mode):
    out = launch(2, "streaming.py", mode)
    if mode == "whole":
        assert out.returncode == 0, out.stderr[-3000:]
        assert "[rank 1] values 30 435000.0" in out.stdout and "[rank 0] values 0 0" in out.stdout
    else:
        assert out.returncode == 1 and "rank 1 was killed by SIGKILL" in out.stderr
