"""Reverse mode: accumulation, graphs kept and freed, branches, hooks, order."""
import gc
import sys
import time

import pytest

import headwater as hw


def leaf(*values):
    return hw.tensor([float(v) for v in values], requires_grad=True)


def test_gradient_of_product():
    x, y = leaf(2, 3), leaf(5, 7)
    (x * y).sum().backward()
    assert x.grad.tolist() == [5, 7] and y.grad.tolist() == [2, 3]


def test_gradients_accumulate_and_none_resets():
    x = leaf(1, 2)
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5, 5]
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_accumulated_gradient_is_not_shared_with_what_flowed_in():
    x = leaf(1, 2)
    g = hw.ones(2)
    (x + 0).backward(g)
    g.fill_(9)
    assert x.grad.tolist() == [1, 1]


def test_same_tensor_twice():
    x = leaf(3)
    (x * x * x).backward(hw.ones(1))
    assert x.grad.tolist() == [27]


def test_backward_needs_one_element_or_a_gradient():
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="single element"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="shape"):
        (x * 2).backward(hw.ones(3))


def test_backward_without_history():
    with pytest.raises(RuntimeError, match="does not require gradients"):
        hw.ones(1).backward()


def test_second_backward_needs_retain_graph():
    x = leaf(2)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12]


def test_any_order():
    x = leaf(2)
    y = (x ** 4).sum()
    orders = []
    for _ in range(4):
        (y,) = hw.autograd.grad(y.sum(), x, create_graph=True)
        orders.append(y.item())
    assert orders == pytest.approx([32, 48, 48, 24])


def test_unused_input():
    x, y = leaf(1), leaf(2)
    with pytest.raises(RuntimeError, match="allow_unused"):
        hw.autograd.grad((x * 2).sum(), [x, y])
    gx, gy = hw.autograd.grad((x * 2).sum(), [x, y], allow_unused=True)
    assert gx.tolist() == [2] and gy is None
    _, gy = hw.autograd.grad((x * 2).sum(), [x, y], materialize_grads=True)
    assert gy.tolist() == [0]


def test_grad_leaves_grad_alone_and_reaches_inner_tensors():
    x = leaf(3)
    h = x * 2
    (gh,) = hw.autograd.grad((h * h).sum(), h)
    assert gh.tolist() == [12] and x.grad is None


def test_backward_inputs_restricts():
    x, y = leaf(1), leaf(2)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [2] and y.grad is None


def test_integer_branch_has_no_history():
    x = leaf(1, 5, 2)
    assert not x.argmax().requires_grad
    values, indices = x.max(0)
    assert values.requires_grad and not indices.requires_grad
    values.backward()
    assert x.grad.tolist() == [0, 1, 0]


def test_branch_that_does_not_need_gradients():
    x, c = leaf(2), hw.tensor([3.0])
    y = x * c
    y.backward(hw.ones(1))
    assert c.grad is None and x.grad.tolist() == [3]


def test_broadcasting_sums_back():
    x, b = hw.ones(4, 3, requires_grad=True), hw.ones(3, requires_grad=True)
    s = hw.ones(1, 1, requires_grad=True)
    (x * b + s).sum().backward()
    assert b.grad.tolist() == [4, 4, 4] and s.grad.tolist() == [[12]] and x.grad.shape == (4, 3)


def test_hook_changes_gradient_and_is_removed():
    x = leaf(1)
    h = x * 2
    seen = []
    handle = h.register_hook(lambda g: seen.append(g.item()) or g * 10)
    (h * 3).sum().backward()
    assert seen == [3] and x.grad.tolist() == [60]
    handle.remove()
    x.grad = None
    h2 = x * 2
    h2.sum().backward()
    assert x.grad.tolist() == [2]


def test_leaf_hook_and_post_accumulate_hook():
    x = leaf(1)
    order = []
    x.register_hook(lambda g: order.append(("hook", g.item())) or None)
    x.register_post_accumulate_grad_hook(lambda t: order.append(("post", t.grad.item())))
    (x * 4).sum().backward()
    assert order == [("hook", 4), ("post", 4)]


def test_hook_error_surfaces():
    x = leaf(1)
    h = x * 2
    h.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        h.sum().backward()
    h = x * 2
    h.register_hook(lambda g: "text")
    with pytest.raises(TypeError, match="hook"):
        h.sum().backward()


def test_retain_grad():
    x = leaf(1, 2)
    h = x * 2
    h.retain_grad()
    assert h.retains_grad
    (h * h).sum().backward()
    assert h.grad.tolist() == [4, 8]


def test_detach_shares_memory_and_version():
    x = leaf(1, 2)
    d = x.detach()
    assert not d.requires_grad and d.data_ptr() == x.data_ptr()
    y = x * x
    d.zero_()
    with pytest.raises(RuntimeError, match="changed in place"):
        y.sum().backward()


def test_chain_of_100000_nodes_is_quick_and_flat():
    limit = sys.getrecursionlimit()
    x = leaf(1)
    y = x
    for _ in range(100_000):
        y = y + 1
    start = time.perf_counter()
    y.backward(hw.ones(1))
    assert x.grad.tolist() == [1]
    del y
    gc.collect()
    assert time.perf_counter() - start < 30  # no bound on speed: it must not blow up
    assert sys.getrecursionlimit() == limit


def test_dropping_a_long_chain_unused():
    x = leaf(1)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    del y
    gc.collect()


def test_graph_is_freed_after_backward():
    before = hw.memory.stats()["allocated"]
    x = hw.ones(1000, 1000, requires_grad=True)
    y = (x * x).exp().sum()
    y.backward()
    del y
    x.grad = None
    x_bytes = 4_000_000
    assert hw.memory.stats()["allocated"] - before < 1.5 * x_bytes


def test_modes():
    x = leaf(1)
    with hw.no_grad():
        assert not (x * 2).requires_grad
        with hw.enable_grad():
            assert (x * 2).requires_grad
    assert hw.is_grad_enabled()

    @hw.no_grad()
    def f():
        return x * 2

    assert not f().requires_grad and hw.is_grad_enabled()
    with hw.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert hw.is_grad_enabled()


def test_modes_survive_exceptions_and_generators():
    with pytest.raises(ValueError), hw.no_grad():
        raise ValueError
    assert hw.is_grad_enabled()

    @hw.no_grad()
    def gen():
        yield hw.is_grad_enabled()
        yield hw.is_grad_enabled()

    seen = []
    for v in gen():
        seen += [v, hw.is_grad_enabled()]
    assert seen == [False, True, False, True]


def test_inference_mode():
    x = leaf(1, 2)
    with hw.inference_mode():
        y = x * 2
        assert y.is_inference() and not y.requires_grad
    w = leaf(3, 4)
    with pytest.raises(RuntimeError, match="inference"):
        w * y  # noqa: B018  y would have to be saved
    assert (w * y.clone()).requires_grad


def test_requires_grad_rules():
    with pytest.raises(RuntimeError, match="floating"):
        hw.ones(2, dtype=hw.int64).requires_grad_()
    h = leaf(1) * 2
    with pytest.raises(RuntimeError, match="leaf"):
        h.requires_grad = False


def test_gradcheck_finds_a_wrong_gradient():
    class Wrong(hw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x  # half of what it should be

    x = hw.tensor([1.0, 2.0], dtype=hw.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="differs"):
        hw.autograd.gradcheck(Wrong.apply, (x,))
    assert hw.autograd.gradcheck(lambda v: v * v, (x,))
    assert hw.autograd.gradgradcheck(lambda v: (v * v * v).sin(), (x,))


def test_jacobian_hessian_vjp_jvp():
    x = hw.tensor([1.0, 2.0], dtype=hw.float64)
    j = hw.autograd.jacobian(lambda v: v * v, x)
    assert j.tolist() == [[2, 0], [0, 4]]
    h = hw.autograd.hessian(lambda v: (v * v * v).sum(), x)
    assert h.tolist() == [[6, 0], [0, 12]]
    _, g = hw.autograd.vjp(lambda v: v * v, x, hw.tensor([1.0, 1.0], dtype=hw.float64))
    assert g.tolist() == [2, 4]
    _, t = hw.autograd.jvp(lambda v: v * v, x, hw.tensor([1.0, 0.0], dtype=hw.float64))
    assert t.tolist() == [2, 0]


def test_two_roots():
    x = leaf(1)
    a, b = x * 2, x * 3
    hw.autograd.backward([a.sum(), b.sum()])
    assert x.grad.tolist() == [5]


def test_root_that_is_also_inside():
    x = leaf(2)
    a = x * 3
    b = a * a
    hw.autograd.backward([a.sum(), b.sum()])
    assert x.grad.tolist() == [3 + 2 * 6 * 3]
