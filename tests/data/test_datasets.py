"""Data sets, samplers and collation, against torch where the result does not depend on its random numbers."""

from collections import Counter, OrderedDict, namedtuple

import numpy as np
import pytest
import torch

import headwater as hw
from headwater.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)

Point = namedtuple("Point", "x y")


class Squares(Dataset):
    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i * i


class Stream(IterableDataset):
    def __init__(self, n=5):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


def seeded(seed=3):
    generator = hw.Generator()
    generator.manual_seed(seed)
    return generator


def test_tensor_dataset():
    d = TensorDataset(hw.tensor([[1.0, 2.0], [3.0, 4.0]]), hw.tensor([5, 6]))
    assert len(d) == 2
    assert [t.tolist() for t in d[1]] == [[3.0, 4.0], 6]
    with pytest.raises(ValueError, match=r"equally long, got \[2, 3\]"):
        TensorDataset(hw.tensor([1, 2]), hw.tensor([1, 2, 3]))


def test_concat_chain_stack_and_subset():
    both = Squares(3) + Squares(2)
    assert isinstance(both, ConcatDataset)
    assert [both[i] for i in range(5)] == [0, 1, 4, 0, 1]
    assert both[-1] == 1
    with pytest.raises(IndexError, match="index 5"):
        both[5]
    chain = Stream(2) + Stream(3)
    assert isinstance(chain, ChainDataset)
    assert list(chain) == [0, 1, 0, 1, 2]
    assert len(chain) == 5
    assert StackDataset(Squares(3), Squares(3))[2] == (4, 4)
    assert StackDataset(a=Squares(3), b=Squares(3))[2] == {"a": 4, "b": 4}
    assert [Subset(Squares(), [5, 2])[i] for i in range(2)] == [25, 4]
    with pytest.raises(TypeError, match="ChainDataset"):
        ConcatDataset([Stream()])
    with pytest.raises(ValueError, match="at least one"):
        ConcatDataset([])
    with pytest.raises(ValueError, match="equally long"):
        StackDataset(Squares(2), Squares(3))


def test_random_split():
    parts = random_split(Squares(11), [0.5, 0.3, 0.2], seeded())
    assert [len(p) for p in parts] == [len(p) for p in torch.utils.data.random_split(range(11), [0.5, 0.3, 0.2])]
    assert sorted(i for p in parts for i in p.indices) == list(range(11))
    again = random_split(Squares(11), [6, 3, 2], seeded())
    assert [p.indices for p in again] == [p.indices for p in parts]
    with pytest.raises(ValueError, match="add up to 5"):
        random_split(Squares(11), [2, 3])


def test_random_sampler():
    assert sorted(RandomSampler(range(10))) == list(range(10))
    assert list(RandomSampler(range(10), generator=seeded())) == list(RandomSampler(range(10), generator=seeded()))
    one, two = (list(RandomSampler(range(50))) for _ in range(2))
    assert one != two
    hw.manual_seed(7)
    one = list(RandomSampler(range(50)))
    hw.manual_seed(7)
    assert list(RandomSampler(range(50))) == one
    long = list(RandomSampler(range(4), num_samples=10))
    assert len(long) == 10
    assert max(Counter(long).values()) <= 3
    drawn = list(RandomSampler(range(4), replacement=True, num_samples=5000))
    assert len(drawn) == 5000
    assert all(1000 < n < 1500 for n in Counter(drawn).values())
    with pytest.raises(ValueError, match="num_samples"):
        RandomSampler(range(4), num_samples=0)


def test_other_samplers():
    assert list(SequentialSampler(range(3))) == [0, 1, 2]
    assert sorted(SubsetRandomSampler([7, 8, 9])) == [7, 8, 9]
    drawn = Counter(WeightedRandomSampler([1, 0, 3], 4000, generator=seeded()))
    assert drawn[1] == 0
    assert 2800 < drawn[2] < 3200
    assert sorted(WeightedRandomSampler([1.0, 2.0, 3.0], 3, replacement=False)) == [0, 1, 2]
    with pytest.raises(ValueError, match="without replacement"):
        WeightedRandomSampler([1, 2], 3, replacement=False)
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert len(BatchSampler(range(5), 2, False)) == 3
    with pytest.raises(ValueError, match="batch_size"):
        BatchSampler(range(5), 0, False)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("n", [10, 12, 1])
def test_distributed_sampler(n, drop_last):
    for rank in range(3):
        ours = DistributedSampler(range(n), 3, rank, shuffle=False, drop_last=drop_last)
        theirs = torch.utils.data.DistributedSampler(range(n), 3, rank, shuffle=False, drop_last=drop_last)
        assert list(ours) == list(theirs)
        assert len(ours) == len(theirs)
    parts = [list(DistributedSampler(range(12), 3, rank, seed=5)) for rank in range(3)]
    assert sorted(sum(parts, [])) == list(range(12))
    sampler = DistributedSampler(range(12), 3, 0)
    first = list(sampler)
    sampler.set_epoch(1)
    assert list(sampler) != first


BATCHES = [
    [1, 2, 3],
    [1.5, 2.5],
    [True, False],
    ["a", "b"],
    [b"a", b"b"],
    [np.float32(1.5), np.float32(2)],
    [np.arange(3, dtype=np.int16), np.arange(3, dtype=np.int16)],
    [{"a": 1, "b": (1.0, "x")}, {"a": 2, "b": (2.0, "y")}],
    [Point(1, np.ones(2)), Point(2, np.zeros(2))],
    [[1, 2.0], [3, 4.0]],
    [OrderedDict(a=1), OrderedDict(a=2)],
]


def plain(x):
    if isinstance(x, (hw.Tensor, torch.Tensor)):
        return "tensor", str(x.dtype).split(".")[-1], x.tolist()
    if isinstance(x, dict):
        return type(x), {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x), [plain(v) for v in x]
    return x


@pytest.mark.parametrize("batch", BATCHES, ids=lambda b: type(b[0]).__name__)
def test_default_collate_is_that_of_torch(batch):
    assert plain(default_collate(batch)) == plain(torch.utils.data.default_collate(batch))


def test_default_collate_of_tensors_and_errors():
    assert default_collate([hw.tensor([1, 2]), hw.tensor([3, 4])]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(RuntimeError, match=r"sample 0 has \[2\], sample 1 has \[3\]"):
        default_collate([hw.tensor([1, 2]), hw.tensor([3, 4, 5])])
    with pytest.raises(RuntimeError, match="equally long"):
        default_collate([[1], [1, 2]])
    with pytest.raises(TypeError, match="got object"):
        default_collate([object()])


def test_default_convert():
    out = default_convert({"a": np.ones(2), "b": [np.int64(3), "x"], "c": Point(1, np.zeros(1))})
    assert plain(out["a"]) == ("tensor", "float64", [1.0, 1.0])
    assert plain(out["b"][0]) == ("tensor", "int64", 3)
    assert out["b"][1] == "x"
    assert isinstance(out["c"], Point)


# ---------------------------------------------------------------- the loader without workers
def test_batches():
    loader = DataLoader(Squares(), batch_size=4)
    assert [b.tolist() for b in loader] == [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81]]
    assert len(loader) == 3
    assert [b.tolist() for b in DataLoader(Squares(), 4, drop_last=True)] == [[0, 1, 4, 9], [16, 25, 36, 49]]
    assert list(DataLoader(Squares(3), batch_size=None)) == [0, 1, 4]
    assert [b.tolist() for b in DataLoader(Squares(), batch_sampler=[[1, 2], [3]])] == [[1, 4], [9]]
    assert [b.tolist() for b in DataLoader(Squares(), sampler=[9, 8])] == [[81], [64]]
    assert list(DataLoader(Squares(4), 2, collate_fn=tuple)) == [(0, 1), (4, 9)]


def test_shuffle_is_seeded_by_the_generator():
    runs = [[b.tolist() for b in DataLoader(Squares(), 3, shuffle=True, generator=seeded())] for _ in range(2)]
    assert runs[0] == runs[1]
    assert sorted(sum(runs[0], [])) == [i * i for i in range(10)]
    loader = DataLoader(Squares(50), 50, shuffle=True)
    assert next(iter(loader)).tolist() != next(iter(loader)).tolist()


def test_tensor_dataset_batches_are_those_of_single_samples():
    x, y = hw.tensor(np.random.default_rng(0).standard_normal((10, 3))), hw.tensor(np.arange(10))
    data = TensorDataset(x, y)
    fast = list(DataLoader(data, 4))
    slow = list(DataLoader(data, 4, collate_fn=lambda samples: default_collate(samples)))
    assert plain(fast) == plain(slow)


def test_getitems_is_used():
    class AtOnce(Squares):
        def __getitems__(self, indices):
            return [100 + i for i in indices]

    assert [b.tolist() for b in DataLoader(AtOnce(4), 2)] == [[100, 101], [102, 103]]


def test_streams():
    assert [b.tolist() for b in DataLoader(Stream(), 2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in DataLoader(Stream(), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Stream(3), None)) == [0, 1, 2]
    assert len(DataLoader(Stream(), 2)) == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_workers": -1}, "num_workers"),
        ({"timeout": -1}, "timeout"),
        ({"prefetch_factor": 2}, "prefetch_factor needs"),
        ({"prefetch_factor": 0, "num_workers": 1}, "prefetch_factor must be above 0"),
        ({"persistent_workers": True}, "persistent_workers needs"),
        ({"sampler": [1], "shuffle": True}, "exclude"),
        ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler excludes"),
        ({"batch_size": None, "drop_last": True}, "drop"),
        ({"batch_size": 0}, "batch_size"),
        ({"num_workers": 1, "multiprocessing_context": "thread"}, "must be one of"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        DataLoader(Squares(), **options)


def test_a_stream_has_no_sampler():
    with pytest.raises(ValueError, match="own order"):
        DataLoader(Stream(), shuffle=True)
