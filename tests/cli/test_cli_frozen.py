"""`headwater check` and `headwater run` on a small model."""

import json

import numpy as np
import pytest

import headwater as hw
from headwater.cli import main


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("frozen") / "model.hwm"
    hw.manual_seed(0)
    hw.freeze(hw.nn.Sequential(hw.nn.Linear(4, 3), hw.nn.ReLU()), hw.ones(2, 4), path)
    return str(path)


def test_check_passes_and_fails(model, tmp_path, capsys):
    assert main(["check", model]) == 0
    assert "1 tests, largest difference" in capsys.readouterr().out
    assert main(["check", "--json", model]) == 0
    assert json.loads(capsys.readouterr().out)["passed"]
    broken = tmp_path / "broken.hwm"
    data = bytearray(open(model, "rb").read())
    data[-1 - 64] ^= 1
    broken.write_bytes(data)
    assert main(["check", str(broken)]) == 1
    assert "damaged" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "none")]) == 1


def test_run_prints_outputs_and_takes_inputs(model, tmp_path, capsys):
    np.save(tmp_path / "x.npy", np.zeros((2, 4), np.float32))
    assert main(["run", model, "--input", f"input={tmp_path / 'x.npy'}", "--out", str(tmp_path / "y.npz")]) == 0
    assert capsys.readouterr().out.startswith("output: tensor(")
    with np.load(tmp_path / "y.npz") as out:
        assert out["output"].shape == (2, 3)
    assert main(["run", model, "--input", f"other={tmp_path / 'x.npy'}"]) == 1
    assert "no input 'other'" in capsys.readouterr().err
    assert main(["run", model, "--shapes", "3"]) == 1


def test_benchmark_reports_latencies_memory_and_operators(model, capsys):
    assert main(["run", model, "--benchmark", "--seconds", "0.01"]) == 0
    out = capsys.readouterr().out
    assert "p50" in out and "p99" in out and "working memory" in out and "linear" in out
    assert main(["run", model, "--benchmark", "--seconds", "0.01", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["milliseconds"]["p50"] <= report["milliseconds"]["p99"]
    assert {row["op"] for row in report["operators"]}


def test_benchmark_compares_threads_and_models(model, tmp_path, capsys):
    command = ["run", model, "--benchmark", "--seconds", "0.01", "--json", "--threads", "1,2", "--against", model]
    assert main(command) == 0
    report = json.loads(capsys.readouterr().out)
    assert [(r["threads"], r["integers"], r["p50"] > 0) for r in report["compared"]] == [(1, False, True), (2, False, True)] * 2
    assert report["verdicts"] == []  # floats against floats
    assert main([*command[:5], "--threads", "1"]) == 0
    assert "with 1 threads, floats" in capsys.readouterr().out
    for wrong in (["--threads", "many"], ["--threads", "9999"], ["--against", str(tmp_path / "none.hwm")]):
        assert main([*command[:5], *wrong]) == 1
        assert "headwater run: " in capsys.readouterr().err


def test_integers_that_are_slower_are_called_so():
    from headwater.cli.frozen import _verdicts

    rows = [{"threads": n, "integers": i, "p50": t} for n, i, t in ((1, True, 3.0), (1, False, 2.0), (2, True, 1.0), (2, False, 2.0))]
    assert _verdicts(rows) == [
        "1 threads: integers are slower than floats on this machine, 1.50 of their time",
        "2 threads: integers are no slower than floats on this machine, 0.50 of their time",
    ]
