"""Small types of the package: sizes and devices."""
from __future__ import annotations

import math

from . import _C


class Size(tuple):
    """The sizes of a tensor's axes; a tuple of ints."""

    __slots__ = ()

    def numel(self) -> int:
        """The product of the sizes."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"headwater.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, key):
        got = tuple.__getitem__(self, key)
        return Size(got) if isinstance(key, slice) else got

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))


class device(str):  # noqa: N801  torch's name
    """A place for tensors: `device("cpu")`. Equal to its name."""

    def __new__(cls, name: str, index: int | None = None) -> device:
        text = str(name) if index is None else f"{name}:{index}"
        kind, _, number = text.partition(":")
        if kind not in ("cpu",) or (number and number != "0"):
            raise RuntimeError(f"device '{text}' is not available: this build has the device 'cpu' only")
        return str.__new__(cls, kind)

    @property
    def type(self) -> str:
        """The kind of device: "cpu"."""
        return str(self)

    @property
    def index(self) -> int | None:  # type: ignore[override]
        """Which device of its kind, or None for the only one."""
        return None

    def __repr__(self) -> str:
        return f"device(type='{str(self)}')"


_C.set_size_type(Size)
_C.set_cpu_device(device("cpu"))
