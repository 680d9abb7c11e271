"""`headwater run --fit` and `headwater run` of ONNX files: what is tried, what is written, and that it still computes the same."""

import json

import numpy as np
import pytest

import headwater as hw
from headwater import _C, nn
from headwater.cli import fit, main


@pytest.fixture
def frozen(tmp_path):
    hw.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3)).eval(), hw.rand(2, 16)
    hw.freeze(net, x, tmp_path / "m.hwm", notes={"labels": "a b c"})
    return tmp_path / "m.hwm", x


def run(*words):
    return main(["run", *map(str, words), "--fit", "--seconds", "0.05"])


def test_notes_of_several_machines_are_kept(frozen, tmp_path, monkeypatch, capsys):
    path, x = frozen
    want, out = hw.infer.load(path)(x), tmp_path / "fitted.hwm"
    assert run(path, "--out", out) == 0
    printed = capsys.readouterr().out
    assert _C.machine_name() in printed and "<- taken" in printed and f"{out}: written" in printed
    monkeypatch.setattr(_C, "machine_name", lambda: "another, avx2, 64 cores")
    assert run(out) == 0
    notes = hw.infer.load(out).notes
    monkeypatch.undo()
    assert {key for key in notes if key.startswith("fit ")} == {f"fit {_C.machine_name()}", "fit another, avx2, 64 cores"}
    assert notes["labels"] == "a b c" and all(notes[key].startswith("threads=") for key in notes if key.startswith("fit "))
    loaded = hw.infer.load(out)
    assert loaded(x).equal(want) and loaded.check() == 0


def test_table_and_choice(frozen, capsys):
    path, _ = frozen
    before = hw.get_num_threads()
    try:
        hw.set_num_threads(3)
        assert run(path, "--json") == 0
    finally:
        hw.set_num_threads(before)
    report = json.loads(capsys.readouterr().out)
    assert [row["threads"] for row in report["rows"]] == [3, 1, 2]
    assert report["best"] in report["rows"]
    rows = [{"p50": 1.0}, {"p50": 0.99}, {"p50": 2.0}]
    assert fit._best(rows) is rows[0]  # noise
    assert fit._best([*rows, {"p50": 0.5}])["p50"] == 0.5


def test_encrypted_models_stay_encrypted(frozen, tmp_path):
    path, x = frozen
    key = bytes(range(32))
    hw.freeze(nn.Linear(16, 2), x, tmp_path / "secret.hwm", key=key)
    (tmp_path / "key").write_bytes(key)
    assert run(tmp_path / "secret.hwm", "--key-file", tmp_path / "key") == 0
    with pytest.raises(ValueError, match="is encrypted"):
        hw.infer.load(tmp_path / "secret.hwm")
    assert hw.infer.load(tmp_path / "secret.hwm", key=key).notes


def test_onnx_files_run_and_are_fitted(tmp_path, capsys):
    pytest.importorskip("onnx")
    hw.manual_seed(0)
    net, x = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 4)).eval(), hw.rand(1, 3, 8, 8)
    path = tmp_path / "net.onnx"
    hw.onnx.export(net, x, path)
    np.save(tmp_path / "x.npy", x.numpy())
    with hw.no_grad():
        want = net(x).numpy()
    assert main(["run", str(path), "--input", str(tmp_path / "x.npy"), "--out", str(tmp_path / "y.npz")]) == 0
    (have,) = np.load(tmp_path / "y.npz").values()
    np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
    capsys.readouterr()
    assert run(path, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert {row["algorithms"] for row in report["rows"]} <= {"heuristic", "off", "measure"}
    np.testing.assert_allclose(hw.infer.load(tmp_path / "net.hwm")(x).numpy(), want, rtol=1e-4, atol=1e-5)


def test_mistakes_have_words(tmp_path, capsys):
    assert run(tmp_path / "none.hwm") == 1
    assert "cannot read the model" in capsys.readouterr().err
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    assert run(tmp_path / "bad.onnx") == 1
    assert "headwater run:" in capsys.readouterr().err
