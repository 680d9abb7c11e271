"""The safetensors format: an 8-byte length, a JSON header, then the bytes of all tensors without gaps.

Specification: https://huggingface.co/docs/safetensors, "Format". Written atomically; read by mapping the file, so that a
tensor costs nothing until it is touched. Nothing in a file can run code.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import secrets
from collections.abc import Iterable
from typing import Any, BinaryIO

import headwater as hw

MOST_HEADER = 100_000_000  # bytes, as in the reference implementation
NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "float16": "F16",
    "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64",
}  # fmt: skip
DTYPES = {short: name for name, short in NAMES.items()}


class FormatError(ValueError):
    """A file that is not what it claims to be: which file, where, and what is wrong."""


def tensor_bytes(t: Any) -> Any:
    """The bytes of a tensor in row-major order, without a copy where it is contiguous."""
    if t.numel() == 0:
        return b""
    return memoryview(hw._C.to_numpy(hw._C.bytes_of(t.detach().contiguous())))


# ---------------------------------------------------------------------- writing
def _parts(tensors: dict[str, Any], metadata: dict[str, str]) -> Iterable[Any]:
    """The file, piece by piece. The widest elements come first, so that every tensor is aligned to its own size."""
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    at = 0
    for name in order:
        t = tensors[name]
        dtype, shape = t.dtype.name, list(t.shape)
        if dtype == "complex128":  # not in the format: pairs of float64
            dtype, shape = "float64", [*shape, 2]
        size = t.numel() * t.dtype.itemsize
        header[name] = {"dtype": NAMES[dtype], "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER:
        raise ValueError(f"the header would have {len(text)} bytes; the format allows {MOST_HEADER}")
    yield len(text).to_bytes(8, "little")
    yield text
    for name in order:
        yield tensor_bytes(tensors[name])


def write(target: Any, tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    """Writes to a path (atomically) or to a binary file object."""
    if hasattr(target, "write"):
        for part in _parts(tensors, metadata):
            target.write(part)
        return
    write_atomically(os.fspath(target), _parts(tensors, metadata))


def write_atomically(path: str | bytes, parts: Iterable[Any]) -> None:
    """The file appears under its name only when it is complete and on the disk; until then the old one stays."""
    path = os.path.realpath(os.fsdecode(path))
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:200]}.{secrets.token_hex(4)}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        with os.fdopen(fd, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder
        folder_fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(folder_fd)
        finally:
            os.close(folder_fd)


# ---------------------------------------------------------------------- reading
def contents(file: BinaryIO, use_mmap: bool) -> Any:
    """All bytes of a file, writable: mapped copy-on-write where that is possible, else read."""
    if use_mmap:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            if file.tell() == 0:
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    return memoryview(bytearray(file.read()))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise FormatError(f"the name {twice!r} appears twice")
    return entries


def _header(data: memoryview) -> tuple[dict[str, Any], int]:
    """The parsed header, and where the data begins."""
    if len(data) < 8:
        raise FormatError(f"the file has {len(data)} bytes, a header needs at least 8")
    size = int.from_bytes(data[:8], "little")
    if size > MOST_HEADER or size > len(data) - 8:
        raise FormatError(f"the header claims {size} bytes, but the file has {len(data) - 8} after the length")
    try:
        header = json.loads(bytes(data[8 : 8 + size]).decode("utf-8", "surrogatepass"), object_pairs_hook=_unique)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise FormatError(f"the header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise FormatError(f"the header is a {type(header).__name__}, not an object")
    return header, 8 + size


def _is_size(n: Any) -> bool:
    return isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 1 << 62


def _entry(name: str, entry: Any, length: int) -> tuple[str, list[int], int, int]:
    """The dtype name, shape, begin and end of one tensor, all checked."""
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise FormatError(f"{name!r} must have dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise FormatError(f"{name!r} has dtype {dtype!r}; known are {', '.join(DTYPES)}")
    if not isinstance(shape, list) or len(shape) > 32 or not all(map(_is_size, shape)):
        raise FormatError(f"{name!r} has shape {shape!r}, which is no list of sizes")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
        raise FormatError(f"{name!r} has data_offsets {offsets!r}, which are not two positions")
    begin, end = offsets
    if not begin <= end <= length:
        raise FormatError(f"{name!r} lies at {begin}..{end}, but there are {length} bytes of data")
    want = math.prod(shape) * getattr(hw, DTYPES[dtype]).itemsize
    if end - begin != want:
        raise FormatError(f"{name!r} of dtype {dtype} and shape {shape} needs {want} bytes, but has {end - begin}")
    return DTYPES[dtype], shape, begin, end


def read(data: memoryview) -> tuple[dict[str, Any], dict[str, str]]:
    """The tensors, which share `data`, and the metadata."""
    header, start = _header(data)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise FormatError("__metadata__ must be an object of strings")
    length = len(data) - start
    entries = {name: _entry(name, entry, length) for name, entry in header.items()}
    at = 0
    for name in sorted(entries, key=lambda name: entries[name][2:]):
        if entries[name][2] != at:
            raise FormatError(f"{name!r} begins at {entries[name][2]}, the tensor before it ends at {at}")
        at = entries[name][3]
    if at != length:
        raise FormatError(f"the tensors end at {at}, but there are {length} bytes of data")
    tensors = {}
    for name, (dtype, shape, begin, end) in entries.items():
        part = data[start + begin : start + end]
        if (start + begin) % getattr(hw, dtype).itemsize:  # a writer that did not align its header
            part = memoryview(bytearray(part))
        tensors[name] = tensor_over(part, dtype, shape)
    return tensors, metadata


def tensor_over(data: Any, dtype: str, shape: list[int]) -> Any:
    """A tensor that shares the bytes."""
    kind = getattr(hw, dtype)
    if len(data) == 0:
        return hw.empty(shape, dtype=kind)
    return hw.frombuffer(data, dtype=kind).reshape(shape)
