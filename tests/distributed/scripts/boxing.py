"""Every change of SBP on meshes with one rank a process: a line with a hash of this rank's part after each."""

import itertools
import json

import numpy as np

import headwater as hw
import headwater.distributed as dist

S, B, SUM, MAX = hw.split, hw.broadcast, hw.partial_sum, hw.partial_max
SHAPES = [(6, 5), (1, 7), (3, 4, 5)]  # uneven, with empty parts, with slices in the midst
LARGE = (301, 1003)


def meshes(ranks):
    every = list(range(ranks))
    lines = [hw.mesh("cpu", ranks), hw.mesh("cpu", ranks, ranks=every[::-1]), hw.mesh("cpu", ranks - 1, ranks=every[1:])]
    return [(m, [(S(0),), (S(1),), (B,), (SUM,), (MAX,)]) for m in lines] + (
        [] if ranks < 4 else [(hw.mesh("cpu", (2, 2)), list(itertools.product([S(0), S(1), B, SUM], repeat=2)))])  # fmt: skip


def local(shape, mesh, sbp, dtype, ranks):
    """A global tensor each part of which holds something of its own, also where it is partial."""
    boxes = dict(hw._C.hosted_boxes(mesh, list(sbp), shape))
    parts = []
    for rank in ranks:
        if rank in boxes:
            rng = np.random.default_rng([rank, len(shape)])
            values = rng.normal(size=[e - b for b, e in boxes[rank]]) * 30
            parts.append(hw.tensor(values).to(getattr(hw, dtype)))
    return hw.from_local(parts, mesh, list(sbp), shape=shape) if parts else None


def cases(ranks):
    for mesh, kinds in meshes(ranks):
        for a, b in itertools.product(kinds, kinds):
            for shape, dtype in itertools.product(SHAPES, ("float32", "int32")):
                yield mesh, a, b, shape, dtype
    for a, b in itertools.product((S(0), S(1), B, SUM), repeat=2):
        yield meshes(ranks)[0][0], (a,), (b,), LARGE, "float32"
        yield meshes(ranks)[0][0], (a,), (b,), (5, 3), "bfloat16"
        yield meshes(ranks)[0][0], (a,), (b,), (5, 3), "bool"


def hashes(ranks, hosted):
    """{rank: a hash for each case}."""
    found = {rank: [] for rank in hosted}
    for mesh, a, b, shape, dtype in cases(ranks):
        g = local(shape, mesh, a, dtype, [r for r in mesh.ranks if r in hosted])
        if g is None:
            continue
        moved = g.to_global(mesh, list(b))
        for rank, part in hw._C.local_parts(moved):
            assert part.is_contiguous() or a == b or B in a, (mesh, a, b, shape)
            found[rank].append(hw._C.hash_tensor(part.contiguous()))
    return found


if __name__ == "__main__":
    dist.init()
    with hw.profile() as profile:
        mine = hashes(dist.get_world_size(), [dist.get_rank()])
    print(json.dumps([dist.get_rank(), mine[dist.get_rank()], [kind for kind in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
                                                               if kind in str(profile.table())]]))  # fmt: skip
