"""Encrypted frozen models: the right key loads them, nothing else does, and the key is written nowhere."""

import os
import subprocess
import sys

import pytest

import headwater as hw
from headwater import nn
from headwater.cli import main
from headwater.infer.prune import prune

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))


@pytest.fixture
def model():
    hw.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval(), hw.rand(2, 4)


def test_file_and_bytes_come_back(model, tmp_path):
    net, x = model
    path = tmp_path / "m.hwm"
    assert hw.freeze(net, x, path, key=KEY, notes={"who": "somebody"}) is None
    assert [p.name for p in tmp_path.iterdir()] == ["m.hwm"]
    data = hw.freeze(net, x, key=KEY)
    plain = hw.freeze(net, x)
    for source in (path, data):
        loaded = hw.infer.load(source, key=KEY)
        assert loaded(x).equal(hw.infer.load(plain)(x)) and loaded.check() == 0
    content = path.read_bytes()
    assert KEY not in content and b"somebody" not in content and b"Sequential" not in content
    assert hw.infer.load(path, key=KEY).notes["who"] == "somebody"


def test_everything_else_is_an_error(model, tmp_path):
    net, x = model
    data, plain = hw.freeze(net, x, key=KEY), hw.freeze(net, x)
    changed = bytearray(data)
    changed[len(data) // 2] ^= 4
    for source, key, words in [
        (data, OTHER, "cannot be decrypted: the key is another one, or the file was changed"),
        (bytes(changed), KEY, "or the file was changed"),
        (data[:-1], KEY, "is cut off"),
        (data[:70], KEY, "is cut off"),
        (data, None, "is encrypted: load it with its key"),
        (plain, KEY, "is not encrypted: load it without a key"),
        (data, KEY[:16], "has 32 bytes, got 16"),
    ]:
        with pytest.raises(ValueError, match=words):
            hw.infer.load(source, key=key)
    with pytest.raises(ValueError, match="has 32 bytes, got 5"):
        hw.freeze(net, x, tmp_path / "m.hwm", key=b"short")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RuntimeError, match="cannot read the model"):
        hw.infer.load(tmp_path / "none.hwm", key=KEY)


def test_the_format_is_what_the_page_says(model):
    aes = pytest.importorskip("cryptography.hazmat.primitives.ciphers.aead").AESGCM(KEY)
    net, x = model
    data = hw.freeze(net, x, key=KEY)
    plain = aes.decrypt(data[24:36], data[64:], data[:64])
    assert data[:8] == b"HWMCRYPT" and len(plain) == int.from_bytes(data[16:24], "little")
    assert hw.infer.load(plain)(x).equal(hw.infer.load(data, key=KEY)(x))


def test_command_line_takes_a_key_file(model, tmp_path, capsys):
    net, x = model
    hw.freeze(net, x, tmp_path / "m.hwm", key=KEY)
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "other").write_bytes(OTHER)
    path = str(tmp_path / "m.hwm")
    for command in ("check", "run"):
        assert main([command, path, "--key-file", str(tmp_path / "key")]) == 0
        assert main([command, path, "--key-file", str(tmp_path / "other")]) == 1
        assert "the key is another one" in capsys.readouterr().err
        assert main([command, path]) == 1
        assert "load it with its key" in capsys.readouterr().err
        assert main([command, path, "--key-file", str(tmp_path / "none")]) == 1


def test_pruned_runtimes_decrypt_only_where_models_are_encrypted(model, tmp_path):
    net, x = model
    hw.freeze(net, x, tmp_path / "m.hwm", key=KEY)
    hw.freeze(net, x, tmp_path / "plain.hwm")
    prune([tmp_path / "m.hwm"], tmp_path / "with", key=KEY)
    prune([tmp_path / "plain.hwm"], tmp_path / "without")
    assert (tmp_path / "with/src/infer/encrypted.cpp").exists()
    assert not (tmp_path / "with/src/infer/pruned/unencrypted.cpp").exists()
    assert (tmp_path / "without/src/infer/pruned/unencrypted.cpp").exists()
    assert not (tmp_path / "without/src/infer/encrypted.cpp").exists()
    for file in (tmp_path / "with").rglob("*.*"):
        assert KEY not in file.read_bytes()


def test_without_libcrypto_it_is_said_in_words(model, tmp_path):
    """A library of that name without its functions, where the loader looks first, in another process."""
    net, x = model
    hw.freeze(net, x, tmp_path / "m.hwm", key=KEY)
    (tmp_path / "empty.c").write_text("int nothing;\n")
    built = subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "libcrypto.so.3", tmp_path / "empty.c"], capture_output=True)
    if built.returncode:
        pytest.skip("needs gcc")
    code = f"import headwater as hw\nhw.infer.load({str(tmp_path / 'm.hwm')!r}, key=bytes(range(32)))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    )
    assert result.returncode == 1
    assert "encrypted models need OpenSSL 1.1 or 3" in result.stderr
