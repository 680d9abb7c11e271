"""Boxing: every pair of placements, on equal, overlapping and disjoint meshes, with uneven and empty parts, in every dtype."""

import itertools
import json

import numpy as np
import pytest
from ranks import launch, needs_mpi, script

import headwater as hw

S, B, SUM, MAX, MIN = hw.split, hw.broadcast, hw.partial_sum, hw.partial_max, hw.partial_min
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
ORDERED = [d for d in DTYPES if not d.startswith("complex")]
LINES = [hw.mesh("cpu", 1), hw.mesh("cpu", 2), hw.mesh("cpu", 3), hw.mesh("cpu", 2, ranks=[1, 2]), hw.mesh("cpu", 3, ranks=[7, 6, 5])]
GRIDS = [hw.mesh("cpu", (2, 2)), hw.mesh("cpu", (2, 2), ranks=[3, 2, 1, 0]), hw.mesh("cpu", (1, 3), ranks=[3, 4, 5])]
SHAPES = [(4, 6), (5, 3), (1, 2), (0, 3)]  # even, uneven, empty parts, empty


def values(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return hw.tensor(rng.random(shape) < 0.5)
    return hw.tensor(rng.integers(0, 40, shape)).to(getattr(hw, dtype))


def same(a, b):
    return a.dtype is b.dtype and a.shape == b.shape and bool((a == b).all())


def spread(t, mesh, sbp, seed=1):
    """t as a global tensor whose partial parts all hold something, unlike those of distribute."""
    g = t.to_global(mesh, sbp)
    if t.dtype is hw.bool or not any(s.is_partial for s in sbp):
        return g
    rng = np.random.default_rng(seed)
    for axis, s in enumerate(sbp):
        if not s.is_partial or mesh.shape[axis] < 2:
            continue
        for rank in mesh.ranks:  # what is added to one rank of a sum is taken from the next; in a maximum, it is lower anyway
            at = np.unravel_index(mesh.ranks.index(rank), mesh.shape)
            if at[axis] != 0 or any(at[a] for a in range(len(sbp)) if a != axis and sbp[a].is_partial):
                continue
            there = list(at)
            there[axis] = 1
            other = mesh.ranks[int(np.ravel_multi_index(there, mesh.shape))]
            mine, its = g.to_local(rank), g.to_local(other)
            noise = hw.tensor(rng.integers(0, 5, mine.shape)).to(t.dtype)
            peers = [r for i, r in enumerate(mesh.ranks) if all(
                x == y or sbp[a] == B for a, (x, y) in enumerate(zip(np.unravel_index(i, mesh.shape), at, strict=True)))]
            if s == SUM and len(peers) == 1:
                mine.copy_(mine - noise), its.copy_(its + noise)
    return g


def check_pair(shape, dtype, a, b):
    t = values(shape, dtype)
    g = spread(t, *a)
    assert same(g.full(), t), (shape, dtype, a)
    moved = g.to_global(*b)
    assert moved.mesh == b[0] and moved.sbp == list(b[1])
    assert same(moved.full(), t), (shape, dtype, a, b)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_pair_on_lines(shape):
    kinds = [S(0), S(1), B, SUM, MAX, MIN]
    for m, n, a, b in itertools.product(LINES, LINES, kinds, kinds):
        check_pair(shape, "int32", (m, [a]), (n, [b]))


@pytest.mark.parametrize("shape", SHAPES[:3])
def test_every_pair_on_a_grid(shape):
    kinds = list(itertools.product([S(0), S(1), B, SUM, MAX], repeat=2))
    for a, b in itertools.product(kinds, kinds):
        check_pair(shape, "float32", (GRIDS[0], a), (GRIDS[0], b))


def test_pairs_between_grids():
    kinds = list(itertools.product([S(0), S(1), B, SUM, MIN], repeat=2))
    rng = np.random.default_rng(0)
    for m, n in itertools.permutations(GRIDS, 2):
        for _ in range(60):
            a, b = kinds[rng.integers(len(kinds))], kinds[rng.integers(len(kinds))]
            check_pair(SHAPES[rng.integers(3)], "float32", (m, a), (n, b))


def test_between_lines_and_grids():
    rng = np.random.default_rng(1)
    lines, grids = [[k] for k in (S(0), S(1), B, SUM, MAX)], list(itertools.product([S(0), S(1), B, SUM], repeat=2))
    for _ in range(150):
        a = LINES[rng.integers(len(LINES))], lines[rng.integers(len(lines))]
        b = GRIDS[rng.integers(len(GRIDS))], grids[rng.integers(len(grids))]
        check_pair((5, 3), "float32", a, b)
        check_pair((5, 3), "float32", b, a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    kinds = [S(0), B, SUM] + ([MAX, MIN] if dtype in ORDERED else [])
    for a, b in itertools.product(kinds, kinds):
        check_pair((5, 2), dtype, (LINES[2], [a]), (LINES[1], [b]))
        check_pair((5, 2), dtype, (LINES[2], [a]), (LINES[2], [b]))


def test_no_maximum_of_complex_numbers():
    m = hw.mesh("cpu", 2)
    g = hw.from_local([hw.zeros(2, dtype=hw.complex64)] * 2, m, MAX)
    with pytest.raises(TypeError, match=r"P\(max\) is not defined for c64"):
        g.full()


def test_infinities_and_nan_travel():
    m = hw.mesh("cpu", 3)
    t = hw.tensor([float("inf"), float("nan"), -float("inf"), -1e30])
    for kind in (S(0), B, MAX, MIN):
        np.testing.assert_array_equal(t.to_global(m, kind).full().numpy(), t.numpy())


def test_a_number_has_no_axis_to_split():
    m = hw.mesh("cpu", 2)
    t = hw.tensor(3.0)
    for kind in (B, SUM, MAX):
        assert t.to_global(m, kind).item() == 3
    with pytest.raises(ValueError, match=r"split\(0\) needs an axis that a tensor with 0 axes has"):
        t.to_global(m, S(0))


def test_parts_lie_where_they_should():
    m = hw.mesh("cpu", (2, 2))
    g = hw.arange(5).to_global(m, [S(0), S(0)])
    assert [g.to_local(r).tolist() for r in range(4)] == [[0, 1], [2], [3], [4]]
    p = hw.arange(3).to_global(m, [SUM, B])
    assert [p.to_local(r).tolist() for r in range(4)] == [[0, 1, 2], [0, 1, 2], [0, 0, 0], [0, 0, 0]]


def test_from_local_and_back():
    m = hw.mesh("cpu", 3)
    parts = [hw.full((n, 2), float(n)) for n in (2, 2, 1)]
    g = hw.from_local(parts, m, S(0))
    assert g.shape == (5, 2) and g.full().tolist() == hw.cat(parts).tolist()
    g.to_local(2).fill_(9)
    assert g.full()[4].tolist() == [9, 9] and parts[2].tolist() == [[9, 9]]
    with pytest.raises(ValueError, match=r"rank 0 of .*S\(0\).* holds \[2, 2\] of a tensor of shape \[5, 2\], but its part is f32\[1, 2\]"):
        hw.from_local(parts[::-1], m, S(0))
    with pytest.raises(ValueError, match=r"hosts 3 ranks .* but 2 parts are given"):
        hw.from_local(parts[:2], m, S(0))


def test_gradients_flow_through_boxing():
    line, grid = hw.mesh("cpu", 3), hw.mesh("cpu", (2, 2), ranks=[2, 3, 4, 5])
    for a, b in itertools.product([S(0), S(1), B, SUM], [S(0), S(1), B, SUM]):
        x = hw.randn(4, 3, requires_grad=True)
        y = (x.to_global(line, a) * 3).to_global(grid, [b, S(1)])
        (y * y).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 18 * x.detach().numpy(), rtol=1e-6)
        g = x.detach().to_global(line, a).requires_grad_()
        (g.to_global(grid, [b, B]).full() ** 2).sum().backward()
        assert g.grad.mesh == line and not any(s.is_partial for s in g.grad.sbp)
        np.testing.assert_allclose(g.grad.full().numpy(), 2 * x.detach().numpy(), rtol=1e-6)


def test_second_order_through_boxing():
    m = hw.mesh("cpu", 2)
    x = hw.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (first,) = hw.autograd.grad((x.to_global(m, S(0)) ** 3).sum(), x, create_graph=True)
    (second,) = hw.autograd.grad(first.sum(), x)
    assert second.tolist() == [6, 12, 18]


@needs_mpi
@pytest.mark.parametrize("ranks", [3, 4])
def test_processes_give_the_bits_of_one(ranks):
    """One rank a process: changes of SBP are collectives, also sums whose bits depend on the order of the ranks."""
    out = launch(ranks, "boxing.py")
    assert out.returncode == 0, out.stdout[-2000:] + out.stderr[-3000:]
    here = script("boxing").hashes(ranks, list(range(ranks)))
    answers = [json.loads(line[line.index("] [") + 2 :]) for line in out.stdout.splitlines() if "] [" in line]
    assert sorted(a[0] for a in answers) == list(range(ranks))
    for rank, hashes, used in answers:
        assert hashes == here[rank]
        assert used == ["all_reduce", "reduce_scatter", "all_gather", "all_to_all"]
