"""Ranks on hosts of their own, which are network namespaces: a slow wire changes no number, a cut one ends all ranks in time."""

import functools
import re
import subprocess
import sys

import pytest
from ranks import PROGRAMS, environment, needs_mpi

from headwater.cli.launch import find_mpirun

APART = ["unshare", "-Urnmpf", "--mount-proc", "--kill-child"]


@functools.cache
def why_not():
    """What is missing for namespaces here; "" where they can be made."""
    try:
        trial = "mount -t tmpfs none /run && ip netns add a && ip link add name va type veth peer name vb"
        out = subprocess.run([*APART, "sh", "-c", trial], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{error} (packages util-linux and iproute2)"
    if out.returncode:
        return f"no right to make network namespaces, or no iproute2: {out.stderr.strip()}"
    version = subprocess.run([find_mpirun(), "--version"], capture_output=True, text=True).stdout
    return "" if re.search(r"Open MPI\) [5-9]", version) else f"mpirun of Open MPI 5 is needed, which takes another ssh; here is {version}"


@pytest.fixture
def apart(tmp_path):
    """Runs apart.py on two hosts; the folder with what it wrote."""
    if why_not():
        pytest.skip(why_not())

    def run(delay, mode):
        program = [sys.executable, str(PROGRAMS / "apart.py"), str(tmp_path), mode]
        command = [*APART, sys.executable, str(PROGRAMS / "hosts.py"), str(tmp_path), str(delay), "--", *program]
        out = subprocess.run(command, env={**environment(), "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=110)
        return out, tmp_path

    return run


@needs_mpi
@pytest.mark.parametrize("mode", ["pipe", pytest.param("data", marks=pytest.mark.slow)])
def test_a_slow_wire_changes_no_number(apart, mode):
    out, folder = apart(0.002, mode)
    assert out.returncode == 0, out.stderr[-3000:]
    (folder / "alone").mkdir()
    subprocess.run([sys.executable, str(PROGRAMS / "apart.py"), str(folder / "alone"), mode], env=environment(), timeout=100, check=True)
    alone = (folder / "alone" / "losses-0").read_text()
    assert (folder / "losses-0").read_text() == (folder / "losses-1").read_text() == alone
    assert int((folder / "wire").read_text()) > 40_000  # it went over the wire, not through shared memory


@needs_mpi
@pytest.mark.parametrize("mode", ["pipe-cut", pytest.param("data-cut", marks=pytest.mark.slow)])
def test_a_cut_wire_ends_all_ranks(apart, mode):
    """MPI itself waits for ever: nobody tells it that packets are lost."""
    out, folder = apart(0.001, mode)
    assert (folder / "gone").exists(), out.stderr[-3000:]
    cut, gone = (float((folder / name).read_text()) for name in ("cut", "gone"))
    assert gone - cut < 40, out.stderr[-3000:]
    for me in (0, 1):
        when, words = (folder / f"end-{me}").read_text().split(" ", 1)
        assert float(when) - cut < 40  # 6 seconds of silence, and what a busy machine adds
        assert f"rank {me} has not heard of rank {1 - me} for 6 s: its host or the link to it is down" in words
