"""`headwater bisect`. That it names a wrong pass and its node is tested beside src/compiler/program/bisect.cpp, with wrong passes."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from headwater.cli.bisect import difference, main

TRAINING = """
import headwater as hw
from headwater import nn
from headwater.nn import functional as F
hw.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(0.2), nn.LayerNorm(8), nn.Linear(8, 3))
optimizer = hw.optim.Adam(model.parameters(), lr=0.01)

@hw.compile
def step(x, y):
    z = hw.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, (x,))
    z = hw.while_loop(lambda v: v.abs().sum() < 20, lambda v: (v * 1.5 + 0.1,), (z,))[0]
    loss = F.cross_entropy(model(z), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss

outside = hw.compile(lambda x: model(x).square().mean())
for i in range(3):
    step(hw.randn(4, 6), hw.arange(4) % 3)
outside(hw.randn(4, 6)).backward()
"""

INFERENCE = """
import headwater as hw
from headwater import nn
hw.manual_seed(0)
model = nn.Sequential(nn.Linear(300, 200), nn.ReLU(), nn.Linear(200, 100))
with hw.no_grad():
    hw.compile(model)(hw.randn(9, 300))
"""


@pytest.fixture
def script(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "train.py"
        path.write_text(text)
        return str(path)

    return write


def test_a_training_step_is_the_same_after_each_pass(script, capsys):
    assert main(script(TRAINING), [], 0.0, [], None) == 0
    said = capsys.readouterr().out
    assert "step, run 1: the same after each of capture" in said and "kernels, plan" in said
    assert "backward, run 1" in said


def test_the_pass_that_changes_rounding_and_its_node(script, capsys):
    path = script(INFERENCE)
    assert main(path, [], 0.0, [], None) == 1
    said = capsys.readouterr().out
    assert "first differs after fuse_linear" in said and "_linear_packed(" in said and "train.py:7" in said
    assert main(path, [], 1e-5, [], None) == 0


def test_two_settings(script):
    path = script(INFERENCE)
    env = {**os.environ, "HEADWATER_ISA": ""}
    run = [sys.executable, "-m", "headwater", "bisect", "--against"]
    del env["HEADWATER_ISA"]
    found = subprocess.run([*run, "HEADWATER_PASSES_OFF=fuse_linear,merge_products", path], capture_output=True, text=True, env=env)
    assert found.returncode == 1 and "first differs in fuse_linear" in found.stdout, found.stdout + found.stderr
    found = subprocess.run([*run, "HEADWATER_CODEGEN=off", path], capture_output=True, text=True, env=env)
    assert found.returncode == 0 and "the same in 1 runs" in found.stdout, found.stdout + found.stderr


def test_no_such_file_and_no_compiled_function(script, capsys):
    assert main("nowhere.py", [], 0.0, [], None) == 2
    assert main(script("x = 1"), [], 0.0, [], None) == 2
    assert "no compiled function" in capsys.readouterr().err


def test_difference():
    a = np.array([1.0, np.nan, np.inf, 4.0])
    assert difference(a, a.copy()) == 0
    assert difference(a, np.array([1.0, np.nan, np.inf, 2.0])) == 0.5
    assert difference(a, np.array([1.0, 0.0, np.inf, 4.0])) == float("inf")
    assert difference(a, a[:2]) == float("inf")
