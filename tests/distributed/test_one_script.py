"""examples/cluster/train.py, changed only in its mesh: the losses of one rank on 1, 2 and 4."""

import os
import re
import runpy
import subprocess
import sys

import numpy as np
import pytest
from ranks import ROOT, environment, needs_mpi

from headwater.cli.launch import find_mpirun, mpirun_command

SCRIPT = str(ROOT / "examples" / "cluster" / "train.py")
DTYPES = {"resnet": ("float64", 1e-9)}  # batch norm over the 4 rows of a micro-batch makes much of float32's rounding
MESHES = [("data=2", "zero1"), ("pipe=2", "data"), ("data=4", "data"), ("pipe=2,data=2", "zero2"), ("pipe=4", "recompute")]


@pytest.mark.parametrize("name", ["digits", "resnet", "gpt"])
def test_losses_of_virtual_ranks(name):
    train = runpy.run_path(SCRIPT)["train"]
    dtype, tolerance = DTYPES.get(name, ("float32", 1e-3))
    alone = train(name, "data=1", "data", 3, dtype)
    meshes = [*MESHES, ("pipe=2,model=2", "tensor+sequence")] if name == "gpt" else MESHES
    for mesh, plan in meshes:
        np.testing.assert_allclose(train(name, mesh, plan, 3, dtype), alone, rtol=tolerance, err_msg=f"{mesh} {plan}")


MORE = ((2, "digits", "data=2"), (2, "resnet", "data=2"), (4, "resnet", "pipe=2,data=2"),
        (4, "gpt", "data=2,pipe=2"), (4, "digits", "data=4"))


@needs_mpi
@pytest.mark.parametrize(("count", "name", "mesh"), [(2, "gpt", "pipe=2"), *(pytest.param(*c, marks=pytest.mark.slow) for c in MORE)])
def test_losses_of_processes(count, name, mesh):
    dtype, tolerance = DTYPES.get(name, ("float32", 1e-3))
    options = ["--model", name, "--mesh", mesh, "--steps", "3", "--dtype", dtype]
    path = os.pathsep.join([environment()["PYTHONPATH"], str(ROOT)])
    command = [*mpirun_command(find_mpirun(), count)[0], sys.executable, SCRIPT, *options]
    out = subprocess.run(command, env={**environment(), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
                         timeout=100)  # fmt: skip
    assert out.returncode == 0, out.stderr[-3000:]
    alone = runpy.run_path(SCRIPT)["train"](name, "data=1", "data", 3, dtype)
    got = [float(v) for v in re.search(rf"{name} on {count} ranks .*?:((?: \d+\.\d+)+)", out.stdout)[1].split()]
    np.testing.assert_allclose(got, alone, rtol=max(tolerance, 1e-6))
