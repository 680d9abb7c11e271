"""Data sets for test_workers.py: a worker that is no fork imports this file, and so no pytest."""

import os
import random
import signal
import time
from collections import namedtuple

import numpy as np

import headwater as hw
from headwater.data import Dataset, IterableDataset, get_worker_info

Pair = namedtuple("Pair", "a b")


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


class Numbered(Dataset):
    def __len__(self):
        return 60

    def __getitem__(self, i):
        return np.full(20_000, i, dtype=np.float32)


class Heavy(Dataset):
    """Work that would go to the thread team, which does not exist in a forked process."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        x = hw.full((4, 16, 64, 64), float(i))
        y = hw.nn.functional.conv2d(x, hw.ones(16, 16, 3, 3), padding=1).relu()
        return (hw.ones(512, 512) @ hw.ones(512, 512)).sum() + y[0, 0, 5, 5]
