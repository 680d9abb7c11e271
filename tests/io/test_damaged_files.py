"""Malformed safetensors files: a clear error each, and never a crash for any bytes."""

import io
import json
import random
import struct

import numpy as np
import pytest

import headwater as hw
from headwater.serialization import FormatError


def file_of(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


FOUR = b"\0" * 8
CASES = {
    "empty": (b"", "0 bytes"),
    "short": (b"\1\0", "2 bytes"),
    "length beyond the file": (file_of({}, length=10**6), "claims 1000000 bytes"),
    "absurd length": (file_of({}, length=2**64 - 1), "claims 18446744073709551615"),
    "no JSON": (file_of(b"hello"), "not JSON"),
    "no UTF-8": (file_of(b"{\xff}"), "not JSON"),
    "deep JSON": (file_of(b"[" * 100000), "not JSON"),
    "a list": (file_of([]), "list, not an object"),
    "an entry that is a number": (file_of({"a": 3}, FOUR), "'a' must have"),
    "no offsets": (file_of({"a": {"dtype": "F32", "shape": [2]}}, FOUR), "'a' must have"),
    "unknown dtype": (file_of({"a": entry("F4")}, FOUR), "dtype 'F4'; known are BOOL"),
    "dtype of another type": (file_of({"a": entry(["F32"])}, FOUR), "dtype"),
    "negative size": (file_of({"a": entry(shape=(-2,))}, FOUR), "no list of sizes"),
    "fractional size": (file_of({"a": entry(shape=(2.0,))}, FOUR), "no list of sizes"),
    "true as a size": (file_of({"a": entry(shape=(True, 2))}, FOUR), "no list of sizes"),
    "huge sizes": (file_of({"a": entry(shape=(2**40, 2**40))}, FOUR), "needs"),
    "sizes that overflow": (file_of({"a": entry(shape=(2**61, 8))}, FOUR), "needs"),
    "many axes": (file_of({"a": entry(shape=(1,) * 100)}, FOUR), "no list of sizes"),
    "offsets backwards": (file_of({"a": entry(offsets=(8, 0))}, FOUR), "lies at 8..0"),
    "offsets beyond": (file_of({"a": entry(offsets=(0, 80))}, FOUR), "there are 8 bytes"),
    "three offsets": (file_of({"a": entry(offsets=(0, 4, 8))}, FOUR), "not two positions"),
    "wrong size": (file_of({"a": entry(shape=(3,))}, FOUR), "needs 12 bytes, but has 8"),
    "overlap": (file_of({"a": entry(), "b": entry()}, FOUR), "begins at 0, the tensor before it ends at 8"),
    "hole": (file_of({"a": entry(offsets=(8, 16))}, FOUR * 2), "begins at 8"),
    "trailing bytes": (file_of({"a": entry()}, FOUR + b"x"), "there are 9 bytes"),
    "name twice": (file_of(b'{"a":1,"a":2}'), "'a' appears twice"),
    "metadata of numbers": (file_of({"__metadata__": {"a": 1}}), "object of strings"),
    "metadata list": (file_of({"__metadata__": []}), "object of strings"),
    "structure no JSON": (file_of({"__metadata__": {"headwater": "{"}}), "structure in the metadata is damaged"),
    "structure of a missing tensor": (file_of({"__metadata__": {"headwater": '{"tensor":"x"}'}}), "does not have"),
    "structure of the future": (file_of({"__metadata__": {"headwater": '{"module":1}'}}), "newer version"),
    "structure empty": (file_of({"__metadata__": {"headwater": "{}"}}), "damaged"),
    "structure dunder": (file_of({"__metadata__": {"headwater": '{"_class__":1}'}}), "newer"),
}


@pytest.mark.parametrize("name", CASES)
def test_errors_say_what_is_wrong(tmp_path, name):
    data, words = CASES[name]
    path = tmp_path / "bad.safetensors"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=words) as caught:
        hw.load(path)
    assert str(caught.value).startswith(str(path))


def test_an_unaligned_header_is_read(tmp_path):
    (tmp_path / "a").write_bytes(file_of(json.dumps({"a": entry()}).encode() + b" " * 3, np.float32([1, 2]).tobytes()))
    assert hw.load(tmp_path / "a")["a"].tolist() == [1.0, 2.0]


def mutated(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        how = rng.randrange(4)
        at = rng.randrange(len(data)) if data else 0
        if how == 0 and data:
            data[at] = rng.randrange(256)
        elif how == 1 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 2:
            del data[at : at + rng.choice([1, 4, 100])]
        else:
            data[at:at] = rng.choice([b"0", b"9", b"-", b"[", b'"', b"\0" * 8, bytes([rng.randrange(256)])])
    return bytes(data)


def test_no_bytes_crash_the_reader(tmp_path):
    path = tmp_path / "a"
    hw.save({"w": hw.ones(2, 3), "n": [1, {"k": hw.zeros(2, dtype=hw.int64)}], "s": "text"}, path)
    good = path.read_bytes()
    rng = random.Random(0)
    loaded = failed = 0
    for _ in range(3000):
        try:
            hw.load(io.BytesIO(mutated(good, rng)))
            loaded += 1
        except FormatError:
            failed += 1
    assert failed > 1000
    assert loaded > 100  # most changes of values are no damage
