"""hw.save and hw.load: round trips, interchange with the safetensors package, atomic writes, memory mapping."""

import io
import json
import math
import os
import signal
import subprocess
import sys
from collections import OrderedDict

import numpy as np
import pytest
import safetensors
import safetensors.torch
import torch

import headwater as hw

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128",
]  # fmt: skip


def sample(dtype, shape=(3, 4)):
    values = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 100, shape)
    return hw.from_numpy(np.asarray(values, dtype=np.int64)).to(getattr(hw, dtype))


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, hw.Tensor):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tolist() == b.tolist()
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b or (a != a and b != b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 4), (), (0, 2), (1,)], ids=str)
def test_every_dtype_and_shape(tmp_path, dtype, shape):
    x = sample(dtype, shape)
    hw.save({"x": x}, tmp_path / "x.safetensors")
    same(hw.load(tmp_path / "x.safetensors"), {"x": x})
    hw.save(x, tmp_path / "x.safetensors")
    same(hw.load(tmp_path / "x.safetensors"), x)


NESTED = {
    "model": OrderedDict([("weight", [1.0, 2.0]), ("bias", None)]),
    "optimizer": {"state": {0: {"step": 3, "beta": (0.9, 0.999)}, 1: {}}, "param_groups": [{"lr": 0.1, "params": [0, 1]}]},
    "epoch": 2**70, "name": "源流 \"quoted\" \n", "flags": (True, False, None), "nothing": {}, "empty": [], "e": (),
    3.5: 1e-300, None: "none", (1, "a"): b"\x00\xff", "c": 1 + 2j, "set": {1, 2}, "inf": [math.inf, -math.inf, math.nan],
    "dtype": hw.bfloat16, True: False,
}  # fmt: skip


def test_structures(tmp_path):
    obj = {**NESTED, "t": sample("float32"), "deep": [{"x": (sample("int8"), [sample("bool")])}]}
    hw.save(obj, tmp_path / "a")
    same(hw.load(tmp_path / "a"), obj)
    for value in (None, 3, "text", [], {"a": 1}, [hw.ones(2)]):
        hw.save(value, tmp_path / "a")
        same(hw.load(tmp_path / "a"), value)


def test_numpy_values(tmp_path):
    obj = {"a": np.arange(6, dtype=np.int16).reshape(2, 3), "n": np.float64(1.5), "i": np.int64(3)}
    hw.save(obj, tmp_path / "a")
    same(hw.load(tmp_path / "a"), {"a": obj["a"], "n": 1.5, "i": 3})


def test_names_that_clash(tmp_path):
    obj = {"a.b": hw.ones(1), "a": {"b": hw.zeros(1)}, "__metadata__": hw.ones(2), "": hw.zeros(3)}
    hw.save(obj, tmp_path / "a")
    same(hw.load(tmp_path / "a"), obj)


def test_a_tensor_that_occurs_twice_is_stored_once_and_stays_one(tmp_path):
    w = hw.ones(1000)
    hw.save({"encoder": w, "decoder": w, "part": w[:500]}, tmp_path / "a")
    assert os.path.getsize(tmp_path / "a") < 4000 + 2000 + 1000
    loaded = hw.load(tmp_path / "a")
    assert loaded["encoder"] is loaded["decoder"]
    assert loaded["part"].data_ptr() != loaded["encoder"].data_ptr()


def test_strided_tensors_and_parameters(tmp_path):
    x = sample("float32", (4, 6))
    hw.save({"t": x.t(), "s": x[:, ::2], "e": x[:1].expand(3, 6), "p": x.detach().requires_grad_()}, tmp_path / "a")
    loaded = hw.load(tmp_path / "a")
    assert loaded["t"].tolist() == x.t().tolist()
    assert loaded["s"].tolist() == x[:, ::2].tolist()
    assert loaded["e"].tolist() == [x[0].tolist()] * 3
    assert not loaded["p"].requires_grad


def test_an_optimizer(tmp_path):
    p = hw.ones(3).requires_grad_()
    optimizer = hw.optim.Adam([p], lr=0.1)
    p.grad = hw.ones(3)
    optimizer.step()
    hw.save({"optimizer": optimizer.state_dict()}, tmp_path / "a")
    other = hw.optim.Adam([p.detach().clone().requires_grad_()])
    other.load_state_dict(hw.load(tmp_path / "a")["optimizer"])
    same(other.state_dict(), optimizer.state_dict())


def test_what_cannot_be_stored_is_named(tmp_path):
    class Model:
        def state_dict(self):
            return {}

    with pytest.raises(TypeError, match=r"cannot store object at a\.1"):
        hw.save({"a": [1, object()]}, tmp_path / "a")
    with pytest.raises(TypeError, match=r"cannot store Model at the top; save its state_dict\(\)"):
        hw.save(Model(), tmp_path / "a")
    assert os.listdir(tmp_path) == []


# ---------------------------------------------------------------- interchange
def test_files_of_the_safetensors_package(tmp_path):
    tensors = {d: torch.arange(6).reshape(2, 3).to(getattr(torch, d)) for d in DTYPES if not d.startswith("complex")}
    safetensors.torch.save_file(tensors, tmp_path / "a", metadata={"note": "x"})
    loaded = hw.load(tmp_path / "a")
    assert set(loaded) == set(tensors)
    for name, t in tensors.items():
        assert str(loaded[name].dtype).split(".")[1] == str(t.dtype).split(".")[1]
        assert loaded[name].tolist() == t.tolist()


def test_the_safetensors_package_reads_ours(tmp_path):
    tensors = {d: sample(d) for d in DTYPES if not d.startswith("complex")}
    hw.save(tensors, tmp_path / "a")
    loaded = safetensors.torch.load_file(tmp_path / "a")
    for name, t in tensors.items():
        assert loaded[name].tolist() == t.tolist()
    hw.save({**NESTED, "t": sample("float32")}, tmp_path / "b")
    with safetensors.safe_open(tmp_path / "b", "pt") as file:
        assert file.get_tensor("t").tolist() == sample("float32").tolist()
        assert json.loads(file.metadata()["headwater"])


def test_file_objects():
    file = io.BytesIO()
    hw.save({"x": hw.ones(3)}, file)
    file.seek(0)
    assert hw.load(file)["x"].tolist() == [1.0] * 3


# ---------------------------------------------------------------- files
def test_loading_is_mapped_and_writing_stays_private(tmp_path):
    hw.save({"x": hw.zeros(1 << 20)}, tmp_path / "a")
    a, b = hw.load(tmp_path / "a")["x"], hw.load(tmp_path / "a", mmap=False)["x"]
    with open("/proc/self/maps") as maps:
        assert str(tmp_path / "a") in maps.read()
    a.add_(1)
    b.add_(1)
    assert a[5].item() == b[5].item() == 1
    assert hw.load(tmp_path / "a")["x"][5].item() == 0
    hw.save({"x": a}, tmp_path / "a")  # over the file that is mapped
    assert hw.load(tmp_path / "a")["x"][5].item() == 1
    assert a[7].item() == 1


def test_a_failed_save_leaves_the_old_file(tmp_path):
    hw.save({"x": hw.ones(3)}, tmp_path / "a")
    with pytest.raises(TypeError):
        hw.save({"x": object()}, tmp_path / "a")
    assert hw.load(tmp_path / "a")["x"].tolist() == [1.0] * 3
    assert os.listdir(tmp_path) == ["a"]
    with pytest.raises(FileNotFoundError):
        hw.save({"x": hw.ones(3)}, tmp_path / "no" / "a")


def test_a_save_that_is_killed_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    hw.save({"x": hw.zeros(4)}, path)
    script = (
        "import headwater as hw, sys\n"
        "x = {'x': hw.ones(1 << 22)}\n"
        "print('go', flush=True)\n"
        "while True: hw.save(x, sys.argv[1])\n"
    )
    environment = {**os.environ, "PYTHONPATH": "python" + os.pathsep + os.environ.get("PYTHONPATH", "")}
    for delay in range(4):
        process = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE, env=environment)
        process.stdout.readline()
        try:
            process.wait(0.05 + 0.013 * delay)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert hw.load(path)["x"].numel() in (4, 1 << 22)


def test_permissions_and_links(tmp_path):
    hw.save({"x": hw.ones(3)}, tmp_path / "a")
    umask = os.umask(0)
    os.umask(umask)
    assert os.stat(tmp_path / "a").st_mode & 0o777 == 0o666 & ~umask
    os.chmod(tmp_path / "a", 0o600)
    os.symlink(tmp_path / "a", tmp_path / "link")
    hw.save({"x": hw.zeros(3)}, tmp_path / "link")
    assert os.path.islink(tmp_path / "link")
    assert os.stat(tmp_path / "a").st_mode & 0o777 == 0o600
    assert hw.load(tmp_path / "a")["x"].tolist() == [0.0] * 3


def test_arguments(tmp_path):
    hw.save({"x": hw.ones(3)}, tmp_path / "a")
    assert hw.load(tmp_path / "a", "cpu", weights_only=True)["x"].numel() == 3
    with pytest.raises(ValueError, match="never runs code"):
        hw.load(tmp_path / "a", weights_only=False)
    with pytest.raises(ValueError, match="map_location"):
        hw.load(tmp_path / "a", "cuda")
    with pytest.raises(FileNotFoundError):
        hw.load(tmp_path / "none")
