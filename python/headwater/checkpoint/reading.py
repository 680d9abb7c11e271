"""hw.checkpoint.load: the newest complete checkpoint, by any number of ranks; pieces are put together as they are asked for."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import headwater as hw

from .. import safetensors_file
from ..safetensors_file import FormatError
from ..serialization import _Unpacker

COMPLETE = "checkpoint-"


def sequence_of(folder: Path) -> int:
    return int(folder.name[len(COMPLETE) :])


def checkpoints(root: str | os.PathLike[str]) -> list[Path]:
    """The complete checkpoints in a folder, oldest first."""
    found = [p for p in Path(root).glob(COMPLETE + "*") if p.name[len(COMPLETE) :].isdigit() and (p / "index.json").exists()]
    return sorted(found, key=sequence_of)


def newest(dir: str | os.PathLike[str]) -> Path | None:
    """The newest complete checkpoint in `dir`, or None: the question a script asks when it starts."""
    found = checkpoints(dir)
    return found[-1] if found else None


class Checkpoint:
    """An open checkpoint: reads only what is asked for. `path` is one checkpoint, or a folder of them (the newest is taken)."""

    def __init__(self, path: str | os.PathLike[str]):
        folder = Path(path)
        if not (folder / "index.json").exists():
            found = newest(folder)
            if found is None:
                raise FileNotFoundError(f"there is no complete checkpoint in {folder}")
            folder = found
        self.folder = folder
        try:
            self.index = json.loads((folder / "index.json").read_bytes())
            self.step, self.ranks = self.index["step"], self.index["ranks"]
            self._places: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
            for file, pieces in self.index["files"].items():
                for key, entry in pieces.items():
                    self._places.setdefault(entry["tensor"], []).append((file, key, entry))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"{folder / 'index.json'} is damaged: {type(error).__name__}: {error}") from None
        self._files: dict[str, dict[str, Any]] = {}

    def names(self) -> list[str]:
        return sorted(self._places)

    def tensor(self, name: str, offset: Sequence[int] | None = None, shape: Sequence[int] | None = None) -> Any:
        """A tensor, or the part of it of `shape` at `offset`, with the checksums of all pieces it is made of verified."""
        if name not in self._places:
            raise FormatError(f"{self.folder}: the index has no tensor {name!r}")
        places = self._places[name]
        whole = places[0][2]["shape"]
        begin = list(offset) if offset is not None else [0] * len(whole)
        want = list(shape) if shape is not None else [n - b for n, b in zip(whole, begin)]
        if len(begin) != len(whole) or len(want) != len(whole) or any(b < 0 or b + n > w for b, n, w in zip(begin, want, whole)):
            raise ValueError(f"{name!r} has shape {whole}; a part of shape {want} at {begin} does not lie in it")
        for file, key, entry in places:
            if entry["offset"] == begin and entry["piece"] == want:
                return self._piece(file, key, entry)
        out = hw.empty(want, dtype=getattr(hw, places[0][2]["dtype"]))
        covered = hw.zeros(want, dtype=hw.bool)
        for file, key, entry in places:
            low = [max(b, o) for b, o in zip(begin, entry["offset"])]
            high = [min(b + n, o + p) for b, n, o, p in zip(begin, want, entry["offset"], entry["piece"])]
            if any(h <= m for m, h in zip(low, high)):
                continue
            into = tuple(slice(m - b, h - b) for m, h, b in zip(low, high, begin))
            out[into] = self._piece(file, key, entry)[tuple(slice(m - o, h - o) for m, h, o in zip(low, high, entry["offset"]))]
            covered[into] = True
        if not bool(covered.all()):
            raise FormatError(f"{self.folder}: the pieces of {name!r} do not cover the part of shape {want} at {begin}")
        return out

    def state(self) -> Any:
        """What save() was given, with whole tensors."""
        return self._unpack(self.index["structure"])

    def local(self, rank: int) -> Any:
        """What `rank` gave as `local`."""
        if not 0 <= rank < len(self.index["local"]):
            raise ValueError(f"{self.folder} was written by {self.ranks} ranks and holds nothing of rank {rank}")
        return self._unpack(self.index["local"][rank])

    def state_into(self, state: Any) -> Any:
        """state(), but the tensors are those of `state`, overwritten; of a global tensor this process reads its parts only."""
        from .writing import ShardPacker, pieces_of_global

        packer = ShardPacker()
        packer.pack(state, "")
        known = {**packer.tensors, **packer.globals}
        for name, t in known.items():
            if name in self._places and list(t.shape) != self._places[name][0][2]["shape"]:
                raise ValueError(f"{name!r} has shape {list(t.shape)}, in {self.folder} {self._places[name][0][2]['shape']}")
        missing = [name for name in known if name not in self._places]
        if missing:
            raise FormatError(f"{self.folder} has no {', '.join(map(repr, missing[:3]))}{' and others' if len(missing) > 3 else ''}")
        with hw.no_grad():
            for name, t in packer.tensors.items():
                t.copy_(self.tensor(name))
            for name, t in packer.globals.items():
                for part, offset, _ in pieces_of_global(t):
                    part.copy_(self.tensor(name, offset, list(part.shape)))
        return self._unpack(self.index["structure"], known)

    def _unpack(self, structure: Any, known: dict[str, Any] | None = None) -> Any:
        checkpoint = self

        class Lazy(dict):
            def __contains__(self, name: object) -> bool:
                return name in checkpoint._places

            def __missing__(self, name: str) -> Any:
                self[name] = checkpoint.tensor(name)
                return self[name]

        return _Unpacker(Lazy(known or {})).unpack(structure)

    def _piece(self, file: str, key: str, entry: dict[str, Any]) -> Any:
        path = self.folder / file
        try:
            if file not in self._files:
                with open(path, "rb") as opened:
                    self._files[file], _ = safetensors_file.read(safetensors_file.contents(opened, True))
            t = self._files[file].get(key)
            if t is None:
                raise FormatError(f"it has no tensor {key!r}")
        except FormatError as error:
            raise FormatError(f"{path}: {error}{self._remedy()}") from None
        if entry["dtype"] == "complex128":
            t = safetensors_file.tensor_over(safetensors_file.tensor_bytes(t), "complex128", list(t.shape)[:-1])
        if hw._C.hash_tensor(t) != entry["hash"]:
            raise FormatError(f"{path}: the bytes of {key!r} are not those that were written{self._remedy()}")
        return t

    def _remedy(self) -> str:
        older = [p for p in checkpoints(self.folder.parent) if sequence_of(p) < sequence_of(self.folder)]
        return f"; the checkpoint before it is {older[-1]}" if older else ""


def load(path: str | os.PathLike[str]) -> Any:
    """The state in the newest complete checkpoint of a folder (or in one checkpoint), whatever number of ranks wrote it.

    Raises FileNotFoundError where there is none, FormatError (a ValueError) that names the file and tensor where bytes have changed.
    For a part of a tensor, or to look around first: `Checkpoint(path)`.
    """
    return Checkpoint(path).state()


def load_into(path: str | os.PathLike[str], state: Any) -> Any:
    """load(), into the tensors of `state` (a state_dict, or any structure that has them under the same names). Global tensors may lie
    on another mesh, in another way, than those that were saved: each process reads what it holds, and nobody the whole.
    """
    return Checkpoint(path).state_into(state)


def load_local(path: str | os.PathLike[str], rank: int | None = None) -> Any:
    """What this rank (or `rank`) gave to save() as `local`. None in a world of another size, for which it was not meant."""
    from .. import distributed as dist

    checkpoint = Checkpoint(path)
    if rank is None and checkpoint.ranks != dist.get_world_size():
        return None
    return checkpoint.local(dist.get_rank() if rank is None else rank)
