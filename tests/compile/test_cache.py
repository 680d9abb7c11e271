"""Compiled programs on disk: what a second process finds there, and what is wrong with an entry is no harm."""
import io
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

import headwater as hw
from headwater import _C, nn

SCRIPT = """
import headwater as hw
from headwater import _C, nn
hw.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 4))
optimizer = hw.optim.Adam(model.parameters())
@hw.compile
def step(x):
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss
losses = [step(hw.ones(4, 8)).item() for _ in range(5)]
print(losses, _C.cache_counters(), step.inspect().programs[0].from_cache)
"""


@pytest.fixture(autouse=True)
def unverified(verified, monkeypatch):
    monkeypatch.setenv("HEADWATER_VERIFY", "0")  # else nothing comes from the cache
    monkeypatch.setenv("HEADWATER_CACHE_SIZE", str(1 << 30))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    return tmp_path / "programs"


@pytest.fixture
def warned():
    """What headwater logs (pytest's own plugin for it is switched off, see pyproject.toml)."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    logging.getLogger("headwater").addHandler(handler)
    yield said
    logging.getLogger("headwater").removeHandler(handler)


def scale(x):
    return (x * 2 + 1).relu().sum(-1)


def compile_anew(x):
    """(the result, from the cache?) of a function that has not been compiled in this process."""
    step = hw.compile(scale)
    y = step(x)
    return y, step.variants[0].program.from_cache


def counted(before):
    return {k: v - before[k] for k, v in _C.cache_counters().items() if v != before[k]}


def run_script(path, **env):
    environment = {**os.environ, "PYTHONPATH": "python", "OMP_NUM_THREADS": "1", **env}
    out = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment, timeout=100, check=True)
    return out.stdout.strip()


def test_a_second_process_compiles_nothing_and_computes_the_same(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    cache = str(tmp_path / "cache")
    first, second = run_script(script, HEADWATER_CACHE_DIR=cache), run_script(script, HEADWATER_CACHE_DIR=cache)
    losses = first.split("]")[0]
    assert losses == second.split("]")[0]
    assert "'misses': 1" in first and "'written': 1" in first and first.endswith("False")
    assert "'hits': 1" in second and "'misses': 0" in second and second.endswith("True")
    off = run_script(script, HEADWATER_CACHE_DIR="off")
    assert off.split("]")[0] == losses and "'misses': 0" in off


def test_entries_are_found_again(folder):
    x = hw.randn(3, 5)
    y, cached = compile_anew(x)
    assert not cached and len(list(folder.iterdir())) == 1
    z, cached = compile_anew(x)
    assert cached and hw.equal(y, z)
    assert _C.cache_use()[0] == 1
    _C.cache_clear()
    assert _C.cache_use() == (0, 0)


def test_what_a_program_depends_on_makes_another_entry(folder, monkeypatch):
    x = hw.randn(3, 5)
    compile_anew(x)
    for _ in range(2):
        assert not compile_anew(hw.randn(4, 5))[1]  # another size
        monkeypatch.setenv("HEADWATER_PASSES_OFF", "form_regions")
        assert not compile_anew(x)[1]
        monkeypatch.delenv("HEADWATER_PASSES_OFF")
        assert compile_anew(x)[1]
        _C.cache_clear()
        compile_anew(x)
    threads = hw.get_num_threads()
    try:
        hw.set_num_threads(threads + 1)
        assert not compile_anew(x)[1]
    finally:
        hw.set_num_threads(threads)


def test_constants_are_part_of_the_key(folder):
    def add(value):
        table = hw.tensor([value, 2.0, 3.0])
        return hw.compile(lambda x: x + hw.tensor([value, 2.0, 3.0])), table

    x = hw.zeros(3)
    for value in (1.0, 5.0, 1.0):
        step, want = add(value)
        assert hw.equal(step(x), want)


@pytest.mark.parametrize("damage", ["cut", "flip", "foreign", "empty"])
def test_damaged_entries_are_written_anew(folder, warned, damage):
    x = hw.randn(3, 5)
    y, _ = compile_anew(x)
    (entry,) = folder.iterdir()
    good = entry.read_bytes()
    middle = len(good) // 2
    entry.write_bytes({
        "cut": good[:-64],
        "flip": good[:middle] + bytes([good[middle] ^ 255]) + good[middle + 1 :],
        "foreign": b"not a program" * 100,
        "empty": b"",
    }[damage])
    before = _C.cache_counters()
    z, cached = compile_anew(x)
    assert not cached and hw.equal(y, z)
    if damage != "empty":
        assert counted(before)["refused"] == 1
        assert "is not used and will be written anew" in warned.getvalue() and entry.stem in warned.getvalue()
    assert compile_anew(x)[1]


def test_the_entries_used_longest_ago_go(folder, monkeypatch):
    sizes = [hw.randn(n, 5) for n in range(2, 8)]
    compile_anew(sizes[0])
    (first,) = folder.iterdir()
    size = first.stat().st_size
    monkeypatch.setenv("HEADWATER_CACHE_SIZE", str(size * 3 + size // 2))
    for n, x in enumerate(sizes[1:], 1):
        assert compile_anew(sizes[0])[1]  # in use
        compile_anew(x)
        for i, path in enumerate(sorted(folder.iterdir(), key=lambda p: p.stat().st_mtime_ns)):
            os.utime(path, ns=(i * 10**9, i * 10**9))
        os.utime(first, ns=(10**12 * n, 10**12 * n))
    assert len(list(folder.iterdir())) == 3
    assert first.exists()


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path / "file" / "below"))
    x = hw.randn(3, 5)
    assert hw.equal(compile_anew(x)[0], scale(x))
    assert not compile_anew(x)[1]


def test_what_runs_once_comes_from_the_cache(folder):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
    x = hw.randn(2, 3, 8, 8)
    results = []
    for cached in (False, True):
        with hw.no_grad():
            step = hw.compile(model)
            results.append(step(x))
            assert step.variants[0].program.from_cache is cached
            with hw.no_grad():
                model[0].weight.mul_(1.0)
            results.append(step(x))
    assert all(hw.equal(results[0], r) for r in results)


def test_the_folder_is_shown(folder):
    from headwater.cli.env import facts

    compile_anew(hw.randn(3, 5))
    shown = facts()["cache"]
    assert Path(shown["folder"]) == folder and shown["programs"] == 1 and shown["bytes"] > 0
    assert "cache on disk" not in hw.compile(scale).inspect().text()
