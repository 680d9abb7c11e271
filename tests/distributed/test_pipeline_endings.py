"""A stage that raises, is killed or reads a value: every rank ends soon, with the first cause; in one process the model goes on."""

import re
import subprocess
import sys
import time

import numpy as np
import pytest
from ranks import PROGRAMS, environment, launch, needs_mpi

import headwater as hw
import headwater.nn.functional as F
from headwater import nn
from headwater.cli.launch import find_mpirun, mpirun_command

IDEAS = "ValueError: the layer is out of ideas"


def two_stages(how=None):
    hw.manual_seed(0)
    return hw.parallelize(nn.Sequential(nn.Linear(4, 4), Reads(how)), hw.mesh("cpu", 2, names=("pipe",)))


def step(model, loss_of=F.mse_loss):
    return hw.accumulate(model, loss_of, hw.ones(4, 4), hw.ones(4, 4), micro_batches=2).item()


@needs_mpi
@pytest.mark.parametrize(("mode", "said"), [
    ("raises", f"rank 1 failed first: {IDEAS}"), ("killed", "rank 1 was killed by SIGKILL"),
    pytest.param("item", r"rank [01] failed first: RuntimeError: .*stage 1 of 2 would read the value of f32\[\]", marks=pytest.mark.slow),
    pytest.param("backward", f"rank 1 failed first: {IDEAS}", marks=pytest.mark.slow)])
def test_all_ranks_end_with_the_first_cause(mode, said, tmp_path):
    out = launch(2, "pipeline_endings.py", mode, tmp_path / "when")
    seconds = time.time() - float((tmp_path / "when").read_text())
    assert out.returncode == 1 and re.search(said, out.stderr), out.stderr[-3000:]
    assert out.stdout.count("step 0") == (0 if mode == "item" else 2) and "step 1" not in out.stdout
    if mode != "killed":
        direction = "backward" if mode == "backward" else "forward"
        assert f"in the {direction} pass of stage 1 of 2, micro-batch {0 if mode == 'item' else 1}" in out.stderr
    assert seconds < 60  # 6 are given to the others to end by themselves


@needs_mpi
@pytest.mark.slow
def test_under_plain_mpirun(tmp_path):
    program = [str(PROGRAMS / "pipeline_endings.py"), "raises", str(tmp_path / "when")]
    command = [*mpirun_command(find_mpirun(), 2)[0], sys.executable, *program]
    out = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=100)
    assert out.returncode and IDEAS in out.stderr and time.time() - float((tmp_path / "when").read_text()) < 60


@needs_mpi
@pytest.mark.parametrize("width", [8, pytest.param(1024, marks=pytest.mark.slow)])
def test_processes_go_on_together_after_an_error(width):
    """The same losses as without errors; the wide one leaves messages behind that their receiver never asked for."""
    out = launch(2, "recovering.py", width)
    assert out.returncode == 0, out.stderr[-3000:]
    lines = re.findall(r"losses (.*)", out.stdout)
    hw.manual_seed(0)
    model = hw.parallelize(nn.Sequential(nn.Linear(width, width), nn.Linear(width, width)), hw.mesh("cpu", 2, names=("pipe",)))
    optimizer, want = hw.optim.SGD(model.parameters(), lr=0.1), []
    for _ in range(3):
        optimizer.zero_grad()
        want.append(hw.accumulate(model, F.mse_loss, hw.ones(8, width), hw.ones(8, width), micro_batches=4).item())
        optimizer.step()
    assert lines == [" ".join(map(str, want))] * 2


class Reads(nn.Linear):
    def __init__(self, how):
        super().__init__(4, 4)
        self.how = how

    def forward(self, x):
        y = super().forward(x)
        if self.how == "item":
            y.sum().item()
        if self.how == "moves":
            y.to_global(hw.mesh("cpu", 1), [hw.broadcast])
        if self.how == "raises":
            raise ValueError("no")
        return y


def refusals():
    """What reading in a stage says, and that the same model works afterwards."""
    found = []
    for how in ("item", "moves"):
        model = two_stages(how)
        try:
            step(model)
        except RuntimeError as error:
            found.append(str(error))
        model[1].how = None
        found.append(step(model))
    model = two_stages()
    try:
        step(model, lambda y, t: F.mse_loss(y, t) * (2 if y.max() > 100 else 1))
    except RuntimeError as error:
        found.append(str(error))
    return [*found, step(model)]


def test_reading_is_refused_in_one_process_too():
    here = refusals()
    assert len(here) == 6 and here[1] == here[3] == here[5]
    for message, part in zip(here[::2], ("would read the value of f32[]", "would move f32[2, 4] to cpu[axis0=1]", "would read the value"),
                             strict=True):  # fmt: skip
        assert "stage 1 of 2" in message and part in message and "to_local()" in message


def test_a_model_goes_on_after_an_error_in_a_stage():
    """Draws, borrowed weights and what is known of the stages are as if nothing had happened."""
    want = step(two_stages())
    model = two_stages("raises")
    with pytest.raises(ValueError, match="no") as error:
        step(model)
    if sys.version_info >= (3, 11):
        assert error.value.__notes__[-1] == "in the forward pass of stage 1 of 2, micro-batch 0"
    model[1].how = None
    np.testing.assert_allclose(step(model), want)
    hw.ones(2).to_global(hw.mesh("cpu", 2), [hw.split(0)]).sum().item()  # nothing is apart any more
