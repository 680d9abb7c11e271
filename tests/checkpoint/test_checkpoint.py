"""Checkpoints: what comes back, pieces, damage, and that a crash at any moment leaves the one before."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import headwater as hw
from headwater import checkpoint

ROOT = Path(__file__).resolve().parents[2]


def state(k):
    return {"model": {"w": hw.full((3, 4), float(k)), "b": hw.arange(5)}, "step": k, "names": ("a", None), "empty": hw.zeros(0, 2),
            "wide": hw.tensor([1 + 2j], dtype=hw.complex128), "half": hw.ones(2, dtype=hw.bfloat16)}  # fmt: skip


def equal(a, b):
    if isinstance(a, hw.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and hw._C.hash_tensor(a.contiguous()) == hw._C.hash_tensor(b.contiguous())
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return a == b


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_state_comes_back(tmp_path, asynchronous):
    saved = state(1)
    saving = checkpoint.save(tmp_path / "new" / "run", saved, step=10, local={"seed": 5}, asynchronous=asynchronous)
    saved["model"]["w"].fill_(9.0) if asynchronous else None
    folder = saving.wait()
    assert saving.done() and folder == checkpoint.newest(tmp_path / "new" / "run")
    assert equal(checkpoint.load(tmp_path / "new" / "run"), state(1))
    assert equal(checkpoint.load(folder), state(1)) and checkpoint.load_local(folder) == {"seed": 5}
    assert checkpoint.Checkpoint(folder).step == 10


def test_shards_are_plain_safetensors(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    folder = checkpoint.save(tmp_path, {"w": hw.ones(2, 3)}).wait()
    assert np.array_equal(safetensors.load_file(folder / "rank-00000.safetensors")["w"], np.ones((2, 3), np.float32))


def test_the_oldest_go(tmp_path):
    for k in range(5):
        checkpoint.save(tmp_path, state(k), keep=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint-00000003", "checkpoint-00000004"]


def test_parts_are_put_together_from_the_pieces_of_other_ranks(tmp_path):
    """As four ranks would have written a matrix split in both directions, unevenly."""
    whole = hw.arange(35, dtype=hw.float32).reshape(5, 7)
    pieces = {f"part{i}{j}": checkpoint.Shard(whole[r, c].contiguous(), (r.start, c.start), (5, 7))
              for i, r in enumerate([slice(0, 2), slice(2, 5)]) for j, c in enumerate([slice(0, 3), slice(3, 7)])}  # fmt: skip
    folder = checkpoint.save(tmp_path, pieces).wait()
    index = json.loads((folder / "index.json").read_text())
    for entry in index["files"]["rank-00000.safetensors"].values():
        entry["tensor"] = "w"
    index["structure"] = {"dict": [["w", {"tensor": "w"}]]}
    (folder / "index.json").write_text(json.dumps(index))
    assert equal(checkpoint.load(tmp_path)["w"], whole)
    opened = checkpoint.Checkpoint(tmp_path)
    assert opened.names() == ["w"]
    for offset, shape in (((0, 0), (2, 3)), ((1, 2), (3, 4)), ((4, 6), (1, 1)), ((0, 3), (5, 0)), ((2, 0), (3, 7))):
        assert equal(opened.tensor("w", offset, shape), whole[offset[0] : offset[0] + shape[0], offset[1] : offset[1] + shape[1]])
    with pytest.raises(ValueError, match="does not lie in it"):
        opened.tensor("w", (3, 0), (3, 7))
    del index["files"]["rank-00000.safetensors"]["part11@2,3"]
    (folder / "index.json").write_text(json.dumps(index))
    with pytest.raises(ValueError, match="do not cover"):
        checkpoint.load(tmp_path)


def test_damage_is_named(tmp_path):
    checkpoint.save(tmp_path, state(1))
    folder = checkpoint.save(tmp_path, state(2)).wait()
    shard = folder / "rank-00000.safetensors"
    good = shard.read_bytes()
    changed = bytearray(good)
    changed[-1] ^= 1
    shard.write_bytes(changed)
    with pytest.raises(ValueError, match="are not those that were written; the checkpoint before it is .*checkpoint-00000000"):
        checkpoint.load(tmp_path)
    assert checkpoint.load(tmp_path / "checkpoint-00000000")["step"] == 1
    shard.write_bytes(good[:-3])
    with pytest.raises(ValueError, match="rank-00000.safetensors: "):
        checkpoint.load(tmp_path)
    (folder / "index.json").write_text("{")
    with pytest.raises(ValueError, match="index.json is damaged"):
        checkpoint.load(tmp_path)


def test_mistakes(tmp_path):
    with pytest.raises(FileNotFoundError, match="no complete checkpoint"):
        checkpoint.load(tmp_path)
    assert checkpoint.newest(tmp_path) is None
    with pytest.raises(ValueError, match="keep=0"):
        checkpoint.save(tmp_path, {}, keep=0)
    with pytest.raises(TypeError, match="cannot store"):
        checkpoint.save(tmp_path, {"model": object()})
    with pytest.raises(ValueError, match="does not lie in a tensor of shape"):
        checkpoint.Shard(hw.zeros(3), (2,), (4,))


PROGRAM = """
import sys, headwater as hw
from headwater import checkpoint
path = sys.argv[1]
k = checkpoint.load(path)["k"] if checkpoint.newest(path) else 0
while True:
    k += 1
    checkpoint.save(path, {"k": k, "t": [hw.full((1000,), float(k)) for _ in range(20)]}, asynchronous=k % 2 == 0, keep=1).wait()
    print(k, flush=True)
"""


def test_killed_at_any_moment_the_last_one_told_of_is_there(tmp_path):
    rng, least = random.Random(1), 0
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "HEADWATER_NUM_THREADS": "1"}
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, tmp_path], stdout=subprocess.PIPE, text=True, env=environment)
        least = int(process.stdout.readline())
        time.sleep(rng.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        told = process.communicate()[0].split()
        least = max([least, *map(int, told)])
        loaded = checkpoint.load(tmp_path)
        assert least <= loaded["k"] <= least + 1
        assert all(t.tolist() == [float(loaded["k"])] * 1000 for t in loaded["t"])
    checkpoint.save(tmp_path, {"k": 0}, keep=1)
    assert len(list(tmp_path.iterdir())) == 1  # what the kills left is gone


def test_global_tensors_come_back_on_another_mesh(tmp_path):
    whole, bias = hw.arange(35.0).reshape(5, 7), hw.arange(6.0)
    mesh = hw.mesh("cpu", (2, 2), names=("data", "model"))
    saved = {
        "w": whole.to_global(mesh, [hw.split(0), hw.split(1)]),
        "twice": whole.to_global(mesh, [hw.split(0), hw.split(0)]),
        "b": bias.to_global(mesh, [hw.broadcast, hw.split(0)]),
        "sum": bias.to_global(mesh, [hw.broadcast, hw.partial_sum]),
        "plain": bias,
    }
    folder = checkpoint.save(tmp_path, saved).wait()
    index = json.loads((folder / "index.json").read_text())["files"]["rank-00000.safetensors"]
    assert sum(entry["tensor"] == "b" for entry in index.values()) == 2  # not once for each of the four ranks
    loaded = checkpoint.load(tmp_path)
    assert equal(loaded["w"], whole) and equal(loaded["twice"], whole) and equal(loaded["b"], bias) and equal(loaded["sum"], bias)
    line = hw.mesh("cpu", 3)
    into = {
        "w": hw.zeros(5, 7).to_global(line, [hw.split(1)]),
        "twice": hw.zeros(5, 7).to_global(line, [hw.broadcast]),
        "b": hw.zeros(6).to_global(line, [hw.split(0)]),
        "sum": hw.zeros(6),
        "plain": hw.zeros(6),
    }
    again = checkpoint.load_into(tmp_path, into)
    assert again["plain"] is into["plain"] and equal(into["plain"], bias) and equal(into["sum"], bias)
    for name, want in (("w", whole), ("twice", whole), ("b", bias)):
        assert equal(into[name].full(), want), name
    with pytest.raises(ValueError, match=r"'b' has shape \[5\], in .* \[6\]"):
        checkpoint.load_into(tmp_path, {"b": hw.zeros(5)})
    with pytest.raises(ValueError, match="has no 'other'"):
        checkpoint.load_into(tmp_path, {"other": hw.zeros(5)})
