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
