"""Choices among ways: by rule, by formula, measured and remembered. What is chosen may differ; results agree within rounding."""
import os
import subprocess
import sys

import numpy as np
import pytest

import headwater as hw
from headwater import nn


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    before = hw.tuning.mode()
    hw.tuning.clear()
    yield tmp_path / "tuning"
    hw.tuning.set_mode(before)
    hw.tuning.clear()


@pytest.fixture
def network():
    hw.manual_seed(0)
    return nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1)).eval()


def compiled(network, x):
    with hw.no_grad():
        forward = hw.compile(network)
        y = forward(x).numpy()
    ops = [op for op, _, _ in forward.variants[0].program.steps()]
    return y, [op for op in ops if op.startswith("_conv2d")]


def test_every_mode_computes_the_same(network):
    x = hw.randn(1, 16, 24, 24)
    with hw.no_grad():
        plain = network(x).numpy()
    found = {}
    for mode in ("off", "heuristic", "measure"):
        with hw.tuning.use(mode):
            y, found[mode] = compiled(network, x)
        np.testing.assert_allclose(y, plain, rtol=0, atol=3e-5 * np.abs(plain).max())
    assert found["off"] == ["_conv2d_packed"] * 2
    assert "_conv2d_winograd" in found["heuristic"]
    assert len(found["measure"]) == 2


def test_a_measured_choice_is_the_fastest_and_is_not_measured_again(network, folder):
    x = hw.randn(1, 16, 24, 24)
    hw.tuning.set_mode("measure")
    _, first = compiled(network, x)
    made = [c for c in hw.tuning.choices() if "_conv2d_winograd" in c.problem]
    assert len(made) == 2 and all(len(c.ways) == 3 and min(c.seconds) > 0 for c in made)
    for c, op in zip(sorted(made, key=lambda c: "[1, 2, 24, 24, 8]" not in c.problem), first):
        took = c.seconds[c.ways.index(c.chosen)]
        assert c.chosen.startswith(op) and not c.from_disk
        assert took == min(c.seconds) or (c.chosen == c.ways[0] and took * 0.97 <= min(c.seconds))
    files = sorted(folder.glob("*.hwtune"))
    assert len(files) == len(hw.tuning.choices())
    _, again = compiled(network, x)  # another compiled function, the same choices
    assert again == first and sorted(folder.glob("*.hwtune")) == files


SCRIPT = """
import headwater as hw
from headwater import nn
hw.manual_seed(0)
network = nn.Conv2d(16, 16, 3, padding=1).eval()
with hw.no_grad():
    hw.compile(network)(hw.ones(1, 16, 16, 16))
print([c.from_disk for c in hw.tuning.choices()], [c.chosen for c in hw.tuning.choices()])
"""


def run(**env):
    environment = {**os.environ, "PYTHONPATH": "python", "HEADWATER_TUNING": "measure", **env}
    out = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, timeout=100)
    return out.stdout.strip(), out.stderr


def test_a_second_process_measures_nothing(folder):
    first, _ = run()
    files = {f: f.read_text() for f in folder.glob("*.hwtune")}
    second, _ = run()
    assert first.startswith("[False") and second == first.replace("False", "True")
    assert {f: f.read_text() for f in folder.glob("*.hwtune")} == files
    other, _ = run(OMP_NUM_THREADS="1" if os.environ.get("OMP_NUM_THREADS") != "1" else "2")
    assert other.startswith("[False")  # another number of threads is another question


def test_a_damaged_file_is_measured_anew(folder):
    first, _ = run()
    assert first.startswith("[False")
    for damage in ("", "7\n", "0\n-\n", "99 99"):
        for file in folder.glob("*.hwtune"):
            head, _, _ = file.read_text().rpartition("\n\n")
            file.write_text(f"{head}\n\n{damage}" if damage else "")
        found, errors = run()
        assert found.startswith("[False"), errors


def test_a_word_that_is_no_mode():
    with pytest.raises(ValueError, match="there is no tuning mode 'fast'; use 'off', 'heuristic' or 'measure'"):
        hw.tuning.set_mode("fast")
    with pytest.raises(ValueError, match="fast"), hw.tuning.use("fast"):
        pass
    found, errors = run(HEADWATER_TUNING="fast")
    assert not found and "there is no tuning mode 'fast'" in errors


def test_where_nothing_is_kept(monkeypatch, network):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", "off")
    assert hw.tuning.folder() == ""
    with hw.tuning.use("measure"):
        compiled(network, hw.randn(1, 16, 24, 24))
    assert hw.tuning.choices()
