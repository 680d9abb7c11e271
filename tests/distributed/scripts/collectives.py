"""Every collective on every dtype with uneven sizes, then seeded random sequences, against NumPy. Each rank knows all ranks' values."""

import random

import numpy as np

import headwater as hw
import headwater.distributed as dist

ME, RANKS = dist.get_rank(), dist.get_world_size()
DTYPES = [hw.bool, hw.uint8, hw.int8, hw.int16, hw.int32, hw.int64, hw.float16, hw.bfloat16, hw.float32, hw.float64, hw.complex64,
          hw.complex128]  # fmt: skip


def numbers(rank, shape, seed=0):
    """Small whole numbers: exact in every dtype, sums and products included."""
    return np.random.default_rng([rank, seed]).integers(0, 3, shape)


def tensor(values, dtype):
    return hw.tensor(np.asarray(values, dtype=np.int64)).to(dtype)


def same(t, values, what):
    if t.dtype == hw.bool:
        values = np.asarray(values) != 0
    wide = t.to(hw.complex128) if t.is_complex() else t.to(hw.float64)
    want = np.asarray(values).astype(wide.numpy().dtype)
    assert np.array_equal(wide.numpy(), want), (what, t.dtype, t.shape, wide.numpy(), want)


def every_rank(shape, seed=0, ranks=None):
    return [numbers(r, shape, seed) for r in (range(RANKS) if ranks is None else ranks)]


def reductions(dtype):
    joins = {"sum": np.sum, "product": np.prod, "max": np.max, "min": np.min}
    for name, join in joins.items():
        for n in (0, 1, 7, 20000):
            if dtype in (hw.complex64, hw.complex128) and name in ("max", "min"):
                continue
            t = tensor(numbers(ME, n), dtype)
            dist.all_reduce(t, name)
            values = every_rank(n)
            want = join([v != 0 for v in values] if dtype == hw.bool else values, axis=0)
            if dtype == hw.bool and name == "sum":
                want = np.any([v != 0 for v in values], axis=0)
            same(t, want, name)
    if dtype.is_floating_point:
        t = tensor(np.full(5, ME * RANKS), dtype)
        dist.all_reduce(t, dist.ReduceOp.AVG)
        same(t, np.full(5, sum(range(RANKS))), "avg")


def parts(dtype):
    sizes = [(r * 5) % 7 for r in range(RANKS)]  # one is empty
    out = [hw.zeros(n, 2, dtype=dtype) for n in sizes]
    dist.all_gather(out, tensor(numbers(ME, (sizes[ME], 2)), dtype))
    for r in range(RANKS):
        same(out[r], numbers(r, (sizes[r], 2)), "all_gather")
    flat = hw.empty(RANKS * 3, dtype=dtype)
    dist.all_gather_into_tensor(flat, tensor(numbers(ME, 3), dtype))
    same(flat, np.concatenate(every_rank(3)), "all_gather_into_tensor")

    pieces = [tensor(numbers(ME, n, seed=k), dtype) for k, n in enumerate(sizes)]
    mine = hw.empty(sizes[ME], dtype=dtype)
    dist.reduce_scatter(mine, pieces)
    total = np.sum(every_rank(sizes[ME], seed=ME), axis=0)
    same(mine, total, "reduce_scatter")
    even = hw.empty(4, dtype=dtype)
    dist.reduce_scatter_tensor(even, tensor(numbers(ME, 4 * RANKS), dtype))
    same(even, np.sum(every_rank(4 * RANKS), axis=0)[4 * ME : 4 * ME + 4], "reduce_scatter_tensor")

    received = [hw.empty((ME * r) % 4, dtype=dtype) for r in range(RANKS)]
    dist.all_to_all(received, [tensor(numbers(ME, (ME * r) % 4, seed=r), dtype) for r in range(RANKS)])
    for r in range(RANKS):
        same(received[r], numbers(r, (ME * r) % 4, seed=ME), "all_to_all")
    out = hw.empty(sum(ME + 1 for r in range(RANKS)), dtype=dtype)  # from each ME + 1 rows
    dist.all_to_all_single(out, tensor(numbers(ME, RANKS * (RANKS + 1) // 2), dtype), [ME + 1] * RANKS, [r + 1 for r in range(RANKS)])
    at = ME * (ME + 1) // 2
    same(out, np.concatenate([v[at : at + ME + 1] for v in every_rank(RANKS * (RANKS + 1) // 2)]), "all_to_all_single")

    for root in range(RANKS):
        for n in (3, 100000):
            t = tensor(numbers(ME, n), dtype)
            dist.broadcast(t, root)
            same(t, numbers(root, n), "broadcast")


def messages(dtype):
    following, before = (ME + 1) % RANKS, (ME - 1) % RANKS
    sent = [dist.isend(tensor(numbers(ME, 10 + k, seed=k), dtype), following, tag=k % 2) for k in range(6)]
    got = [hw.empty(10 + k, dtype=dtype) for k in range(6)]
    for tag in (1, 0):  # in another order than sent; within a tag in order
        for k in range(tag, 6, 2):
            assert dist.recv(got[k], before, tag=tag) == before
    for work in sent:
        work.wait()
    for k in range(6):
        same(got[k], numbers(before, 10 + k, seed=k), "message")


def strided():
    t = tensor(numbers(ME, (4, 6)), hw.float32).T
    assert not t.is_contiguous()
    dist.all_reduce(t)
    same(t, np.sum(every_rank((4, 6)), axis=0).T, "strided")


def buckets():
    ts = [tensor(numbers(ME, n, seed=n), hw.float32) for n in range(40)]
    dist.all_reduce_coalesced(ts)
    for n in range(40):
        same(ts[n], np.sum(every_rank(n, seed=n), axis=0), "bucket")
    ts = [hw.full((300,), 1.0 + 2**-9 + ME), hw.full((2,), 3.0)]
    dist.all_reduce_coalesced(ts, "sum", wire=hw.bfloat16)
    rounded = sum(float(hw.tensor(1.0 + 2**-9 + r).bfloat16().float()) for r in range(RANKS))
    assert ts[0].tolist() == [float(hw.tensor(rounded).bfloat16().float())] * 300, ts[0][:3]
    assert ts[1].tolist() == [3.0 * RANKS] * 2


def random_sequence(seed):
    """Collectives of random kinds, groups and sizes, several under way at once, in the same order on every rank."""
    rng = random.Random(seed)
    under_way = []
    groups = [None] + [dist.new_group(rng.sample(range(RANKS), rng.randint(1, RANKS))) for _ in range(4)]
    for step in range(40):
        group, n = rng.choice(groups), rng.choice([0, 1, 17, 5000])
        dtype, kind = rng.choice(DTYPES[1:]), rng.choice(["sum", "gather", "broadcast"])
        ranks = dist.get_process_group_ranks(group)
        root, wait = rng.choice(ranks), rng.random() < 0.3
        if ME not in ranks:
            continue
        t, values = tensor(numbers(ME, n, seed=step), dtype), every_rank(n, step, ranks)
        if kind == "sum":
            under_way.append((dist.all_reduce(t, group=group, async_op=True), t, np.sum(values, axis=0), kind))
        elif kind == "gather":
            out = hw.empty(n * len(ranks), dtype=dtype)
            under_way.append((dist.all_gather_into_tensor(out, t, group=group, async_op=True), out, np.concatenate(values), kind))
        else:
            work = dist.broadcast(t, root, group=group, async_op=True)
            under_way.append((work, t, values[ranks.index(root)], kind))
        while under_way and wait:
            work, t, want, what = under_way.pop()
            work.wait()
            same(t, want, what)
    for work, t, want, what in under_way:
        work.wait()
        assert work.is_completed()
        same(t, want, what)


for dtype in DTYPES:
    reductions(dtype)
    parts(dtype)
    messages(dtype)
strided()
buckets()
for seed in range(6):
    random_sequence(seed)
dist.barrier()
print(f"all well on rank {ME} of {RANKS}, local rank {dist.get_local_rank()}")
