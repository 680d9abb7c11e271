"""Checkpoints of torch (.pt, .pth), in its zip format and the one before it, read without torch.

Their pickles are read by an unpickler that knows containers, tensors, parameters, sizes, dtypes and devices, and calls
nothing else: no code in a file is ever run.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import headwater as hw

from .safetensors_file import FormatError

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C  # the first pickle of the older format
LEGACY_START = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
MOST_PICKLE = 1 << 30
STORAGES = {
    "BoolStorage": "bool", "ByteStorage": "uint8", "CharStorage": "int8", "ShortStorage": "int16",
    "IntStorage": "int32", "LongStorage": "int64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "FloatStorage": "float32", "DoubleStorage": "float64", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128", "UntypedStorage": "uint8",
}  # fmt: skip


def looks_like(data: memoryview) -> bool:
    return bytes(data[:4]) == b"PK\x03\x04" or bytes(data[: len(LEGACY_START)]) == LEGACY_START


class _Storage:
    """Bytes that tensors are views of."""

    def __init__(self, dtype: str, data: Any):
        self.dtype, self.data = dtype, data


class _StorageType:
    def __init__(self, dtype: str):
        self.dtype = dtype


# ---------------------------------------------------------------------- what a pickle may call
def _tensor(storage: Any, offset: Any, size: Any, stride: Any, dtype: str | None = None) -> Any:
    if not isinstance(storage, _Storage):
        raise FormatError("a tensor without a storage")
    kind = getattr(hw, dtype or storage.dtype)
    size, stride = tuple(size), tuple(stride)
    numbers = (offset, *size, *stride)
    if len(size) != len(stride) or len(size) > 32 or not all(type(n) is int and 0 <= n < 1 << 62 for n in numbers):
        raise FormatError(f"a tensor with size {size}, stride {stride} and offset {offset}")
    if 0 in size:
        return hw.empty(size, dtype=kind)
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    count = len(storage.data) // kind.itemsize
    if last >= count:
        raise FormatError(f"a tensor of size {size} and stride {stride} ends beyond its storage of {count} elements")
    return hw.frombuffer(storage.data, dtype=kind, count=count).as_strided(size, stride, offset)


def _rebuild_tensor(storage: Any, offset: Any, size: Any, stride: Any) -> Any:
    return _tensor(storage, offset, size, stride)


def _rebuild_tensor_v2(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, metadata: Any = None
) -> Any:
    t = _tensor(storage, offset, size, stride)
    return t.requires_grad_() if requires_grad is True else t


def _rebuild_tensor_v3(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, dtype: Any, metadata: Any = None
) -> Any:
    if not isinstance(dtype, hw.dtype):
        raise FormatError(f"a tensor of dtype {dtype!r}")
    t = _tensor(storage, offset, size, stride, dtype.name)
    return t.requires_grad_() if requires_grad is True else t


def _rebuild_parameter(data: Any, requires_grad: Any, hooks: Any, state: Any = None) -> Any:
    if not isinstance(data, hw.Tensor):
        raise FormatError("a parameter without a tensor")
    data = data.detach()
    return data.requires_grad_() if requires_grad is True else data


def _encode(text: Any, encoding: Any) -> bytes:
    """bytes, as Python 2 protocols write them: codecs.encode(text, "latin1")."""
    if not isinstance(text, str) or encoding != "latin1":
        raise FormatError("bytes in an unknown encoding")
    return text.encode("latin1")


def _device(*arguments: Any) -> str:
    return ":".join(map(str, arguments))


def _bytearray(data: Any = b"", encoding: Any = None) -> bytearray:
    if isinstance(data, str) and encoding == "latin-1":
        return bytearray(data, "latin-1")
    if not isinstance(data, bytes):
        raise FormatError("a bytearray of something else than bytes")
    return bytearray(data)


def _allowed() -> dict[tuple[str, str], Any]:
    found: dict[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): OrderedDict,
        ("collections", "Counter"): Counter,
        ("torch", "Size"): tuple,
        ("torch", "device"): _device,
        ("_codecs", "encode"): _encode,
        ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
        ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor_v2,
        ("torch._utils", "_rebuild_tensor_v3"): _rebuild_tensor_v3,
        ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
        ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter,
    }
    for module in ("builtins", "__builtin__"):
        found |= {(module, "set"): set, (module, "complex"): complex, (module, "bytearray"): _bytearray}
    for name, dtype in STORAGES.items():
        found["torch", name] = _StorageType(dtype)
    found["torch.storage", "UntypedStorage"] = _StorageType("uint8")
    for dtype in STORAGES.values():
        found["torch", dtype] = getattr(hw, dtype)
    return found


class _Unpickler(pickle._Unpickler):  # in Python: trusts no size in a file
    def __init__(self, file: Any, storage: Callable[[Any], _Storage]):
        super().__init__(file, encoding="utf-8")
        self.allowed = _allowed()
        self.storage = storage

    def find_class(self, module: str, name: str) -> Any:
        found = self.allowed.get((module, name))
        if found is None:
            raise FormatError(f"the file wants {module}.{name}, which is neither a tensor nor a plain container")
        return found

    def persistent_load(self, pid: Any) -> _Storage:
        if not isinstance(pid, tuple) or not pid or pid[0] not in ("storage", b"storage"):
            raise FormatError(f"an unknown reference {pid!r}")
        if len(pid) < 5 or not isinstance(pid[1], _StorageType) or type(pid[4]) is not int or pid[4] < 0:
            raise FormatError("a damaged storage")
        return self.storage(pid)


def _unpickle(file: Any, storage: Callable[[Any], _Storage]) -> Any:
    try:
        return _Unpickler(file, storage).load()
    except FormatError:
        raise
    except Exception as error:
        raise FormatError(f"the pickle is damaged: {type(error).__name__}: {error}") from None


def read(data: memoryview) -> Any:
    """The object in a checkpoint; tensors share `data` where the format allows it."""
    if bytes(data[:4]) == b"PK\x03\x04":
        return _read_zip(data)
    if bytes(data[: len(LEGACY_START)]) == LEGACY_START:
        return _read_legacy(data)
    raise FormatError("this is no checkpoint of torch")


# ---------------------------------------------------------------------- the zip format
class _View(io.RawIOBase):
    """A file over a memoryview, without a copy of it."""

    def __init__(self, data: memoryview):
        self.data, self.at = data, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = 0) -> int:
        at = (0, self.at, len(self.data))[whence] + offset
        if at < 0:
            raise ValueError("a position before the start")
        self.at = at
        return self.at

    def readinto(self, buffer: Any) -> int:
        part = self.data[self.at : self.at + len(buffer)]
        buffer[: len(part)] = part
        self.at += len(part)
        return len(part)


def _record(data: memoryview, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    """The bytes of a member: a part of `data` where they are stored as they are."""
    if info.compress_type != zipfile.ZIP_STORED:
        try:
            return bytearray(archive.read(info))
        except Exception as error:
            raise FormatError(f"the member {info.filename!r} is damaged: {error}") from None
    at = info.header_offset
    local = data[at : at + 30]
    if len(local) < 30 or bytes(local[:4]) != b"PK\x03\x04":
        raise FormatError(f"the member {info.filename!r} is damaged")
    begin = at + 30 + int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    part = data[begin : begin + info.file_size]
    if len(part) != info.file_size:
        raise FormatError(f"the member {info.filename!r} ends beyond the file")
    return bytearray(part) if begin % 16 else part  # elements must lie at multiples of their size


def _read_zip(data: memoryview) -> Any:
    try:
        archive = zipfile.ZipFile(_View(data))
        members = {info.filename: info for info in archive.infolist()}
    except Exception as error:
        raise FormatError(f"the zip archive is damaged: {error}") from None
    pickles = [name for name in members if name.split("/", 1)[-1] == "data.pkl"]
    if len(pickles) != 1:
        raise FormatError("the zip archive has no data.pkl: it is no checkpoint of torch (a TorchScript archive?)")
    root = pickles[0][: -len("data.pkl")]
    order = members.get(root + "byteorder")
    if order is not None and bytes(_record(data, archive, order)) != b"little":
        raise FormatError("it was written on a big-endian machine")
    storages: dict[str, _Storage] = {}

    def storage(pid: Any) -> _Storage:
        kind, key, count = pid[1].dtype, str(pid[2]), pid[4]
        if key not in storages:
            info = members.get(f"{root}data/{key}")
            size = count * getattr(hw, kind).itemsize
            if info is None or info.file_size != size:
                has = "is missing" if info is None else f"has {info.file_size} bytes"
                raise FormatError(f"storage {key} of {count} {kind} needs {size} bytes, but {has}")
            storages[key] = _Storage(kind, _record(data, archive, info))
        return storages[key]

    info = members[pickles[0]]
    if info.file_size > MOST_PICKLE:
        raise FormatError(f"its pickle claims {info.file_size} bytes")
    return _unpickle(io.BytesIO(bytes(_record(data, archive, info))), storage)


# ---------------------------------------------------------------------- the older format
def _read_legacy(data: memoryview) -> Any:
    """Pickles of magic number, protocol, system and object; the storages' keys; then size and bytes of each storage."""
    file = _View(data)
    buffered = io.BufferedReader(file)

    def no_storage(pid: Any) -> _Storage:
        raise FormatError("a storage in the header")

    magic, protocol, system = (_unpickle(buffered, no_storage) for _ in range(3))
    if magic != LEGACY_MAGIC or protocol != 1001:
        raise FormatError(f"its protocol is {protocol!r}, known is 1001")
    if isinstance(system, dict) and system.get("little_endian") is False:
        raise FormatError("it was written on a big-endian machine")
    storages: dict[str, _Storage] = {}

    def storage(pid: Any) -> _Storage:
        kind, key, count, view = pid[1].dtype, str(pid[2]), pid[4], pid[5] if len(pid) > 5 else None
        size = count * getattr(hw, kind).itemsize
        if size > len(data):
            raise FormatError(f"storage {key} of {count} {kind} needs {size} bytes, the file has {len(data)}")
        if key not in storages:
            storages[key] = _Storage(kind, bytearray(size))
        if view is None:
            return storages[key]
        _, offset, length = view
        item = getattr(hw, kind).itemsize
        return _Storage(kind, memoryview(storages[key].data)[offset * item : (offset + length) * item])

    result = _unpickle(buffered, storage)
    keys = _unpickle(buffered, no_storage)
    if not isinstance(keys, list):
        raise FormatError("the list of storages is damaged")
    for key in keys:
        _fill(storages.get(str(key)), str(key), buffered)
    return result


def _fill(storage: _Storage | None, key: str, file: Any) -> None:
    head = file.read(8)
    if storage is None or len(head) < 8:
        raise FormatError(f"storage {key} is missing")
    item = getattr(hw, storage.dtype).itemsize
    count = int.from_bytes(head, "little")
    if count * item != len(storage.data):
        raise FormatError(f"storage {key} has {count} elements, {len(storage.data) // item} are used")
    part = file.read(len(storage.data))
    if len(part) != len(storage.data):
        raise FormatError(f"storage {key} ends beyond the file")
    storage.data[:] = part
