"""hw.checkpoint.save: each rank writes its shard, rank 0 gives the folder its name when all shards are on the disk."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import headwater as hw

from .. import distributed as dist
from .. import safetensors_file
from ..serialization import _Packer
from .reading import COMPLETE, checkpoints, sequence_of

SAVING = ".saving-"
PATIENCE = 600.0  # seconds that rank 0 waits for the shards of the others


class Shard:
    """A piece of a larger tensor, for save(): this rank holds `tensor`, which begins at `offset` of a tensor of `shape`. The pieces of
    all ranks cover it; a piece that several ranks hold is written by each and may differ in nothing."""

    def __init__(self, tensor: Any, offset: Sequence[int], shape: Sequence[int]):
        self.tensor, self.offset, self.shape = tensor, list(offset), list(shape)
        ends = [o + n for o, n in zip(offset, tensor.shape)]
        if len(self.offset) != len(self.shape) or len(tensor.shape) != len(self.shape) or any(
            o < 0 or e > n for o, e, n in zip(self.offset, ends, self.shape)
        ):
            raise ValueError(f"a piece of shape {list(tensor.shape)} at {self.offset} does not lie in a tensor of shape {self.shape}")


def pieces_of_global(t: Any) -> list[tuple[Any, list[int], bool]]:
    """The parts of a global tensor that this process holds: part, where it begins, and whether it is the first of equal ones."""
    mesh = t.mesh
    sizes, ranks, pieces = list(mesh.shape), list(mesh.ranks), []
    for rank, part in hw._C.local_parts(t):
        at, offset, extent, first = ranks.index(rank), [0] * t.ndim, list(t.shape), True
        coordinates: list[int] = []
        for n in reversed(sizes):
            at, coordinate = divmod(at, n)
            coordinates.insert(0, coordinate)
        for sbp, n, c in zip(t.sbp, sizes, coordinates):
            if sbp.is_split:  # the first ranks get one more
                base, extra = divmod(extent[sbp.axis], n)
                offset[sbp.axis] += c * base + min(c, extra)
                extent[sbp.axis] = base + (c < extra)
            else:
                first = first and c == 0
        if list(part.shape) != extent:
            raise RuntimeError(f"a part of {t.sbp} on {mesh} has shape {list(part.shape)}, expected {extent}")
        pieces.append((part, offset, first))
    return pieces


def without_partial(t: Any) -> Any:
    """The same value, summed where the ranks hold summands."""
    if any(sbp.is_partial for sbp in t.sbp):
        return t.detach().to_global(t.mesh, [hw.broadcast if sbp.is_partial else sbp for sbp in t.sbp])
    return t.detach()


class ShardPacker(_Packer):
    """Takes shards and global tensors out of a structure, beside the plain tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.shards: dict[str, list[Shard]] = {}
        self.globals: dict[str, Any] = {}

    def pack(self, x: Any, path: str) -> Any:
        if isinstance(x, Shard):
            self.shards[path] = [x]
        elif isinstance(x, hw.Tensor) and x.is_global:
            self.globals[path] = x = without_partial(x)
            self.shards[path] = [Shard(part, offset, list(x.shape)) for part, offset, first in pieces_of_global(x) if first]
        else:
            return super().pack(x, path)
        return {"tensor": path}


class Saving:
    """A checkpoint on its way. `folder` is where it appears."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def wait(self) -> Path:
        """Returns when it is complete (on ranks other than 0: when this rank's part is). Raises what went wrong in writing."""
        if self._thread:
            self._thread.join()
        if self.error:
            raise self.error
        return self.folder

    def done(self) -> bool:
        return self._thread is None or not self._thread.is_alive()

    def _run(self, job: Any) -> None:
        try:
            job()
        except BaseException as error:
            self.error = error


_under_way: dict[str, Saving] = {}


def save(dir: str | os.PathLike[str], state: Any, *, local: Any = None, step: int | None = None, keep: int = 2,
         asynchronous: bool = False) -> Saving:  # fmt: skip
    """Writes `state` (tensors, numbers, strings in any nesting of dicts, lists and tuples: whatever hw.save takes) as the newest
    checkpoint in `dir`, which all ranks see. Every rank calls it with the same structure; plain tensors are equal on all ranks, and
    each is written by one of them; of a global tensor each process writes the parts that it holds, and `Shard` is a part by hand.

    `local` is what each rank keeps for itself: its random generator, its place in the data. `keep`: how many checkpoints stay.
    `asynchronous=True` copies this rank's tensors and writes in a thread; wait() or the next save() tells of errors.

    >>> path = hw.checkpoint.save("run", {"weight": hw.ones(2), "epoch": 3}, step=100).wait()
    >>> hw.checkpoint.load("run")["epoch"]
    3
    """
    root = Path(dir)
    last = _under_way.pop(str(root.resolve()), None)
    if last:
        last.wait()
    if keep < 1:
        raise ValueError(f"keep={keep}: at least the checkpoint that is written stays")
    me, ranks = dist.get_rank(), dist.get_world_size()
    number, nonce = _begin(root, me)
    packer, own = ShardPacker(), _Packer()
    structure, local_structure = packer.pack(state, ""), own.pack(local, f"rank-{me}")
    pieces = _pieces_of(packer, own, me, ranks)
    if asynchronous:
        pieces = {key: (t.detach().clone(), entry) for key, (t, entry) in pieces.items()}
    hidden, folder = root / f"{SAVING}{number:08d}-{nonce:x}", root / f"{COMPLETE}{number:08d}"
    saving = Saving(folder)

    def job() -> None:
        _write_shard(hidden, me, pieces, local_structure)
        if me == 0:
            _complete(hidden, folder, ranks, {"format": 1, "step": step, "ranks": ranks, "structure": structure})
            for old in checkpoints(root)[:-keep]:
                shutil.rmtree(old, ignore_errors=True)

    if asynchronous:
        saving._thread = threading.Thread(target=saving._run, args=(job,), name="headwater-checkpoint")
        saving._thread.start()
        _under_way[str(root.resolve())] = saving
    else:
        job()
        dist.barrier()  # nobody goes on before it is complete
    return saving


def _begin(root: Path, me: int) -> tuple[int, int]:
    """Rank 0 clears what a crash left and chooses the number; all learn it before anything is written."""
    chosen = hw.zeros(2, dtype=hw.int64)
    if me == 0:
        root.mkdir(parents=True, exist_ok=True)
        for left in root.glob(SAVING + "*"):
            shutil.rmtree(left, ignore_errors=True)
        found = checkpoints(root)
        number = sequence_of(found[-1]) + 1 if found else 0
        nonce = int.from_bytes(os.urandom(6), "little")
        (root / f"{SAVING}{number:08d}-{nonce:x}").mkdir()
        chosen = hw.tensor([number, nonce], dtype=hw.int64)
    dist.broadcast(chosen, 0)
    return int(chosen[0]), int(chosen[1])


def _pieces_of(packer: ShardPacker, own: _Packer, me: int, ranks: int) -> dict[str, tuple[Any, dict[str, Any]]]:
    """What this rank writes: key in the file -> tensor and its entry in the index. Plain tensors go to the rank with the least so far."""
    pieces: dict[str, tuple[Any, dict[str, Any]]] = {}
    load = [0] * ranks
    for name, t in sorted(packer.tensors.items(), key=lambda item: (-item[1].numel() * item[1].dtype.itemsize, item[0])):
        rank = load.index(min(load))
        load[rank] += t.numel() * t.dtype.itemsize
        if rank == me:
            pieces[name] = (t, {"tensor": name, "shape": list(t.shape), "offset": [0] * t.ndim})
    for name, shards in packer.shards.items():
        for shard in shards:
            whole = list(shard.tensor.shape) == shard.shape
            key = name if whole else f"{name}@{','.join(map(str, shard.offset))}"
            pieces[key] = (shard.tensor, {"tensor": name, "shape": shard.shape, "offset": shard.offset})
    for name, t in own.tensors.items():
        pieces[name] = (t, {"tensor": name, "shape": list(t.shape), "offset": [0] * t.ndim})
    return pieces


def _write_shard(hidden: Path, me: int, pieces: dict[str, tuple[Any, dict[str, Any]]], local: Any) -> None:
    """The shard, then the part of the index that says that it is complete."""
    tensors, entries = {}, {}
    for key, (t, entry) in pieces.items():
        tensors[key] = t
        entries[key] = {**entry, "dtype": t.dtype.name, "piece": list(t.shape), "hash": hw._C.hash_tensor(t.detach().contiguous())}
    safetensors_file.write(hidden / f"rank-{me:05d}.safetensors", tensors, {"format": "pt"})
    part = json.dumps({"pieces": entries, "local": local}, separators=(",", ":")).encode("utf-8", "surrogatepass")
    safetensors_file.write_atomically(str(hidden / f"rank-{me:05d}.json"), [part])


def _complete(hidden: Path, folder: Path, ranks: int, index: dict[str, Any]) -> None:
    """Waits for all shards, writes the index, and gives the folder its name."""
    index["files"], index["local"] = {}, []
    deadline = time.monotonic() + PATIENCE
    for r in range(ranks):
        part = hidden / f"rank-{r:05d}.json"
        while not part.exists():
            if time.monotonic() > deadline:
                raise RuntimeError(f"checkpoint {folder.name}: rank {r} has not written its part after {PATIENCE:.0f} s")
            time.sleep(0.01)
        content = json.loads(part.read_bytes())
        index["files"][f"rank-{r:05d}.safetensors"] = content["pieces"]
        index["local"].append(content["local"])
    text = json.dumps(index, separators=(",", ":")).encode("utf-8", "surrogatepass")
    safetensors_file.write_atomically(str(hidden / "index.json"), [text])
    for r in range(ranks):
        (hidden / f"rank-{r:05d}.json").unlink()
    os.rename(hidden, folder)
    descriptor = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
