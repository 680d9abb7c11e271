"""Runs a program of scripts/ on several ranks with `headwater launch`."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import headwater.distributed as dist
from headwater.cli.launch import ADVICE, find_mpirun

PROGRAMS = Path(__file__).parent / "scripts"
ROOT = Path(__file__).resolve().parents[2]

needs_mpi = pytest.mark.skipif(
    not dist.is_available() or find_mpirun() is None,
    reason=f"no MPI: libheadwater_mpi.so {'is' if dist.is_available() else 'is not'} built, mpirun: {find_mpirun()}; {ADVICE}",
)


def command(ranks, program, *arguments, options=()):
    return [sys.executable, "-m", "headwater", "launch", "-n", str(ranks), *options, str(PROGRAMS / program), *map(str, arguments)]


def environment():
    path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "HEADWATER_NUM_THREADS": "1"}


def launch(ranks, program, *arguments, options=(), timeout=90):
    return subprocess.run(
        command(ranks, program, *arguments, options=options), env=environment(), capture_output=True, text=True, timeout=timeout
    )


def script(name):
    """A program as a module, for what it computes in one process."""
    spec = importlib.util.spec_from_file_location(f"scripts_{name}", PROGRAMS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
