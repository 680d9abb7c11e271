"""The demo, as a user starts it: accuracy, files, picture."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest

# Looked for, not imported: each of pytest's workers reads this file.
missing = [name for name in ("sklearn", "matplotlib") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"without {missing}")


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
    gain = re.search(r"takes ([\d.]+) ms compiled, ([\d.]+) ms eager .* in ([\d.]+) MiB compiled, ([\d.]+) MiB eager", out.stdout)
    assert gain, out.stdout
    assert all(float(number) > 0 for number in gain.groups())
    assert re.search(r"froze .*digits.hwm: \d+ KiB, its test passes .* a digit takes \d+ us", out.stdout), out.stdout
    assert re.search(r"ran 10 steps on 2 ranks too, over MPI, .* at most [\d.e-]+ from|ran on one rank, because ", out.stdout), out.stdout
    files = {"digits.safetensors", "digits.png", "test-images.safetensors", "digits.hwm"}
    assert {f.name for f in (tmp_path / "out").iterdir()} == files
    picture = (tmp_path / "out" / "digits.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000


def test_the_same_seed_gives_the_same_weights(tmp_path):
    """In a process of its own and in this one, which has done other things before."""
    import headwater as hw
    from headwater.cli import demo

    assert run("--out", str(tmp_path), "--epochs", "1", "--seed", "5").returncode == 0
    threads = hw.get_num_threads()
    hw.set_num_threads(1)
    try:
        hw.manual_seed(5)
        images, labels, *test = demo.digits(5)
        model = demo.DigitsNet()
        demo.train(model, images, labels, tuple(test), 1, lambda steps, text: None)
    finally:
        hw.set_num_threads(threads)
    alone = hw.load(tmp_path / "digits.safetensors")
    assert {name: value.numpy().tobytes() for name, value in model.state_dict().items()} == {
        name: value.numpy().tobytes() for name, value in alone.items()}


def test_the_step_is_captured_at_most_twice():
    """For the whole batches, and once more for the last, smaller one."""
    import headwater as hw
    from headwater.cli.demo import DigitsNet, make_step

    model = DigitsNet()
    step = hw.compile(make_step(model, hw.optim.AdamW(model.parameters())))
    for size in (32, 32, 29, 32, 29):
        step(hw.rand(size, 1, 8, 8), hw.zeros(size, dtype=hw.int64))
    assert step.captures == 2


def test_two_ranks_are_used_or_said_why_not(monkeypatch, tmp_path):
    from headwater.cli import demo_ranks, launch

    monkeypatch.setattr(launch, "find_mpirun", lambda: None)
    assert demo_ranks.report("").startswith("ran on one rank, because there is no MPI here (pip install")
    refuses = tmp_path / "mpirun"
    refuses.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo 'Open MPI 5.0' && exit\necho 'not as root' >&2\nexit 3\n")
    refuses.chmod(0o755)
    monkeypatch.setattr(launch, "find_mpirun", lambda: str(refuses))
    monkeypatch.setattr("headwater.distributed.is_available", lambda: True)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert demo_ranks.report("") == "ran on one rank, because mpirun ended with status 3: not as root"
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert demo_ranks.report("") == "ran on one rank, because there is one core here"


def test_two_ranks_have_the_losses_of_one(tmp_path):
    import headwater as hw
    from headwater.cli import demo_ranks
    from headwater.cli.demo import digits

    file = str(tmp_path / "digits.safetensors")
    images, labels, _, _ = digits(3)
    hw.save({"images": images, "labels": labels}, file)
    one, two = demo_ranks.losses(1, file), demo_ranks.losses(2, file)
    assert max(abs(a - b) for a, b in zip(one, two, strict=True)) < 1e-3 and two[-1] < two[0]
