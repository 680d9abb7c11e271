"""`hw.infer.load`: a frozen model in Python, on the runtime that C programs use."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import headwater as hw

from .. import _C
from .._C import Tensor
from ..compiler.tree import is_array


class Memory:
    """Working memory that several models share; their runs then take turns."""

    def __init__(self) -> None:
        self._native = _C.FrozenMemory()

    @property
    def bytes(self) -> int:
        return int(self._native.bytes)


@dataclass
class StepTime:
    """A kernel call of a run."""

    op: str
    kernel: str
    origin: str
    nanoseconds: int


class Model:
    """A frozen model. Call it with its inputs in order, or by name; tensors or NumPy arrays."""

    def __init__(self, native: Any, memory: Memory | None = None) -> None:
        self._native = native
        self._session = _C.FrozenSession(native, None if memory is None else memory._native)
        self.name: str = native.name
        self.inputs: list[str] = native.inputs
        self.outputs: list[str] = native.outputs
        self.producer: str = native.producer
        self.notes: dict[str, str] = dict(native.notes)
        self.forms: list[dict[str, Any]] = native.forms

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The output, or a tuple of the outputs."""
        results = self._session.run(self._given(args, kwargs))
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: dict[str, Any]) -> dict[str, Tensor]:
        """Inputs and outputs by name."""
        return dict(zip(self.outputs, self._session.run(self._given((), inputs)), strict=True))

    def session(self, memory: Memory | None = None) -> Model:
        """Another one to run it, for another thread; it shares the weights."""
        return Model(self._native, memory)

    def team(self, threads: int = 0, cores: Sequence[int] = ()) -> None:
        """From now on this model's kernels use `threads` threads (0: as many as `hw.set_num_threads` says), thread i on core
        `cores[i % len(cores)]` if any are given. The calling thread is one of them, and goes where it likes again between calls.

        Raises:
            ValueError: for cores that this process may not use, and more than 1024 threads.
        """
        self._session.set_team(threads, list(cores))

    def step_times(self, *args: Any, **kwargs: Any) -> list[StepTime]:
        """Runs once: what each kernel call took."""
        return [StepTime(*step) for step in self._session.run_timed(self._given(args, kwargs))]

    def test_inputs(self, form: int = 0) -> list[Tensor]:
        """The inputs that the file holds for its tests; empty if it holds none."""
        return list(self._native.test_inputs(form))

    def check(self) -> float:
        """Compares the hash of the weights, runs the tests of the file; the largest deviation, as a part of an output's largest value.

        Raises:
            ValueError: if the file is damaged, or holds no tests.
        """
        self._native.check_data()
        return float(self._native.test_difference())

    @property
    def bytes(self) -> int:
        """Working memory of the last run, without weights."""
        return int(self._session.bytes)

    @property
    def weight_bytes(self) -> int:
        return int(self._native.weight_bytes)

    @property
    def file_bytes(self) -> int:
        return int(self._native.file_bytes)

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
        given = dict(zip(self.inputs, args, strict=False))
        if len(args) > len(self.inputs):
            raise TypeError(f"{self.name} takes {len(self.inputs)} inputs ({', '.join(self.inputs)}), got {len(args)}")
        for name, value in kwargs.items():
            if name not in self.inputs:
                raise TypeError(f"{self.name} has no input '{name}'; it takes {', '.join(self.inputs)}")
            if name in given:
                raise TypeError(f"{self.name} got its input '{name}' twice")
            given[name] = value
        if missing := [name for name in self.inputs if name not in given]:
            raise TypeError(f"{self.name} needs its input '{missing[0]}'")
        return [_tensor(given[name], name) for name in self.inputs]

    def __repr__(self) -> str:
        return f"<frozen {self.name}({', '.join(self.inputs)}) -> {', '.join(self.outputs)}, {len(self.forms)} shapes>"


def _tensor(value: Any, name: str) -> Tensor:
    if is_array(value):
        value = hw.from_numpy(value)
    if not isinstance(value, Tensor):
        raise TypeError(f"input '{name}' must be a tensor or a NumPy array, got {type(value).__name__}")
    return value.detach().contiguous()


def load(source: str | PathLike[str] | bytes, memory: Memory | None = None, key: bytes | None = None) -> Model:
    """Loads a frozen model: of a file, which is mapped, or of its bytes, which are copied.

    Args:
        source: path of a `.hwm` file, or its content.
        memory: working memory to share with other models.
        key: of an encrypted model, its 32 bytes. It is decrypted into memory, the key is not kept.

    Raises:
        ValueError: if it is no frozen model, is damaged or wrong, or of a newer version; if the key is another one, is missing, or is
            given for a model that is not encrypted.
        RuntimeError: if the file cannot be read, or is encrypted and OpenSSL's libcrypto is not installed.
    """
    if key is not None:
        if isinstance(source, (bytes, bytearray)):
            return Model(_C.FrozenModel.from_encrypted(bytes(source), key), memory)
        return Model(_C.FrozenModel.load_encrypted(fspath(source), key), memory)
    if isinstance(source, (bytes, bytearray)):
        return Model(_C.FrozenModel.from_bytes(bytes(source)), memory)
    return Model(_C.FrozenModel.load(fspath(source)), memory)
