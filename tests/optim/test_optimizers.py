"""Each optimiser and option against torch, for 200 steps on the same gradients."""

import itertools

import numpy as np
import pytest
import torch

import headwater as hw

SHAPES = [(7, 5), (5,), (), (3, 2, 4), (0, 3), (1100,)]


def pair(dtype=np.float32, seed=0):
    """The same parameters on both sides."""
    rng = np.random.default_rng(seed)
    values = [np.asarray(rng.standard_normal(shape), dtype=dtype) for shape in SHAPES]
    ours = [hw.tensor(v).requires_grad_() for v in values]
    theirs = [torch.tensor(v, requires_grad=True) for v in values]
    return ours, theirs


def run(make_ours, make_theirs, steps=200, dtype=np.float32, skip=None):
    ours, theirs = pair(dtype)
    a, b = make_ours(ours), make_theirs(theirs)
    rng = np.random.default_rng(1)
    for step in range(steps):
        for index, (p, q) in enumerate(zip(ours, theirs)):
            grad = np.asarray(rng.standard_normal(p.shape), dtype=dtype)
            if skip and skip(step, index):
                p.grad = q.grad = None
                continue
            p.grad, q.grad = hw.tensor(grad), torch.tensor(grad)
        a.step()
        b.step()
    return ours, theirs, a, b


def assert_same(ours, theirs, rtol=2e-5, atol=2e-6):
    for p, q in zip(ours, theirs):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=rtol, atol=atol)


CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.01, "momentum": 0.9}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("Adam", {}),
    ("Adam", {"lr": 0.01, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "maximize": True}),
    ("Adam", {"lr": 0.01, "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.2, "amsgrad": True}),
    ("RMSprop", {}),
    ("RMSprop", {"alpha": 0.9, "eps": 1e-5, "weight_decay": 0.1, "momentum": 0.5}),
    ("RMSprop", {"lr": 0.001, "centered": True, "eps": 1e-3}),
    ("RMSprop", {"lr": 0.001, "centered": True, "eps": 1e-3, "momentum": 0.9, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.01, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-6}),
]


@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda v: v if isinstance(v, str) else "-".join(v))
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_same_as_torch(name, options, dtype):
    ours, theirs, a, b = run(
        lambda p: getattr(hw.optim, name)(p, **options),
        lambda p: getattr(torch.optim, name)(p, **options, foreach=False),
        dtype=dtype,
    )
    assert_same(ours, theirs, *((2e-4, 2e-5) if dtype == np.float32 else (1e-10, 1e-11)))
    for p, q in zip(ours, theirs):
        for key, value in b.state[q].items():
            if key != "step":
                np.testing.assert_allclose(
                    a.state[p][key].numpy(), value.numpy(), rtol=1e-3, atol=1e-5, err_msg=f"{name} {key}"
                )


def lamb_in_numpy(param, grads, lr, betas, eps, weight_decay):
    p, m, v = param.astype(np.float64), 0.0, 0.0
    for t, g in enumerate(grads, 1):
        g = g.astype(np.float64)
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        u = m / (1 - betas[0] ** t) / (np.sqrt(v / (1 - betas[1] ** t)) + eps) + weight_decay * p
        sizes = np.linalg.norm(p), np.linalg.norm(u)
        p = p - lr * (sizes[0] / sizes[1] if min(sizes) > 0 else 1.0) * u
    return p


@pytest.mark.parametrize("shape", [(5, 3), (1,), (0,), (100_000,)])
def test_lamb_against_the_paper(shape):
    rng = np.random.default_rng(2)
    value = rng.standard_normal(shape).astype(np.float32)
    grads = [rng.standard_normal(shape).astype(np.float32) for _ in range(200 if value.size < 100 else 10)]
    p = hw.tensor(value).requires_grad_()
    optimizer = hw.optim.LAMB([p], lr=0.01, betas=(0.9, 0.99), weight_decay=0.1)
    for g in grads:
        p.grad = hw.tensor(g)
        optimizer.step()
    want = lamb_in_numpy(value, grads, 0.01, (0.9, 0.99), 1e-6, 0.1)
    np.testing.assert_allclose(p.detach().numpy(), want, rtol=2e-4, atol=1e-5)


def test_lamb_ratio_of_a_zero_parameter_is_one():
    p = hw.zeros(3).requires_grad_()
    p.grad = hw.ones(3)
    hw.optim.LAMB([p], lr=0.1).step()
    np.testing.assert_allclose(p.detach().numpy(), [-0.1] * 3, rtol=1e-4)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad"])
def test_gradients_that_come_and_go(name):
    options = {"momentum": 0.9} if name == "SGD" else {}
    ours, theirs, *_ = run(
        lambda p: getattr(hw.optim, name)(p, lr=0.01, **options),
        lambda p: getattr(torch.optim, name)(p, lr=0.01, **options, foreach=False),
        steps=40,
        skip=lambda step, index: (step + index) % 3 == 0,
    )
    assert_same(ours, theirs, 2e-4, 2e-5)


STEPS = [
    ("SGD", {"momentum": 0.9}), ("Adam", {"amsgrad": True, "eps": 1e-2}), ("Adagrad", {}), ("LAMB", {"eps": 1e-2}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "eps": 1e-2}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), STEPS, ids=lambda v: v if isinstance(v, str) else "")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_parameters(name, options, dtype):
    rng = np.random.default_rng(0)
    value = rng.standard_normal(3000).astype(np.float32)
    wide, narrow = (hw.tensor(value).to(d).requires_grad_() for d in (hw.float32, getattr(hw, dtype)))
    optimizers = [getattr(hw.optim, name)([p], lr=0.01, **options) for p in (wide, narrow)]
    for _ in range(5):
        grad = rng.standard_normal(3000).astype(np.float32)
        for p, optimizer in zip((wide, narrow), optimizers):
            p.grad = hw.tensor(grad).to(p.dtype)
            optimizer.step()
    assert narrow.dtype == getattr(hw, dtype)
    np.testing.assert_allclose(narrow.detach().float().numpy(), wide.detach().numpy(), rtol=0.05, atol=0.05)


@pytest.mark.parametrize(("name", "options"), STEPS, ids=lambda v: v if isinstance(v, str) else "")
@pytest.mark.parametrize("isa", ["scalar", "avx2", "avx512"])
def test_instruction_sets_and_layouts_agree(name, options, isa):
    """Transposed parameters, transposed and expanded gradients, and sliced parameters (the reference kernel)."""
    found = hw._C.isa_found()
    if isa not in {"scalar": ["scalar"], "avx2": ["scalar", "avx2"]}.get(found, ["scalar", "avx2", "avx512"]):
        pytest.skip(f"this machine has {found}")
    rng = np.random.default_rng(0)
    value, grads = rng.standard_normal((24, 17)), [rng.standard_normal((24, 17)) for _ in range(4)]
    results = []
    before = hw._C.isa()
    hw._C.set_isa(isa)
    try:
        for layout in ("plain", "transposed", "sliced"):
            base = hw.tensor(value)
            if layout == "transposed":
                base = hw.tensor(np.ascontiguousarray(value.T)).t()
            if layout == "sliced":
                base = hw.zeros(24, 34, dtype=hw.float64)[:, ::2].copy_(base)
            p = base.detach().requires_grad_()
            optimizer = getattr(hw.optim, name)([p], lr=0.01, **options)
            for number, grad in enumerate(grads):
                g = hw.tensor(np.ascontiguousarray(grad.T)).t() if number % 2 else hw.tensor(grad)
                p.grad = g
                optimizer.step()
            results.append(p.detach().numpy())
    finally:
        hw._C.set_isa(before)
    for a, b in itertools.pairwise(results):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_large_parameters_use_the_team_and_give_the_same_bits():
    rng = np.random.default_rng(0)
    value, grad = rng.standard_normal(300_001).astype(np.float32), rng.standard_normal(300_001).astype(np.float32)
    threads = hw.get_num_threads()
    results = []
    try:
        for n in (1, 2):
            hw.set_num_threads(n)
            p = hw.tensor(value).requires_grad_()
            p.grad = hw.tensor(grad)
            hw.optim.AdamW([p]).step()
            results.append(p.detach().numpy())
    finally:
        hw.set_num_threads(threads)
    assert (results[0] == results[1]).all()


def test_the_step_is_in_place_and_off_the_tape():
    p = hw.ones(4).requires_grad_()
    address = p.data_ptr()
    optimizer = hw.optim.Adam([p])
    loss = (p * p).sum()
    loss.backward()
    optimizer.step()
    assert p.data_ptr() == address
    assert p.is_leaf
    assert p.requires_grad
    stale = (p * p).sum()
    optimizer.step()
    with pytest.raises(RuntimeError, match=r"in.place|version|modified"):
        stale.backward()


@pytest.mark.parametrize("op, states", [("sgd_step", 1), ("adam_step", 3), ("lamb_step", 2)])
def test_slices_of_whole_tensors_take_the_fast_kernel(op, states):
    """A rank that keeps its part of the state steps on views of a parameter and a gradient that it has whole."""
    hw.manual_seed(0)
    p, g = hw.randn(7, 90)[:, 20:63], hw.randn(7, 60)[:, :43]
    given = lambda dense: [t.contiguous() if dense else t for t in (p, g)] + [hw.full((7, 43), 0.5) for _ in range(states)]  # noqa: E731
    assert hw._C.chosen_kernel(op, given(False)) == "simd"
    for a, b in zip(hw._C.run_op(op, given(False)), hw._C.run_op(op, given(True)), strict=True):
        assert hw.equal(a, b)


@pytest.mark.parametrize("place", [lambda t: t, lambda t: t.to_global(hw.mesh("cpu", 2), hw.split(0))], ids=["ordinary", "global"])
@pytest.mark.parametrize("inputs", [4, 5])
def test_a_step_run_by_name_has_no_value_for_a_state_that_is_not_given(inputs, place):
    p, g, m, v, largest = (place(hw.full((4, 3), value)) for value in (1.0, 2.0, 0.5, 0.25, 9.0))
    with hw.inference_mode():
        outputs = hw._C.run_op("adam_step", [p, g, m, v, largest][:inputs], {"lr": 0.1, "step": 2})
    assert [y is not None for y in outputs] == [True, True, True, inputs == 5]
    assert outputs[0].shape == (4, 3)
    m, v = 0.9 * 0.5 + 0.1 * 2, 0.999 * 0.25 + 0.001 * 4
    root = (9.0 if inputs == 5 else v) / (1 - 0.999**2)
    assert abs(outputs[0][0, 0].item() - (1 - 0.1 * m / (1 - 0.9**2) / root**0.5)) < 1e-5


def test_an_op_run_by_name_refuses_more_inputs_than_it_has():
    with pytest.raises(ValueError, match="adam_step has 5 inputs, got 6"):
        hw._C.run_op("adam_step", [hw.ones(2)] * 6)
