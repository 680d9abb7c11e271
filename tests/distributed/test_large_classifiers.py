"""Scores split by classes, and classifiers that use a sample of their classes: the numbers of one rank, however many there are."""

import numpy as np
import pytest
from table_programs import head, train_head

import headwater as hw
import headwater.nn.functional as F
from headwater import nn

B, S = hw.broadcast, hw.split
MESHES = {n: hw.mesh("cpu", n) for n in (1, 2, 3, 4)}
GRID = hw.mesh("cpu", (2, 2), names=("data", "model"))
TARGET = hw.tensor([0, 6, 3, -100, 2, 2])


def both(loss_of, x, mesh, sbp, target=TARGET, target_sbp=B):
    """(loss, gradient) on one device, (loss, gradient) on the mesh, where the gradient lies."""
    one = x.clone().requires_grad_()
    here = loss_of(one, target)
    here.sum().backward()
    many = x.to_global(mesh, sbp).requires_grad_()
    there = loss_of(many, target.to_global(mesh, target_sbp))
    there.sum().backward()
    return (here.detach(), one.grad), (there.detach().full(), many.grad.full()), many.grad.sbp


def close(a, b, tolerance=2e-6):
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("classes", [7, 12])
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.2}, {"reduction": "sum", "ignore_index": 2}, {"reduction": "none"}], ids=str)
def test_cross_entropy_of_scores_split_by_classes(ranks, classes, options):
    x = hw.tensor(np.random.default_rng(0).standard_normal((6, classes)).astype("float32") * 9)
    target = hw.where(TARGET < 0, hw.tensor(2), TARGET) if "ignore_index" in options else TARGET
    want, got, sbp = both(lambda x, t: F.cross_entropy(x, t, **options), x, MESHES[ranks], S(1), target)
    close(got[0], want[0])
    close(got[1], want[1])
    assert sbp == [S(1)]


def test_cross_entropy_split_by_rows_and_classes():
    x = hw.tensor(np.random.default_rng(0).standard_normal((6, 7, 3)).astype("float32"))
    target = hw.tensor(np.random.default_rng(1).integers(0, 7, (6, 3)))
    want, got, sbp = both(F.cross_entropy, x, GRID, [S(0), S(1)], target, [S(0), B])
    close(got[0], want[0])
    close(got[1], want[1])
    assert sbp == [S(0), S(1)]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("margins", [(1.0, 0.5, 0.0), (1.0, 0.0, 0.35), (1.2, 0.3, 0.2)])
def test_margins_of_scores_split_by_classes(ranks, margins):
    x = hw.tensor(np.random.default_rng(0).uniform(-0.99, 0.99, (6, 7)).astype("float32"))
    loss = nn.MarginCrossEntropyLoss(*margins, scale=32.0)
    want, got, sbp = both(loss, x, MESHES[ranks], S(1))
    np.testing.assert_allclose(got[0].numpy(), want[0].numpy(), rtol=1e-6)
    close(got[1], want[1], 2e-5)
    assert sbp == [S(1)]


def test_a_target_outside_of_all_classes_is_refused():
    x = hw.zeros(2, 7).to_global(MESHES[2], S(1))
    for wrong in (7, -1):
        with pytest.raises(IndexError, match=f"target {wrong} is out of range for 7 classes"):
            F.cross_entropy(x, hw.tensor([0, wrong]).to_global(MESHES[2], B))


def test_scores_are_not_gathered():
    """What moves is of the size of the rows: the memory of a step stays below that of the scores of another rank."""
    x = hw.zeros(8, 1 << 18).to_global(MESHES[2], S(1)).requires_grad_()
    t = hw.zeros(8, dtype=hw.int64).to_global(MESHES[2], B)
    before = hw.memory.stats()["allocated"]
    hw.memory.reset_peak()
    loss = F.cross_entropy(x, t)
    assert hw.memory.stats()["peak_allocated"] - before < 1 << 16
    loss.backward()
    assert hw.memory.stats()["peak_allocated"] - before < (8 << 18) * 4 * 1.1  # the gradient alone


@pytest.mark.parametrize("classes", [40, 43])
@pytest.mark.parametrize(("optimizer", "rate"), [("sgd", 0.3), ("adagrad", 0.3), ("adam", 0.3), ("sgd", 1.0)])
def test_partial_fc_does_not_depend_on_the_mesh(classes, optimizer, rate):
    want = train_head(None, classes, rate, optimizer, clip=3.0)
    for mesh, sbp in ((MESHES[1], B), (MESHES[2], S(0)), (MESHES[4], B), (GRID, [S(0), B])):
        got = train_head(mesh, classes, rate, optimizer, sbp, clip=3.0)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=5e-7)


def test_partial_fc_with_all_classes_is_the_margin_loss():
    fc = head(None, 9, 1.0)
    x, t = hw.randn(5, 8, requires_grad=True), hw.tensor([0, 8, 3, 3, 1])
    fc(x, t).backward()
    found = x.grad, fc.weight.grad
    x.grad = fc.weight.grad = None
    nn.MarginCrossEntropyLoss(scale=8.0)(fc.cosines(x), t).backward()
    close(found[0], x.grad, 1e-5)
    close(found[1], fc.weight.grad, 1e-5)


@pytest.mark.parametrize("mesh", [None, MESHES[3]], ids=["one", "three ranks"])
def test_partial_fc_steps_targets_and_sampled_classes_only(mesh):
    classes, target = 1000, hw.tensor([999, 0, 500, 500])
    fc = head(mesh, classes, 0.1)
    before = fc.weight.detach().full().clone()
    x = hw.randn(4, 8) if mesh is None else hw.randn(4, 8).to_global(mesh, B)
    optimizer = hw.optim.SGD(fc.parameters(), lr=1.0)
    fc(x, target).backward()
    assert fc.weight.grad is None
    dense = fc.weight.sparse_grad.to_dense().full()
    touched = set(hw.nonzero((fc.weight.sparse_grad.to_dense().full() != 0).any(1)).reshape(-1).tolist())
    assert {0, 500, 999} < touched and 60 < len(touched) < 150
    optimizer.step()
    changed = set(hw.nonzero((fc.weight.detach().full() != before).any(1)).reshape(-1).tolist())
    assert changed == touched
    close(fc.weight.detach().full(), before - dense)
    optimizer.zero_grad()
    assert fc.weight.sparse_grad is None


def test_a_rank_without_a_sampled_class():
    """Of three classes on four ranks one rank has none; at a small rate others have only some of the targets, or nothing."""
    hw.manual_seed(0)
    for classes in (3, 5):
        want, got = (train_head(mesh, classes, 1e-6, "sgd", steps=2) for mesh in (None, MESHES[4]))
        np.testing.assert_allclose(got[1], want[1], rtol=1e-5, atol=1e-6)


def test_evaluation_takes_all_classes():
    fc, x, t = head(None, 50, 0.05), hw.randn(4, 8), hw.tensor([1, 2, 3, 4])
    assert fc(x, t).item() != fc.eval()(x, t).item()
    close(fc(x, t).detach(), nn.MarginCrossEntropyLoss(scale=8.0)(fc.cosines(x), t).detach())


def test_refusals():
    with pytest.raises(ValueError, match="sample_rate must be in"):
        nn.PartialFC(8, 10, 0.0)
    fc = head(None, 20, 0.5)
    with pytest.raises(ValueError, match=r"input, weight and target must be \(N, D\), \(C, D\) and \(N,\)"):
        fc(hw.ones(2, 7), hw.tensor([0, 1]))
    fc(hw.ones(2, 8), hw.tensor([0, 1])).backward()
    with pytest.raises(NotImplementedError, match="Adam would have to step all rows of a table .* SGD, Adagrad and SparseAdam"):
        hw.optim.Adam(fc.parameters()).step()
    loss = fc(hw.ones(2, 8, requires_grad=True), hw.tensor([0, 1]))
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="for one backward pass only"):
        loss.backward()
