"""The command line: each command in a process of its own, as a user starts it."""

import json
import os
import subprocess
import sys

import pytest

import headwater as hw
from headwater import cli


def run(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": "python" + os.pathsep + os.environ.get("PYTHONPATH", "")}
    environment.update(options.pop("env", {}))
    return subprocess.run(
        [sys.executable, "-m", "headwater", *arguments], capture_output=True, text=True, env=environment, timeout=110, **options
    )


def test_env():
    out = run("env")
    assert out.returncode == 0
    for topic in ("version", "build", "instruction sets", "threads", "libraries", "devices", "python", "packages"):
        assert f"\n{topic}" in "\n" + out.stdout
    assert hw.__version__ in out.stdout
    assert "onednn: " in out.stdout


def test_env_as_json_and_with_variables():
    out = run("env", "--json", env={"HEADWATER_NUM_THREADS": "1", "HEADWATER_ISA": "scalar"})
    found = json.loads(out.stdout)
    assert found["version"] == hw.__version__
    assert found["threads"]["used"] == 1
    assert found["instruction sets"]["used"] == "scalar"
    assert found["environment"]["HEADWATER_ISA"] == "scalar"
    assert found["build"]["compiler"]
    assert "-O2" in found["build"]["flags"]


def test_ops():
    assert "operators" in run("ops").stdout.splitlines()[-1]
    out = run("ops", "expm1").stdout
    assert "src/ops/elementwise/expm1.cpp" in out
    assert "kernel" in out
    assert "tests/ops/test_elementwise.py" in out
    assert "tests/ops/test_pool.py" in run("ops", "avg_pool2d").stdout
    assert "chosen by oneDNN" in run("ops", "mm").stdout or not hw._C.build["onednn"]
    bad = run("ops", "expm2")
    assert bad.returncode == 1
    assert "similar names: exp" in bad.stderr


def test_version_help_and_mistakes(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == hw.__version__
    assert cli.main([]) == 2
    assert "COMMAND" in capsys.readouterr().out
    with pytest.raises(SystemExit) as exit_:
        cli.main(["fly"])
    assert exit_.value.code == 2
    assert "fly" in capsys.readouterr().err


def test_a_closed_pipe_is_no_error():
    environment = {**os.environ, "PYTHONPATH": "python" + os.pathsep + os.environ.get("PYTHONPATH", "")}
    command = f"{sys.executable} -m headwater ops | head -1"
    out = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, env=environment, timeout=60)
    assert out.stderr == ""
