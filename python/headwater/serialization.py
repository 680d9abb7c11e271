"""hw.save and hw.load: tensors, state dicts and whatever is built of them, as safetensors files; torch's files are read.

Never pickle: a file holds data only. Plain dicts of tensors become plain safetensors files, which other programs read
too. For anything else the metadata entry "headwater" holds the structure as JSON, with tensors by name.
"""

from __future__ import annotations

import base64
import json
import os
from collections import OrderedDict
from typing import Any

import headwater as hw

from . import safetensors_file, torch_file
from .safetensors_file import FormatError

__all__ = ["FormatError", "load", "load_torch", "save"]

STRUCTURE = "headwater"  # the key of the metadata entry


# ---------------------------------------------------------------------- structure to JSON
class _Packer:
    """Takes the tensors out of a structure. A tensor that occurs twice is stored once."""

    def __init__(self) -> None:
        self.tensors: dict[str, Any] = {}
        self.names: dict[tuple[Any, ...], str] = {}
        self.repeated = self.is_global = False

    def pack(self, x: Any, path: str) -> Any:
        """JSON: plain values as they are, the rest as {"kind": ...}."""
        if x is None or type(x) in (bool, int, float, str):
            return x
        if isinstance(x, hw.Tensor):
            return self.tensor(x, path)
        if isinstance(x, dict):
            kind = "ordered" if isinstance(x, OrderedDict) else "dict"
            items = [[self.pack(key, path), self.pack(v, _joined(path, key))] for key, v in x.items()]
            return {kind: items}
        if isinstance(x, (list, tuple)):
            packed = [self.pack(v, _joined(path, i)) for i, v in enumerate(x)]
            return packed if isinstance(x, list) else {"tuple": packed}
        if isinstance(x, (set, frozenset)):
            return {"set": [self.pack(v, path) for v in x]}
        if isinstance(x, complex):
            return {"complex": [x.real, x.imag]}
        if isinstance(x, (bytes, bytearray)):
            return {"bytes": base64.b64encode(x).decode()}
        if isinstance(x, hw.dtype):
            return {"dtype": x.name}
        if hasattr(x, "__array_interface__"):  # NumPy arrays and numbers
            if getattr(x, "shape", None) == () and hasattr(x, "item"):
                return self.pack(x.item(), path)
            return {"array": self.tensor(hw.tensor(x), path)["tensor"]}
        if isinstance(x, (bool, int, float, str)):  # of a subclass, such as an enum or a NumPy number
            return (bool if isinstance(x, bool) else int if isinstance(x, int) else type(x).__mro__[-2])(x)
        advice = "save its state_dict() instead" if hasattr(x, "state_dict") else "leave it out, or store its parts"
        raise TypeError(f"save cannot store {type(x).__name__} at {path or 'the top'}; {advice}")

    def tensor(self, t: Any, path: str) -> dict[str, Any]:
        parts = hw._C.local_parts(t) if t.is_global else [(0, t)]
        place = (parts[0][1].data_ptr() if parts else path, t.dtype.name, tuple(t.shape), tuple(t.stride()), t.is_global)
        name = self.names.get(place) if t.numel() else None
        if name is None:
            name = path or "tensor"
            while name in self.tensors or name == "__metadata__":
                name += "_"
            self.names[place] = name
            self.tensors[name] = t.detach().full()
            self.is_global = self.is_global or t.is_global
        else:
            self.repeated = True
        return {"tensor": name} if t.dtype.name != "complex128" else {"tensor": name, "dtype": "complex128"}


def _joined(path: str, key: Any) -> str:
    return f"{path}.{key}" if path else str(key)


def _is_flat(obj: Any) -> bool:
    return isinstance(obj, dict) and all(
        isinstance(key, str) and isinstance(v, hw.Tensor) and v.dtype.name != "complex128" for key, v in obj.items()
    )


# ---------------------------------------------------------------------- and back
class _Unpacker:
    KINDS = ("tensor", "dict", "ordered", "tuple", "set", "complex", "bytes", "dtype", "array")

    def __init__(self, tensors: dict[str, Any]):
        self.tensors = tensors

    def unpack(self, x: Any) -> Any:
        if x is None or isinstance(x, (bool, int, float, str)):
            return x
        if isinstance(x, list):
            return [self.unpack(v) for v in x]
        kind, value = next(iter(x.items()))
        if kind not in _Unpacker.KINDS:
            raise FormatError(f"the structure has an unknown part {kind!r}; it was written by a newer version")
        return getattr(self, f"_{kind}")(value, x)

    def _tensor(self, name: Any, node: dict[str, Any]) -> Any:
        if not isinstance(name, str) or name not in self.tensors:
            raise FormatError(f"the structure names the tensor {name!r}, which the file does not have")
        if node.get("dtype") == "complex128":
            t = self.tensors[name]
            if t.dtype.name == "float64":
                data = safetensors_file.tensor_bytes(t)
                self.tensors[name] = safetensors_file.tensor_over(data, "complex128", list(t.shape)[:-1])
        return self.tensors[name]

    def _dict(self, items: Any, node: Any) -> dict[Any, Any]:
        return {self.unpack(key): self.unpack(v) for key, v in items}

    def _ordered(self, items: Any, node: Any) -> OrderedDict[Any, Any]:
        return OrderedDict(self._dict(items, node))

    def _tuple(self, items: Any, node: Any) -> tuple[Any, ...]:
        return tuple(map(self.unpack, items))

    def _set(self, items: Any, node: Any) -> set[Any]:
        return set(map(self.unpack, items))

    def _complex(self, parts: Any, node: Any) -> complex:
        return complex(*parts)

    def _bytes(self, text: str, node: Any) -> bytes:
        return base64.b64decode(text, validate=True)

    def _dtype(self, name: str, node: Any) -> Any:
        if not isinstance(getattr(hw, name, None), hw.dtype):
            raise FormatError(f"the structure names the dtype {name!r}")
        return getattr(hw, name)

    def _array(self, name: Any, node: Any) -> Any:
        return self._tensor(name, node).numpy()


# ---------------------------------------------------------------------- the two functions
def save(obj: Any, f: Any) -> None:
    """Writes tensors, numbers, strings, None, dtypes and NumPy arrays, in any nesting of dicts, lists, tuples and sets.

    `f` is a path or a binary file object. A path is written atomically: a crash leaves the old file. Values are stored,
    not history or requires_grad; a tensor that occurs twice is stored once and is one tensor again when loaded.
    Raises TypeError for other objects, naming the place.

    Global tensors are written whole: every process must call save, and the first one writes.

    >>> hw.save({"weight": hw.ones(2), "epoch": 3}, "checkpoint.safetensors")
    >>> hw.load("checkpoint.safetensors")["epoch"]
    3
    """
    packer = _Packer()
    structure = packer.pack(obj, "")
    metadata = {"format": "pt"}  # what readers for torch look for
    if not _is_flat(obj) or packer.repeated or packer.tensors.keys() != obj.keys():
        metadata[STRUCTURE] = json.dumps(structure, separators=(",", ":"))
    if packer.is_global and hw._C.world()[0] != 0:
        return
    safetensors_file.write(f, packer.tensors, metadata)


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, mmap: bool = True
) -> Any:
    """Reads what `save` wrote, any other safetensors file (a dict of tensors), or a checkpoint of torch.

    Files are mapped: tensors share their memory, copy on write, and cost nothing until used. `mmap=False` reads at once.
    Raises FormatError (a ValueError) that says what is wrong with a damaged file. Objects that torch pickles beyond
    tensors and plain containers are refused, as with its weights_only=True; `weights_only=False` does not exist here.
    """
    if pickle_module is not None or weights_only is False:
        raise ValueError("load never runs code from a file: weights_only=False and pickle_module are not supported")
    if map_location is not None and str(map_location) != "cpu":
        raise ValueError(f"map_location must be None or 'cpu', got {map_location!r}")
    return _with_file(f, lambda data: _read(data), mmap)


def load_torch(f: Any, *, mmap: bool = True) -> Any:
    """Reads a .pt or .pth file of torch (zip or legacy format), without torch and without running code from it."""
    return _with_file(f, torch_file.read, mmap)


def _with_file(f: Any, read: Any, use_mmap: bool) -> Any:
    is_open = hasattr(f, "read")
    name = getattr(f, "name", "the file object") if is_open else os.fspath(f)
    try:
        if is_open:
            return read(safetensors_file.contents(f, False))
        with open(f, "rb") as file:
            return read(safetensors_file.contents(file, use_mmap))
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from None


def _read(data: memoryview) -> Any:
    if torch_file.looks_like(data):
        return torch_file.read(data)
    tensors, metadata = safetensors_file.read(data)
    if STRUCTURE not in metadata:
        return tensors
    try:
        return _Unpacker(tensors).unpack(json.loads(metadata[STRUCTURE]))
    except FormatError:
        raise
    except Exception as error:  # a structure that was tampered with
        raise FormatError(f"the structure in the metadata is damaged: {type(error).__name__}: {error}") from None
