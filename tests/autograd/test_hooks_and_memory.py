"""Hooks that return something else, gradients of what is no leaf, and memory that must come back."""

import gc

import pytest

import headwater as hw


@pytest.mark.parametrize("bad", [hw.ones(7), hw.ones(3, dtype=hw.float64), hw.ones(3, dtype=hw.int64), hw.ones(1, 3)])
def test_a_hook_returns_a_gradient_like_the_one_it_got(bad):
    x = hw.ones(3, requires_grad=True)
    for t in (x, x * 2):
        t.register_hook(lambda g: bad)
        with pytest.raises(RuntimeError, match="hook must return a gradient like"):
            t.sum().backward()


def test_backward_into_a_tensor_that_is_no_leaf():
    x = hw.ones(3, requires_grad=True)
    y = x * 2
    y.sum().backward(inputs=[y], retain_graph=True)
    assert y.grad.tolist() == [1, 1, 1] and x.grad is None
    (y * 3).sum().backward(inputs=[y, x])
    assert y.grad.tolist() == [4, 4, 4] and x.grad.tolist() == [6, 6, 6]


def test_retain_grad_follows_an_in_place_write():
    x = hw.ones(3, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(5)
    y.sum().backward()
    assert y.grad.tolist() == [1, 1, 1] and x.grad.tolist() == [10, 10, 10]


def test_complex_roots_need_a_gradient():
    x = hw.ones(1, requires_grad=True)
    y = x.to(hw.complex64) * 1j
    with pytest.raises(RuntimeError, match="real values only"):
        y.backward()
    y.backward(hw.tensor([1j]))
    assert x.grad.item() == 1


def test_data_of_a_tensor_with_gradients_stays_floating():
    x = hw.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot be i64"):
        x.data = hw.ones(3, dtype=hw.int64)


class Exp(hw.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[1]


def returning(value):
    class Returns(hw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return value

    return Returns


def test_function_that_saves_its_output():
    x = hw.tensor([0.5, 1.0], requires_grad=True)
    y = Exp.apply(x)
    (g,) = hw.autograd.grad(y.sum(), x, create_graph=True)
    (g2,) = hw.autograd.grad(g.sum(), x, create_graph=True)
    (g3,) = hw.autograd.grad(g2.sum(), x)
    for d in (g, g2, g3):
        assert hw.allclose(d, x.exp())
    y = Exp.apply(x)
    y.add_(1)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.sum().backward()


def test_function_whose_backward_returns_something_else():
    for bad in (hw.ones(9), hw.ones(2), hw.ones(3, dtype=hw.complex64)):
        with pytest.raises(RuntimeError, match="Returns: backward returned a"):
            returning(bad).apply(hw.ones(3, requires_grad=True)).sum().backward()
    x = hw.ones(3, requires_grad=True)
    returning(hw.ones(4, 3, dtype=hw.float64)).apply(x).sum().backward()
    assert x.grad.tolist() == [4, 4, 4] and x.grad.dtype is hw.float32
    with pytest.raises(TypeError):
        returning("a").apply(x).sum().backward()


def test_function_whose_forward_returns_no_tensor():
    for value in ("abc", None, 5):

        class Odd(hw.autograd.Function):
            @staticmethod
            def forward(ctx, x, value=value):
                return value

        assert Odd.apply(hw.ones(1, requires_grad=True)) is value


def test_function_must_not_change_a_leaf_in_place():
    class Inplace(hw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx, g):
            return g * 5

    x = hw.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        Inplace.apply(x)
    x = hw.ones(3, requires_grad=True)
    h = x * 1
    y = Inplace.apply(h)
    h.sum().backward()
    assert y is h and x.grad.tolist() == [5, 5, 5]


W = hw.ones(100, 100, requires_grad=True)


def own_hook():
    h = W * 2
    h.register_hook(lambda g: g * h.sum().detach())
    h.sum().backward()


def own_attribute():
    h = hw.ones(100, 100)
    h.me = h


def own_parameter():
    p = hw.nn.Parameter(hw.ones(100, 100))
    p.me = p
    p.register_hook(lambda g: p)


def forgotten_function():
    Exp.apply(W)


def function_kept_for_more():
    Exp.apply(W).sum().backward(retain_graph=True)


@pytest.mark.parametrize("work", [own_hook, own_attribute, own_parameter, forgotten_function, function_kept_for_more])
def test_memory_comes_back(work):
    work()
    gc.collect()
    before = hw.memory.stats()["allocated"]
    for _ in range(10):
        work()
    gc.collect()
    assert hw.memory.stats()["allocated"] - before < 80_000  # one result has 40,000 bytes


@pytest.mark.parametrize("sbp", [None, hw.broadcast, hw.split(0)], ids=str)
@pytest.mark.parametrize("replaces", [False, True])
def test_what_a_hook_keeps_is_not_the_leafs_gradient(sbp, replaces):
    """A leaf takes over a gradient that nobody else holds; a hook's may be held by its user."""
    x = hw.ones(4)
    x = (x if sbp is None else x.to_global(hw.mesh("cpu", 2), sbp)).requires_grad_()
    kept = []

    def hook(g):
        kept.append(g * 2 if replaces else g)
        return kept[-1] if replaces else None

    x.register_hook(hook)
    (x * 3).sum().backward()
    x.grad.zero_()
    assert kept[0].tolist() == [6.0 if replaces else 3.0] * 4
