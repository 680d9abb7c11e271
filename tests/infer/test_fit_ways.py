"""The ways among which `headwater run --fit` chooses for an ONNX file: layouts, and precision within a bound that must be given."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

pytest.importorskip("onnx", reason="pip install onnx")

import headwater as hw
from headwater import nn
from headwater.cli import fit, main
from headwater.cli.onnx_variants import Way, variants_of_onnx


@pytest.fixture
def exported(tmp_path):
    """A network with convolutions as an ONNX file, an input in a file, and the right answer."""
    hw.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.Flatten(), nn.Linear(1024, 4)).eval()
    x = hw.randn(1, 3, 8, 8)
    hw.onnx.export(net, x, tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", x.numpy())
    with hw.no_grad():
        return str(tmp_path / "net.onnx"), str(tmp_path / "x.npy"), x, net(x).numpy()


def run(*words):
    return main(["run", *map(str, words), "--fit", "--seconds", "0.05"])


def test_layouts_differ_and_compute_the_same(exported):
    path, file, x, want = exported
    before = os.environ.get("HEADWATER_PASSES_OFF")
    variants = variants_of_onnx(path, [file], None)
    assert os.environ.get("HEADWATER_PASSES_OFF") == before
    assert next(iter(variants)) == Way()
    assert {way.layout for way in variants} == {"blocked", "plain"}
    assert {way.precision for way in variants} == {"as given"}
    for way, data in variants.items():
        np.testing.assert_allclose(hw.infer.load(data)(x).numpy(), want, rtol=1e-4, atol=1e-5, err_msg=str(way))


def test_bfloat16_only_within_the_bound(exported):
    path, file, x, want = exported
    assert all(way.precision == "as given" for way in variants_of_onnx(path, [file], 0.0))
    variants = variants_of_onnx(path, [file], 0.05)
    lower = {way: data for way, data in variants.items() if way.precision == "bfloat16"}
    assert lower
    for data in lower.values():
        model = hw.infer.load(data)
        have = model(x)
        assert have.dtype == hw.float32
        off = np.abs(have.numpy() - want).max() / np.abs(want).max()
        assert 1e-5 < off <= 0.05  # it is bfloat16
        assert "5.0e-02 was allowed" in model.notes["precision"]


def test_what_is_taken_lies_in_the_file(exported, monkeypatch, capsys):
    path, file, x, want = exported
    monkeypatch.setattr(fit, "_best", lambda rows: next(r for r in rows if r["precision"] == "bfloat16"))
    assert run(path, "--input", file, "--error", "0.05", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["best"]["precision"] == "bfloat16"
    model = hw.infer.load(report["file"])
    assert model.notes["precision"].startswith("bfloat16: off by at most")
    np.testing.assert_allclose(model(x).numpy(), want, atol=0.05 * np.abs(want).max())
    monkeypatch.setattr(fit, "_best", lambda rows: next(r for r in rows if r["layout"] == "plain"))
    assert run(path, "--input", file) == 0
    assert "plain" in next(line for line in capsys.readouterr().out.splitlines() if "<- taken" in line)


def test_mistakes_about_the_error_have_words(exported, tmp_path, capsys):
    path, file, x, _ = exported
    assert run(path, "--error", "0.01") == 1
    assert "--error needs --input" in capsys.readouterr().err
    assert run(path, "--input", file, "--error", "2") == 1
    assert "between 0 and 1" in capsys.readouterr().err
    hw.freeze(nn.Linear(8, 2), hw.ones(1, 8), tmp_path / "m.hwm")
    assert run(tmp_path / "m.hwm", "--error", "0.01") == 1
    assert "give the ONNX file" in capsys.readouterr().err
    assert main(["run", path, "--input", file, "--error", "0.01"]) == 1
    assert "belongs to --fit" in capsys.readouterr().err
