"""Running a compiled program allocates its outputs and a handful of handles, however many kernels it has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, int]]]:
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("counting calls of malloc takes a C compiler and glibc")
    library = tmp_path_factory.mktemp("counter") / "count_allocations.so"
    source = HERE / "count_allocations.c"
    built = subprocess.run([compiler, "-O1", "-shared", "-fPIC", source, "-o", library, "-ldl"], capture_output=True, text=True)
    if built.returncode:
        pytest.skip(f"the counter cannot be built here: {built.stderr[-300:]}")
    environment = {**os.environ, "LD_PRELOAD": str(library), "OMP_NUM_THREADS": "1", "HEADWATER_VERIFY": "0"}
    run = [sys.executable, HERE / "counted_programs.py", library]
    done = subprocess.run(run, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


NAMES = [f"{kind} {net}" for kind in ("inference", "training") for net in ("perceptron", "convolutions", "recurrent")]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_run_allocates_does_not_grow_with_its_kernels(found, name):
    few, many = found[name]
    assert few["tensors"] == many["tensors"] == 1  # the output
    assert few["ours"] == many["ours"] <= 24  # handles of the call: the list of arguments, the output's objects


def test_the_counter_counts(found):
    assert all(f["ours"] > 0 for pair in found.values() for f in pair)
