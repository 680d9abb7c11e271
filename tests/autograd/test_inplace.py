"""In-place writes and views: versions, histories, errors. Torch is the oracle for the values."""
import pytest
import torch

import headwater as hw


def both(f, *shapes):
    """Runs f(module, leaves) in both frameworks and compares the gradients of the leaves."""
    results = []
    for m in (hw, torch):
        leaves = [m.linspace(0.5, 2.0, n).reshape(s).requires_grad_() for s, n in ((s, _numel(s)) for s in shapes)]
        f(m, *leaves).sum().backward()
        results.append([None if x.grad is None else x.grad.tolist() for x in leaves])
    for a, b in zip(*results, strict=True):
        if b is None:
            assert a is None
        else:
            torch.testing.assert_close(torch.tensor(a), torch.tensor(b))


def _numel(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def test_stale_value_is_refused_by_name():
    x = hw.ones(3, requires_grad=True)
    h = x * 2
    y = h * h
    h.add_(1)
    with pytest.raises(RuntimeError, match=r"gradient of mul needs '(input|other)'.*changed in place.*version 1, saved at version 0"):
        y.sum().backward()


def test_unneeded_change_is_allowed():
    both(lambda m, x: (lambda h: h.add_(1) * 3)(x * 2), (4,))


def test_inplace_chain():
    def f(m, x):
        h = x * 1
        h.mul_(3)
        h.add_(1)
        h.sigmoid_()
        return h

    both(f, (4,))


def test_inplace_with_saved_input():
    both(lambda m, x: (x * 1).pow_(3), (4,))
    both(lambda m, x: (x * 1).sin_(), (4,))


def test_inplace_by_tensor_that_requires_grad():
    def f(m, x, y):
        z = m.zeros(3)
        z.add_(x)
        z.mul_(y)
        return z

    both(f, (3,), (3,))


def test_write_through_view_reaches_base():
    def f(m, x, y):
        z = x * 1
        z[0] = y
        z[1].mul_(2)
        return z * z

    both(f, (3, 2), (2,))


def test_base_written_view_sees_it():
    def f(m, x):
        z = x * 1
        v = z[1:]
        z.mul_(2)
        return v * 3

    both(f, (4,))


def test_view_of_view():
    def f(m, x, y):
        z = x * 1
        v = z.view(2, 3)[1]
        v.add_(y)
        return z.exp()

    both(f, (6,), (3,))


def test_transposed_view_write():
    def f(m, x, y):
        z = x * 1
        z.t().copy_(y)
        return z * m.arange(6.0).reshape(2, 3)

    both(f, (2, 3), (3, 2))


def test_plain_buffer_becomes_part_of_the_graph():
    def f(m, x):
        out = m.zeros(3, 2)
        for i in range(3):
            out[i] = x[i] * (i + 1)
        return out * out

    both(f, (3, 2))


def test_index_put_and_masked_write():
    def f(m, x, y):
        z = x * 1
        z[m.tensor([0, 2])] = y
        z[z > 1.5] = 0.0
        return z * 2

    both(f, (4, 2), (2, 2))


def test_leaf_cannot_be_written():
    x = hw.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 1
    with hw.no_grad():
        x.add_(1)
        x[0] = 5
    assert x.tolist() == [5, 2, 2]


def test_expanded_memory_cannot_be_written():
    x = hw.ones(1, 3).expand(4, 3)
    with pytest.raises(RuntimeError, match="expanded"):
        x.add_(1)


def test_read_only_array_cannot_be_written():
    import numpy as np

    a = np.ones(3, dtype="float32")
    a.flags.writeable = False
    x = hw.from_numpy(a)
    with pytest.raises(RuntimeError, match="read-only"):
        x.add_(1)
    assert (x + 1).tolist() == [2, 2, 2]


def test_kind_of_result_must_fit():
    x = hw.ones(3, dtype=hw.int64)
    with pytest.raises(RuntimeError, match="cannot be stored"):
        x.add_(0.5)
    with pytest.raises(RuntimeError, match="shape"):
        hw.ones(1, 3).add_(hw.ones(2, 3))


def test_versions_count_writes():
    x = hw.zeros(3)
    v = x[1:]
    assert x._version == 0
    v.add_(1)
    x += 1
    assert x._version == v._version == 2


def test_second_order_through_inplace():
    x = hw.tensor([2.0], requires_grad=True)
    h = x * 1
    h.mul_(x)
    (g,) = hw.autograd.grad(h.sum(), x, create_graph=True)
    (g2,) = hw.autograd.grad(g.sum(), x)
    assert g.item() == 4 and g2.item() == 2


def test_what_no_gradient_reads_may_change_and_is_let_go():
    def by_a_number(m, x):
        h = x * 1
        y = h * 3
        z = h / 2
        h.mul_(5)
        return y + z + h

    def by_a_constant(m, x):
        h, c = x * 1, m.ones(4, 4) * 2
        y = (h @ c) + m.nn.functional.linear(h, c) + m.addmm(h, h, c) + m.addcmul(h, h, c[0])
        h.zero_()
        return y

    both(by_a_number, (4, 4))
    both(by_a_constant, (4, 4))
    x = hw.ones(1000, 1000, requires_grad=True)
    before = hw.memory.stats()["allocated"]
    y = (x * 2) * 3 / 4  # only the last result lives
    assert hw.memory.stats()["allocated"] - before < 1.5 * y.nbytes
    h = hw.ones(3, requires_grad=True) * 1
    y = h * h.detach()
    with pytest.raises(RuntimeError, match="changed in place"):  # the other factor is read
        h.mul_(2)
        y.sum().backward()


def test_inplace_product_reads_what_it_must():
    def f(m, x, y):
        h, k = x * 1, y * 1
        h.mul_(k)
        h.mul_(m.full((4,), 3.0))
        q = y * 2
        q.div_(h)
        q.addcmul_(h, h)
        return h + q

    both(f, (4,), (4,))
    both(lambda m, x, y: m.full((4,), 2.0).mul_(x).div_(y), (4,), (4,))


def test_second_order_through_a_write_to_a_view_that_saves_its_result():
    def second(m):
        x = m.tensor([[0.5, 1.0], [1.5, 2.0]], requires_grad=True)
        h = x * 1
        h[0].exp_()
        (g,) = m.autograd.grad((h * h).sum(), x, create_graph=True)
        (g2,) = m.autograd.grad((g * g).sum(), x)
        return g.tolist(), g2.tolist()

    for a, b in zip(second(hw), second(torch), strict=True):
        torch.testing.assert_close(torch.tensor(a), torch.tensor(b))


def pairs(m, x):
    return m.view_as_complex(x.reshape(2, 2))


@pytest.mark.parametrize(
    "change",
    [
        lambda m, z, c: z.mul_(3),  # the base is written to, the view sees it
        lambda m, z, c: c.mul_(2 + 1j),  # and the other way round
        lambda m, z, c: c[1].mul_(1j),
        lambda m, z, c: c.imag.mul_(5),
        lambda m, z, c: (z[0].mul_(2), c.real.add_(z.detach()[1]), z.mul_(z.detach().clone())),
        lambda m, z, c: c.copy_(c * 2j + 1),
    ],
)
def test_complex_views_of_real_memory(change):
    def f(m, x):
        z = x * 1
        c = pairs(m, z)
        change(m, z, c)
        return z.reshape(-1) * m.arange(1.0, 5.0) + (c * c).imag.sum() * 2

    both(f, (4,))


@pytest.mark.parametrize(
    "change",
    [
        lambda m, z, r: z.mul_(3j),
        lambda m, z, r: r.mul_(3),
        lambda m, z, r: r[0, 1].mul_(4),
        lambda m, z, r: (z[1:].mul_(1 - 2j), r[:, 0].mul_(2), z.add_(z.detach().clone())),
        lambda m, z, r: z.imag.mul_(m.tensor([2.0, 3.0])),
    ],
)
def test_real_views_of_complex_memory(change):
    def f(m, x):
        z = pairs(m, x) * 1
        r = m.view_as_real(z)
        change(m, z, r)
        return (r * m.arange(1.0, 5.0).reshape(2, 2)).sum() + (z * z).imag.sum() + z.real.sum()

    both(f, (4,))


def test_complex_views_of_plain_memory_gain_history():
    for m in (hw, torch):
        leaf, base, sums = m.ones(4, requires_grad=True), m.zeros(4), m.zeros(2, dtype=m.complex64)
        view, parts = m.view_as_complex(base.reshape(2, 2)), m.view_as_real(sums)
        base.add_(leaf * 3)
        sums.add_(view * (1 + 1j))
        assert view.requires_grad and not view.is_leaf and parts.requires_grad and not parts.is_leaf
        (parts * m.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        assert leaf.grad.tolist() == [9, 3, 21, 3]


def test_second_order_through_complex_views():
    def grads(m):
        x = m.linspace(0.5, 2.0, 4).requires_grad_()
        z = x * 1
        c = pairs(m, z)
        c.mul_(c.detach() + 1j)
        z.mul_(x)
        (first,) = m.autograd.grad((z * z).sum() + c.real.pow(3).sum(), x, create_graph=True)
        (second,) = m.autograd.grad((first * first).sum(), x)
        return first.tolist(), second.tolist()

    for a, b in zip(grads(hw), grads(torch), strict=True):
        torch.testing.assert_close(torch.tensor(a), torch.tensor(b))


def test_views_as_bytes_stay_without_history():
    for m in (hw, torch):
        leaf, base = m.ones(4, requires_grad=True), m.zeros(4)
        view = base.view(m.int32)
        base.add_(leaf)
        assert not view.requires_grad and view.grad_fn is None
        view.add_(1)
        base.sum().backward()
        assert leaf.grad.tolist() == [1] * 4


def test_a_view_of_what_becomes_a_leaf_later():
    for m in (hw, torch):
        base, whole = m.zeros(4), m.zeros(4)
        view, nested, other = base[:2], base[1:][:1], whole.detach()[:2]
        base.requires_grad_()
        whole.requires_grad_()
        assert view.requires_grad and nested.requires_grad and not other.requires_grad
        assert view.is_leaf and view.grad_fn is None
        (view * 2).sum().backward()  # the view was made before there was a history
        assert base.grad is None
        with m.no_grad():
            base.add_(1)
        assert view.requires_grad and not view.is_leaf
        view.sum().backward()
        assert base.grad.tolist() == [1, 1, 0, 0]
        with pytest.raises(RuntimeError, match="leaf"):
            view.add_(1)


def test_expanded_memory_written_by_a_part_has_a_gradient():
    def first_column(m, x):
        z = x * 2
        e = z.expand(3, 4)
        e[:, :1].mul_(3)
        return e * m.arange(12.0).reshape(3, 4) + z

    def element(m, x):
        z = x * 2
        e = z.expand(3, 4)
        e[0, 0].mul_(5)
        return e * m.arange(12.0).reshape(3, 4) + z.exp()

    def windows(m, x):
        z = x * 2
        e = z.as_strided((4, 3), (1, 1))
        z[1:3].mul_(5)
        return e * m.arange(12.0).reshape(4, 3)

    both(first_column, (3, 1))
    both(element, (3, 1))
    both(windows, (6,))


def test_one_number_fills_expanded_memory():
    for m in (hw, torch):
        x = m.zeros(3, 1)
        x.expand(3, 4)[0] = 5
        assert x.flatten().tolist() == [5, 0, 0]
        for value in (m.ones(4), m.tensor(6.0)):
            with pytest.raises(RuntimeError, match="clone"):
                x.expand(3, 4)[0] = value
        z = m.ones(3, 1, requires_grad=True) * 1
        with pytest.raises(RuntimeError, match="clone"):
            z.expand(3, 4)[1] = 2.0
            z.sum().backward()
