"""Random numbers: distributions, repeatability, independence of threads and strides."""

import numpy as np
import pytest
import torch

import headwater as hw
from harness import FLOATS, Sample, op_test, randn, uniform

DRAWN = {"random": True, "dtypes": ("float32",), "sbp": False}


def drawn(name, oracle, samples, **options):
    op_test(name, torch=oracle, samples=samples, **{**DRAWN, **options})


drawn(
    "rand",
    torch.rand,
    lambda: [Sample((2, 3)), Sample(5), Sample(0)],
    errors=[(lambda hw: hw.rand(2, dtype=hw.int64), RuntimeError, "floating")],
)
drawn("randn", torch.randn, lambda: [Sample((2, 3)), Sample(5)])
drawn("rand_like", torch.rand_like, lambda: [Sample(randn(2, 3))], dtypes=FLOATS)
drawn("randn_like", torch.randn_like, lambda: [Sample(randn(2, 3))], dtypes=FLOATS)
drawn(
    "randint",
    torch.randint,
    lambda: [Sample(5, (2, 3)), Sample(2, 5, (4,))],
    errors=[
        (lambda hw: hw.randint(5, 5, (2,)), RuntimeError, "low"),
        (lambda hw: hw.randint(0, 300, (2,), dtype=hw.uint8), RuntimeError, "do not fit u8"),
        (lambda hw: hw.randint(-1, 3, (2,), dtype=hw.uint8), RuntimeError, "do not fit u8"),
        (lambda hw: hw.randint(0, 3, (2,), dtype=hw.bool), RuntimeError, "do not fit bool"),
    ],
)
drawn("randint_like", torch.randint_like, lambda: [Sample(randn(2, 3), 5)])
drawn(
    "randperm",
    torch.randperm,
    lambda: [Sample(7), Sample(0)],
    errors=[(lambda hw: hw.randperm(-1), RuntimeError, "negative")],
)
drawn(
    "normal",
    lambda m, s: torch.normal(m, s),
    lambda: [Sample(randn(2, 3), uniform(0.1, 1, 2, 3)), Sample(randn(3), 1.0)],
    errors=[(lambda hw: hw.normal(0.0, -1.0, (2,)), RuntimeError, "std must not be negative")],
)
drawn(
    "bernoulli",
    torch.bernoulli,
    lambda: [Sample(uniform(0, 1, 2, 3))],
    dtypes=FLOATS,
    errors=[(lambda hw: hw.bernoulli(hw.tensor([2.0])), RuntimeError, "probability")],
)
drawn(
    "multinomial",
    torch.multinomial,
    lambda: [Sample(uniform(0.1, 1, 5), 3), Sample(uniform(0.1, 1, 2, 5), 7, True)],
    errors=[
        (lambda hw: hw.multinomial(hw.ones(3), 4), RuntimeError, "exceeds"),
        (lambda hw: hw.multinomial(hw.tensor([-1.0, 1]), 1), RuntimeError, "negative"),
        (lambda hw: hw.multinomial(hw.tensor([0.0, 0]), 1), RuntimeError, "zero"),
    ],
)
drawn(
    "dropout",
    torch.nn.functional.dropout,
    lambda: [Sample(randn(2, 3)), Sample(randn(4), 0.2), Sample(randn(4), 1.0), Sample(randn(3), 0.5, False)],
    dtypes=FLOATS,
    errors=[(lambda hw: hw.dropout(hw.ones(2), 1.5), ValueError, "p must be")],
)
drawn("alpha_dropout", torch.nn.functional.alpha_dropout, lambda: [Sample(randn(4), 0.2, True)])
drawn("feature_dropout", lambda x, p: torch.feature_dropout(x, p, True), lambda: [Sample(randn(2, 3, 4), 0.2)])
for _name, _args in (
    ("uniform_", (2.0, 3.0)),
    ("normal_", (1.0, 2.0)),
    ("log_normal_", (0.0, 0.5)),
    ("exponential_", (2.0,)),
    ("cauchy_", (0.0, 1.0)),
    ("geometric_", (0.3,)),
    ("random_", (3, 9)),
    ("bernoulli_", (0.3,)),
):
    drawn(
        _name,
        lambda x, *a, _f=getattr(torch.Tensor, _name): _f(x.clone(), *a),
        lambda _a=_args: [Sample(randn(2, 3), *_a), Sample(randn(0), *_a)],
        function=lambda x, *a, _f=getattr(hw.Tensor, _name): _f(x.clone(), *a),
        dtypes=FLOATS,
    )


def sample(make, n=200_000):
    hw.manual_seed(1234)
    return make(n).to(hw.float64).numpy()


def kolmogorov(x, cdf) -> float:
    """The largest distance between the empirical distribution and the true one, times sqrt(n): above 1.95 has probability 0.001."""
    x = np.sort(x)
    f, n = cdf(x), len(x)
    return float(np.sqrt(n) * max(np.max(np.arange(1, n + 1) / n - f), np.max(f - np.arange(n) / n)))


def phi(x):
    return torch.special.ndtr(torch.tensor(x)).numpy()


DISTRIBUTIONS = {
    "rand": (lambda n: hw.rand(n), lambda x: x),
    "rand64": (lambda n: hw.rand(n, dtype=hw.float64), lambda x: x),
    "uniform_": (lambda n: hw.empty(n).uniform_(2, 4), lambda x: (x - 2) / 2),
    "randn": (lambda n: hw.randn(n), phi),
    "randn64": (lambda n: hw.randn(n, dtype=hw.float64), phi),
    "normal_": (lambda n: hw.empty(n).normal_(3, 2), lambda x: phi((x - 3) / 2)),
    "exponential_": (lambda n: hw.empty(n).exponential_(2), lambda x: 1 - np.exp(-2 * x)),
    "cauchy_": (lambda n: hw.empty(n, dtype=hw.float64).cauchy_(1, 2), lambda x: 0.5 + np.arctan((x - 1) / 2) / np.pi),
    "log_normal_": (
        lambda n: hw.empty(n, dtype=hw.float64).log_normal_(0.5, 0.3),
        lambda x: phi((np.log(x) - 0.5) / 0.3),
    ),
}


@pytest.mark.parametrize("name", list(DISTRIBUTIONS))
def test_distribution(name: str) -> None:
    make, cdf = DISTRIBUTIONS[name]
    assert kolmogorov(sample(make), cdf) < 1.95


def test_neighbours_are_independent() -> None:
    for make in (lambda n: hw.randn(n), lambda n: hw.randn(n, dtype=hw.float64), lambda n: hw.rand(n)):
        x = sample(make)
        for lag in (1, 2, 3, 4):
            assert abs(np.corrcoef(x[:-lag], x[lag:])[0, 1]) < 0.01


def test_discrete_distributions() -> None:
    counts = np.bincount(sample(lambda n: hw.randint(3, 10, (n,))).astype(int), minlength=10)
    assert counts[:3].sum() == 0
    expected = 200_000 / 7
    assert ((counts[3:] - expected) ** 2 / expected).sum() < 22.5  # chi squared, 6 degrees: probability 0.001
    assert abs(sample(lambda n: hw.empty(n).bernoulli_(0.3)).mean() - 0.3) < 0.005
    assert abs(sample(lambda n: hw.bernoulli(hw.full((n,), 0.7))).mean() - 0.7) < 0.005
    assert abs(sample(lambda n: hw.empty(n).geometric_(0.25)).mean() - 4) < 0.05
    assert abs(sample(lambda n: hw.dropout(hw.ones(n), 0.25)).mean() - 1) < 0.01
    picks = sample(lambda n: hw.multinomial(hw.tensor([1.0, 0, 2, 1]), n, True)).astype(int)
    np.testing.assert_allclose(np.bincount(picks, minlength=4) / len(picks), [0.25, 0, 0.5, 0.25], atol=0.005)
    hw.manual_seed(0)
    rows = hw.multinomial(hw.tensor([1.0, 0, 2, 1]).expand(50_000, 4).clone(), 2).numpy()
    assert (rows[:, 0] != rows[:, 1]).all() and (rows != 1).all()
    np.testing.assert_allclose(np.bincount(rows[:, 0], minlength=4) / len(rows), [0.25, 0, 0.5, 0.25], atol=0.01)
    order = hw.randperm(1000)
    assert sorted(order.tolist()) == list(range(1000))


DRAWS = [
    lambda t: t.uniform_(),
    lambda t: t.normal_(),
    lambda t: t.exponential_(),
    lambda t: t.random_(0, 100),
    lambda t: t.bernoulli_(0.4),
]


@pytest.mark.parametrize("case", range(len(DRAWS)))
def test_numbers_depend_on_neither_threads_nor_strides(case: int) -> None:
    def numbers(t):
        hw.manual_seed(3)
        return DRAWS[case](t).clone().numpy()

    want = numbers(hw.empty(300, 301))
    threads = hw.get_num_threads()
    try:
        for n in (1, 2, 5):
            hw.set_num_threads(n)
            np.testing.assert_array_equal(numbers(hw.empty(300, 301)), want)
    finally:
        hw.set_num_threads(threads)
    np.testing.assert_array_equal(numbers(hw.empty(301, 300).transpose(0, 1)), want)
    np.testing.assert_array_equal(numbers(hw.empty(300, 602)[:, ::2]), want)
    np.testing.assert_array_equal(numbers(hw.empty(300 * 301)).reshape(300, 301), want)


def test_dropout_gradient_uses_the_mask() -> None:
    hw.manual_seed(0)
    x = hw.ones(1000, dtype=hw.float64, requires_grad=True)
    y = hw.dropout(x, 0.25)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())
    y = hw.dropout(x, 0.25)
    (g,) = hw.autograd.grad((y * y).sum(), x, create_graph=True)
    (gg,) = hw.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(gg.numpy(), 2 * (y.detach().numpy() != 0) / 0.75**2)


def test_two_draws_differ_and_a_generator_is_its_own() -> None:
    assert hw.rand(5).tolist() != hw.rand(5).tolist()
    a, b = hw.Generator(), hw.Generator()
    a.manual_seed(5), b.manual_seed(5)
    assert hw.rand(5, generator=a).tolist() == hw.rand(5, generator=b).tolist()
    hw.manual_seed(1)
    want = hw.rand(3).tolist()
    hw.manual_seed(1)
    hw.rand(3, generator=a)
    assert hw.rand(3).tolist() == want
