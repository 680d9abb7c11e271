"""The demo, as a user starts it: accuracy, files, picture."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")


def run(*arguments):
    environment = {**os.environ, "PYTHONPATH": "python" + os.pathsep + os.environ.get("PYTHONPATH", "")}
    environment["HEADWATER_NUM_THREADS"] = "1"  # tests run side by side
    return subprocess.run(
        [sys.executable, "-m", "headwater", "demo", *arguments], capture_output=True, text=True, env=environment, timeout=115
    )


def test_the_demo_reaches_its_goal(tmp_path):
    out = run("--out", str(tmp_path / "out"))
    assert out.returncode == 0, out.stdout + out.stderr
    assert "fresh process" in out.stdout
    assert {f.name for f in (tmp_path / "out").iterdir()} == {"digits.safetensors", "digits.png", "test-images.safetensors"}
    picture = (tmp_path / "out" / "digits.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000


def test_the_same_seed_gives_the_same_weights(tmp_path):
    files = []
    for name in ("a", "b"):
        assert run("--out", str(tmp_path / name), "--epochs", "1", "--seed", "5").returncode == 0
        files.append((tmp_path / name / "digits.safetensors").read_bytes())
    assert files[0] == files[1]
