"""Worker processes of the loader: batches, order, seeds, errors, deaths, and how they end."""

import multiprocessing
import os
import random
import signal
import time
from collections import namedtuple

import numpy as np
import pytest

import headwater as hw
from headwater.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

METHODS = ["fork", "spawn", "forkserver"]
Pair = namedtuple("Pair", "a b")


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0] != "Z"


class Squares(Dataset):
    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i * i


class Arrays(Dataset):
    """Large enough for shared memory."""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        x = np.full((100, 100), i, dtype=np.float32)
        return {"t": hw.from_numpy(x), "n": x + 0.5, "s": str(i), "p": Pair(i, x[0]), "e": hw.from_numpy(x[:0])}


class Stream(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        return iter(range(self.n) if info is None else range(info.id, self.n, info.num_workers))


class Randoms(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return random.random(), float(np.random.rand()), get_worker_info().seed


class CustomError(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


class Failing(Dataset):
    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i == 3:
            if self.how == "key":
                return {}["missing"]
            if self.how == "custom":
                raise CustomError(1, 2)
            if self.how == "exit":
                os._exit(7)
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "sleep":
                time.sleep(60)
            if self.how == "pickle":
                return lambda: 0
            raise ValueError(f"bad sample {i}")
        return i


class Pids(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return os.getpid()


@pytest.mark.parametrize("method", METHODS)
def test_batches_in_order(method):
    loader = DataLoader(Squares(), 3, num_workers=2, multiprocessing_context=method)
    for _ in range(2):
        assert [b.tolist() for b in loader] == [[0, 1, 4], [9, 16, 25], [36, 49, 64], [81]]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("factor", [1, 4])
def test_more_workers_than_batches_and_the_other_way_round(workers, factor):
    loader = DataLoader(Squares(25), 10, num_workers=workers, prefetch_factor=factor)
    assert [len(b) for b in loader] == [10, 10, 5]
    assert list(DataLoader(Squares(2), 1, num_workers=workers, collate_fn=sum)) == [0, 1]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_large_arrays_travel_through_shared_memory(method):
    loader = DataLoader(Arrays(), 3, num_workers=2, multiprocessing_context=method)
    batches = list(loader)
    assert [b["s"] for b in batches] == [["0", "1", "2"], ["3", "4", "5"]]
    for number, b in enumerate(batches):
        rows = np.arange(3) + 3 * number
        assert b["t"].shape == (3, 100, 100)
        assert (b["t"].numpy() == rows[:, None, None]).all()
        assert (b["n"].numpy() == rows[:, None, None] + 0.5).all()
        assert isinstance(b["p"], Pair)
        assert b["p"].a.tolist() == rows.tolist()
        assert b["e"].shape == (3, 0, 100)
    kept = batches[0]["t"]
    del batches, b
    kept.add_(1)  # it is ordinary, writable memory
    assert (kept.numpy() == np.arange(3)[:, None, None] + 1).all()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"])
def test_every_dtype_travels(dtype):
    x = hw.from_numpy(np.arange(40000).reshape(100, 400) % 2).to(getattr(hw, dtype))
    (batch,) = DataLoader(TensorDataset(x), 100, num_workers=1)
    assert batch[0].dtype == x.dtype
    assert batch[0].tolist() == x.tolist()


def test_streams_are_split_by_worker_info():
    loader = DataLoader(Stream(11), 2, num_workers=3)
    assert sorted(i for b in loader for i in b.tolist()) == list(range(11))
    assert get_worker_info() is None
    assert sorted(DataLoader(Stream(5), None, num_workers=2)) == [0, 1, 2, 3, 4]
    assert [b.tolist() for b in DataLoader(Stream(5), 2, num_workers=1)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in DataLoader(Stream(5), 2, num_workers=1, drop_last=True)] == [[0, 1], [2, 3]]


def test_out_of_order():
    received = multiprocessing.get_context("fork").Event()

    class Slow(Squares):
        def __getitem__(self, i):
            assert i != 0 or received.wait(60)  # until another batch has come first
            return i

    got = []
    for batch in DataLoader(Slow(6), 1, num_workers=2, in_order=False, collate_fn=sum, multiprocessing_context="fork"):
        got.append(batch)
        received.set()
    assert sorted(got) == list(range(6))
    assert got[0] != 0


def seeds(seed, **options):
    generator = hw.Generator()
    generator.manual_seed(seed)
    loader = DataLoader(Randoms(), 2, num_workers=2, generator=generator, **options)
    return [[column.tolist() for column in batch] for batch in loader]


def test_random_numbers_of_workers_are_seeded():
    one = seeds(1)
    assert one == seeds(1)
    assert one != seeds(2)
    assert one == seeds(1, multiprocessing_context="spawn")
    assert one[1][2][0] == one[0][2][0] + 1  # worker 1 after worker 0
    assert one[0][0] != one[1][0]
    assert one[0][1] != one[1][1]


def init(worker):
    random.seed(worker)


def bad_init(worker):
    raise ValueError(f"no worker {worker}")


def test_worker_init_fn():
    batches = list(DataLoader(Randoms(), 4, num_workers=2, worker_init_fn=init))
    assert batches[1][0][0].item() == random.Random(1).random()
    with pytest.raises(ValueError, match="no worker 0"):
        list(DataLoader(Squares(), 4, num_workers=2, worker_init_fn=bad_init))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_persistent_workers(method):
    options = {"num_workers": 2, "collate_fn": set, "multiprocessing_context": method}
    loader = DataLoader(Pids(), 2, persistent_workers=True, **options)
    one, two = (set().union(*loader) for _ in range(2))
    assert one == two
    assert len(one) == 2
    iterator = iter(loader)
    next(iterator)  # given up half-way
    assert len(list(loader)) == 4
    loader = DataLoader(Pids(), 2, **options)
    assert set().union(*loader).isdisjoint(set().union(*loader))
    stream = DataLoader(Stream(6), 2, num_workers=1, persistent_workers=True)
    for _ in range(2):
        assert [b.tolist() for b in stream] == [[0, 1], [2, 3], [4, 5]]


# ---------------------------------------------------------------- errors
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_an_error_comes_with_the_traceback_of_the_worker(method):
    iterator = iter(DataLoader(Failing("value"), 2, num_workers=2, multiprocessing_context=method))
    assert next(iterator).tolist() == [0, 1]
    with pytest.raises(ValueError, match="bad sample 3") as caught:
        next(iterator)
    text = str(caught.value)
    assert "in worker 1 (process " in text
    assert "in __getitem__" in text
    assert next(iterator).tolist() == [4, 5]  # the loader goes on


def test_errors_that_cannot_be_made_again():
    with pytest.raises(KeyError, match="missing") as caught:
        list(DataLoader(Failing("key"), 2, num_workers=1))
    assert "\n" in str(caught.value)
    with pytest.raises(RuntimeError, match="CustomError"):
        list(DataLoader(Failing("custom"), 2, num_workers=1))
    with pytest.raises((AttributeError, Exception), match=r"pickle|local object"):
        list(DataLoader(Failing("pickle"), 2, num_workers=1, collate_fn=list))


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_that_ends_is_an_error(method):
    with pytest.raises(RuntimeError, match=r"worker 1 \(process \d+\) of a DataLoader ended with exit code 7"):
        list(DataLoader(Failing("exit"), 2, num_workers=2, multiprocessing_context=method))
    with pytest.raises(RuntimeError, match=r"SIGKILL \(exit code -9\)"):
        list(DataLoader(Failing("kill"), 2, num_workers=2, multiprocessing_context=method))


def test_the_timeout():
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="timeout of 0.5 seconds"):
        list(DataLoader(Failing("sleep"), 2, num_workers=1, timeout=0.5))
    assert time.monotonic() - began < 20


def test_nothing_is_left_after_a_break_an_error_or_a_full_run():
    seen = set()
    for _ in range(3):
        for batch in DataLoader(Pids(), 1, num_workers=2, collate_fn=list):
            seen.update(batch)
            break
        with pytest.raises(RuntimeError):
            list(DataLoader(Failing("exit"), 1, num_workers=2))
        seen.update(*DataLoader(Pids(), 1, num_workers=2, collate_fn=set))
    del batch
    deadline = time.monotonic() + 60
    while any(map(alive, seen)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, seen))
    before = len(os.listdir("/proc/self/fd"))
    list(DataLoader(Arrays(), 3, num_workers=2))
    assert len(os.listdir("/proc/self/fd")) <= before


def test_two_loaders_at_once():
    a, b = (DataLoader(Squares(), 2, num_workers=2) for _ in range(2))
    assert [(x.tolist(), y.tolist()) for x, y in zip(a, b)] == [([i * i, (i + 1) ** 2],) * 2 for i in range(0, 10, 2)]
    for x, y in zip(a, b):
        assert x.tolist() == y.tolist()
        break


class Numbered(Dataset):
    def __len__(self):
        return 60

    def __getitem__(self, i):
        return np.full(20_000, i, dtype=np.float32)


def test_memory_is_used_again_but_never_while_it_is_held():
    kept, addresses = [], set()
    for number, batch in enumerate(DataLoader(Numbered(), 2, num_workers=2)):
        addresses.add(batch.data_ptr())
        if number % 3 == 0:
            kept.append((number, batch[1]))  # a view holds the whole
    assert len(addresses) < 28
    for number, row in kept:
        assert (row.numpy() == 2 * number + 1).all()
    whole = list(DataLoader(Numbered(), 2, num_workers=2))
    assert [b[0, 0].item() for b in whole] == list(range(0, 60, 2))
    assert [b[1, -1].item() for b in whole] == list(range(1, 60, 2))


class Heavy(Dataset):
    """Work that would go to the thread team, which does not exist in a forked process."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        x = hw.full((4, 16, 64, 64), float(i))
        y = hw.nn.functional.conv2d(x, hw.ones(16, 16, 3, 3), padding=1).relu()
        return (hw.ones(512, 512) @ hw.ones(512, 512)).sum() + y[0, 0, 5, 5]


@pytest.mark.parametrize("method", METHODS)
def test_heavy_operators_in_workers(method):
    here = [Heavy()[i].item() for i in range(4)]  # starts the team of this process
    loader = DataLoader(Heavy(), 2, num_workers=2, multiprocessing_context=method, timeout=60)
    assert [v for batch in loader for v in batch.tolist()] == here
