"""Custom functions and anomaly mode."""
import pytest

import headwater as hw


class Scale(hw.autograd.Function):
    """y = x * k, with two outputs."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x * k, x.sum()

    @staticmethod
    def backward(ctx, gy, gs):
        (x,) = ctx.saved_tensors
        return gy * ctx.k + gs * hw.ones_like(x), None


def test_forward_and_backward():
    x = hw.tensor([1.0, 2.0], requires_grad=True)
    y, s = Scale.apply(x, 3.0)
    (y.sum() + 2 * s).backward()
    assert x.grad.tolist() == [5, 5]


def test_missing_gradients_are_zeros():
    x = hw.tensor([1.0, 2.0], requires_grad=True)
    y, _ = Scale.apply(x, 3.0)
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_double_backward():
    class Cube(hw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    x = hw.tensor([2.0], requires_grad=True)
    (g,) = hw.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (g2,) = hw.autograd.grad(g.sum(), x)
    assert g.item() == 12 and g2.item() == 12


def test_wrong_number_of_gradients():
    class Bad(hw.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g

    x = hw.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="Bad"):
        Bad.apply(x, x).sum().backward()


def test_non_differentiable_and_no_grad():
    class Parts(hw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            i = x.argmax()
            ctx.mark_non_differentiable(i)
            return x * 2, i

        @staticmethod
        def backward(ctx, g, gi):
            return g * 2

    x = hw.tensor([1.0, 3.0], requires_grad=True)
    y, i = Parts.apply(x)
    assert not i.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    with hw.no_grad():
        assert not Parts.apply(x)[0].requires_grad


def test_input_returned_as_it_is():
    class Same(hw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = hw.ones(1, requires_grad=True)
    y = Same.apply(x)
    assert y is not x
    y.sum().backward()
    assert x.grad.item() == 7


def test_exception_in_backward_surfaces():
    class Boom(hw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise KeyError("boom")

    with pytest.raises(KeyError, match="boom"):
        Boom.apply(hw.ones(1, requires_grad=True)).sum().backward()


def test_saved_tensor_changed_in_place():
    x = hw.ones(2, requires_grad=True)
    h = x * 1
    y, _ = Scale.apply(h, 2.0)
    h.add_(1)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.sum().backward()


def test_anomaly_names_the_layer_of_the_first_nan():
    class Model(hw.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = hw.nn.Linear(2, 2)

        def forward(self, x):
            return (self.first(x) * 0 - 1).log()

    with hw.autograd.detect_anomaly(), pytest.raises(RuntimeError, match=r"log.*first NaN.*Model"):
        Model()(hw.ones(1, 2))
    assert not hw._C.is_anomaly_enabled()


def test_anomaly_in_backward():
    x = hw.tensor([0.0], requires_grad=True)
    with hw.autograd.detect_anomaly():
        y = (x.sqrt() * 0).sum()
        with pytest.raises(RuntimeError, match=r"gradient of sqrt.*NaN.*test_function"):
            y.backward()
