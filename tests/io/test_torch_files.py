"""Checkpoints of torch, read without its unpickler: values, sharing, refusals, damage."""

import collections
import io
import os
import pickle
import random
import zipfile

import pytest
import torch

import headwater as hw
from headwater.serialization import FormatError

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128",
]  # fmt: skip


@pytest.fixture(params=["zip", "legacy"])
def save(request, tmp_path):
    def write(obj, name="a.pt"):
        torch.save(obj, tmp_path / name, _use_new_zipfile_serialization=request.param == "zip")
        return tmp_path / name

    return write


def test_every_dtype(save):
    tensors = {d: torch.arange(6).reshape(2, 3).to(getattr(torch, d)) for d in DTYPES}
    loaded = hw.load(save(tensors))
    for name, t in tensors.items():
        assert str(loaded[name].dtype).split(".")[1] == name
        assert loaded[name].tolist() == t.tolist()


def test_layouts(save):
    x = torch.arange(24.0).reshape(4, 6)
    obj = {"t": x.t(), "s": x[1:, ::2], "scalar": torch.tensor(3), "empty": torch.ones(0, 3), "e": x[:1].expand(3, 6)}
    loaded = hw.load_torch(save(obj))
    for name, t in obj.items():
        assert tuple(loaded[name].shape) == tuple(t.shape)
        assert loaded[name].tolist() == t.tolist()


def test_tied_weights_stay_tied(save):
    w = torch.ones(3)
    loaded = hw.load(save({"a": w, "b": w, "c": w[1:]}))
    loaded["a"].add_(1)
    assert loaded["b"].tolist() == [2.0] * 3
    assert loaded["c"].tolist() == [2.0] * 2


def test_a_whole_checkpoint(save):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    checkpoint = {
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "name": "x", "size": torch.Size([1, 2]),
        "parameter": torch.nn.Parameter(torch.ones(2)), "device": torch.device("cpu"), "dtype": torch.float16,
        "extra": [None, True, 1.5, (1, 2), {1, 2}, 1 + 2j, collections.Counter("aab"), 2**70],
    }  # fmt: skip
    loaded = hw.load(save(checkpoint))
    assert type(loaded["model"]) is collections.OrderedDict
    for name, t in model.state_dict().items():
        assert loaded["model"][name].tolist() == t.tolist()
    assert loaded["optimizer"]["param_groups"] == optimizer.state_dict()["param_groups"]
    assert loaded["optimizer"]["state"][0]["exp_avg"].tolist() == optimizer.state_dict()["state"][0]["exp_avg"].tolist()
    assert loaded["parameter"].requires_grad
    assert loaded["size"] == (1, 2)
    assert loaded["dtype"] == hw.float16
    assert loaded["extra"] == checkpoint["extra"]
    other = hw.optim.Adam([hw.ones(tuple(p.shape)).requires_grad_() for p in model.parameters()])
    other.load_state_dict(loaded["optimizer"])
    assert other.state[other.param_groups[0]["params"][0]]["step"] == 1


class Evil:
    def __reduce__(self):
        return os.mkdir, ("/tmp/headwater-evil",)


class Plain:
    pass


@pytest.mark.parametrize("obj", [Evil(), Plain(), print, collections.defaultdict(int)], ids=lambda o: type(o).__name__)
def test_code_is_refused(save, obj):
    with pytest.raises(FormatError, match="which is neither a tensor nor a plain container"):
        hw.load(save({"a": torch.ones(1), "evil": obj}))
    assert not os.path.exists("/tmp/headwater-evil")


def test_a_plain_pickle_is_no_checkpoint(tmp_path):
    (tmp_path / "a.pt").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(FormatError):
        hw.load(tmp_path / "a.pt")
    with pytest.raises(FormatError, match="no checkpoint"):
        hw.load_torch(tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "b.pt", "w") as archive:
        archive.writestr("x", "y")
    with pytest.raises(FormatError, match="no data.pkl"):
        hw.load(tmp_path / "b.pt")


def test_zip_tensors_share_the_mapped_file(tmp_path):
    torch.save({"a": torch.zeros(1 << 20)}, tmp_path / "a.pt")
    loaded = hw.load(tmp_path / "a.pt")["a"]
    with open("/proc/self/maps") as maps:
        assert str(tmp_path / "a.pt") in maps.read()
    loaded.add_(1)
    assert hw.load(tmp_path / "a.pt")["a"][3].item() == 0


def test_no_bytes_crash_the_reader(save):
    path = save({"w": torch.ones(2, 3), "n": [1, {"k": torch.zeros(2, dtype=torch.int64)}], "s": "text"})
    good = path.read_bytes()
    rng = random.Random(0)
    failed = 0
    for _ in range(1500):
        data = bytearray(good)
        for _ in range(rng.choice([1, 2, 8])):
            at = rng.randrange(len(data))
            if rng.random() < 0.7:
                data[at] = rng.randrange(256)
            else:
                del data[at : at + rng.choice([1, 4, 100])]
        try:
            hw.load(io.BytesIO(data))
        except FormatError:
            failed += 1
    assert failed > 300
