"""Embedding tables split by rows over ranks: never whole anywhere, with gradients of the used rows on the rank that holds them."""

import json

import numpy as np
import pytest
from ranks import launch, needs_mpi
from table_programs import SPARSE, train_dlrm, train_head

import headwater as hw
import headwater.nn.functional as F
from headwater import nn

B, S = hw.broadcast, hw.split
MESHES = {n: hw.mesh("cpu", n) for n in (1, 2, 4)}
GRID = hw.mesh("cpu", (2, 2), names=("data", "model"))
IDS = hw.tensor([[0, 1, 10], [3, 3, 0], [9, 1, 1], [5, 6, 10]])


def close(a, b, tolerance=2e-6):
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("rows", [11, 12])
@pytest.mark.parametrize(("mesh", "weight", "ids"), [(MESHES[1], S(0), B), (MESHES[2], S(0), B), (MESHES[4], S(0), S(0)),
                                                     (GRID, [B, S(0)], [S(0), B]), (GRID, [S(0), S(0)], [S(0), S(1)]),
                                                     (GRID, [S(0), S(1)], [B, B])], ids=str)  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"padding_idx": 1}, {"scale_grad_by_freq": True}, {"sparse": True, "padding_idx": 10},
                                     {"sparse": True, "scale_grad_by_freq": True}], ids=str)  # fmt: skip
def test_look_up_and_gradient(rows, mesh, weight, ids, options):
    table = hw.tensor(np.random.default_rng(0).standard_normal((rows, 4)).astype("float32"))
    one = table.clone().requires_grad_()
    want = F.embedding(IDS, one, **{**options, "sparse": False})
    (want * want).sum().backward()
    many = table.to_global(mesh, weight).requires_grad_()
    got = F.embedding(IDS.to_global(mesh, ids), many, **options)
    (got * got).sum().backward()
    assert hw.equal(got.detach().full(), want.detach())
    ids = ids if isinstance(ids, list) else [ids]
    assert all(s == i for s, i in zip(got.sbp, ids, strict=True) if i.is_split), "the result lies as the input does"
    if options.get("sparse"):
        assert many.grad is None
        close(many.sparse_grad.to_dense().full(), one.grad)
        return
    assert many.grad.sbp == many.sbp
    close(many.grad.full(), one.grad)


def test_an_index_outside_of_the_table_is_refused():
    table = hw.ones(11, 4).to_global(MESHES[2], S(0))
    with pytest.raises(IndexError, match="index 11 is out of range for axis 0 with size 11"):
        F.embedding(hw.tensor([0, 11]).to_global(MESHES[2], B), table)
    with pytest.raises(NotImplementedError, match="max_norm needs a whole weight"):
        F.embedding(IDS.to_global(MESHES[2], B), table, max_norm=1.0)


def test_a_table_is_made_split_with_the_values_of_one_device():
    for rows, columns, make in ((37, 8, nn.init.normal_), (37, 7, nn.init.normal_), (64, 16, nn.init.uniform_)):
        hw.manual_seed(1)
        want = make(hw.empty(rows, columns)), hw.rand(3)
        for n in (2, 4):
            hw.manual_seed(1)
            got = make(hw.distributed.empty((rows, columns), MESHES[n], S(0))), hw.rand(3)
            assert hw.equal(got[0].full(), want[0]) and hw.equal(got[1], want[1])


def test_no_rank_holds_the_whole_table():
    """Each part is made alone, and so is what an optimiser keeps of it. One process hosts both ranks here: no byte more than the table."""
    size = (1 << 16) * 32 * 4
    before = hw.memory.stats()["allocated"]
    hw.memory.reset_peak()
    with hw.distributed.tables_on(MESHES[2], S(0)):
        table = nn.Embedding(1 << 16, 32, padding_idx=5, sparse=True)
    assert hw.memory.stats()["peak_allocated"] - before < 1.01 * size
    assert [table.weight.to_local(r).nbytes for r in (0, 1)] == [size // 2] * 2
    assert table.weight.detach()[5].full().abs().sum().item() == 0
    optimizer = hw.optim.SparseAdam(table.parameters())
    ids = hw.tensor([[1, 5, 65535]]).to_global(MESHES[2], B)
    hw.memory.reset_peak()
    (table(ids) ** 2).sum().backward()
    optimizer.step()
    assert hw.memory.stats()["peak_allocated"] - before < 3.02 * size  # the table and two means
    state = optimizer.state[table.weight]
    assert state["exp_avg"].sbp == [S(0)] and state["exp_avg"].to_local(1).shape == (1 << 15, 32)


@pytest.mark.parametrize("name", SPARSE)
def test_dlrm_with_split_tables(name):
    want = train_dlrm(None, SPARSE[name], True)
    if name != "lazy adam":  # of which the others know no difference to dense gradients
        dense = train_dlrm(None, SPARSE[name], False)
        np.testing.assert_allclose(want[0], dense[0], rtol=1e-6)
        for a, b in zip(want[1], dense[1], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    for mesh in (MESHES[2], MESHES[4], GRID):
        got = train_dlrm(mesh, SPARSE[name], True)
        np.testing.assert_allclose(got[0], want[0], rtol=3e-6)
        for a, b in zip(got[1], want[1], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_with_offsets(mode):
    hw.manual_seed(0)
    bag = nn.EmbeddingBag(11, 4, mode=mode)
    ids, offsets = hw.tensor([1, 10, 3, 3, 0]), hw.tensor([0, 2, 2])
    want = bag(ids, offsets).detach()
    bag.to_global(MESHES[2], S(0))
    close(bag(ids.to_global(MESHES[2], B), offsets.to_global(MESHES[2], B)).detach().full(), want)


def test_lazy_adam_leaves_other_rows_alone_and_others_refuse():
    table = nn.Embedding(20, 4, sparse=True)
    before = table.weight.detach().clone()
    optimizer = hw.optim.SparseAdam(table.parameters(), lr=0.1)
    for ids in ([1, 2], [2, 3]):
        optimizer.zero_grad()
        table(hw.tensor(ids)).sum().backward()
        optimizer.step()
    changed = hw.nonzero((table.weight.detach() != before).any(1)).reshape(-1).tolist()
    assert changed == [1, 2, 3]
    with pytest.raises(NotImplementedError, match="momentum=0.9 changes every row"):
        hw.optim.SGD(table.parameters(), lr=0.1, momentum=0.9).step()
    with pytest.raises(NotImplementedError, match="RMSprop would have to step all rows"):
        hw.optim.RMSprop(table.parameters()).step()
    table.weight.grad = hw.zeros(20, 4)
    with pytest.raises(RuntimeError, match="a gradient by rows and a dense one"):
        hw.optim.SGD(table.parameters(), lr=0.1).step()


def test_gradients_by_rows_add_up_and_are_scaled():
    table = nn.Embedding(9, 3, sparse=True)
    for ids in ([1, 2, 1], [2, 8]):
        (table(hw.tensor(ids)) * 2).sum().backward()
    rows = table.weight.sparse_grad
    want = np.zeros((9, 3), "float32")
    np.add.at(want, [1, 2, 1, 2, 8], 2)
    np.testing.assert_array_equal(rows.to_dense().numpy(), want)
    assert rows.square_sum().item() == (want**2).sum() and rows.parts[0][0].tolist() == [1, 2, 8]
    nn.utils.clip_grad_norm_(table.parameters(), 1.0)
    np.testing.assert_allclose(table.weight.sparse_grad.to_dense().numpy(), want / np.linalg.norm(want), rtol=1e-5)


@needs_mpi
def test_two_processes_compute_what_one_with_two_ranks_does(tmp_path):
    """A sampled classifier and tables, each process with its half."""
    out = tmp_path / "found.json"
    run = launch(2, "tables.py", out)
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(out.read_text())
    mesh = MESHES[2]
    for here, there in ((train_head(mesh, 43, 0.3, "sgd"), found["head"]), (train_dlrm(mesh, SPARSE["adagrad"], True), found["dlrm"])):
        assert json.loads(json.dumps([np.asarray(x).tolist() for x in here[:1]])) == there[:1]
    np.testing.assert_array_equal(np.float32(found["head"][1]), train_head(mesh, 43, 0.3, "sgd")[1])
    assert found["rows"] == [[0, 22], [22, 43]] and found["hosted"] == [1, 1]
