"""Losses against torch."""
import numpy as np
import pytest
import torch

import headwater as hw
from harness import FLOATS, Sample, fixed, op_test, randn, uniform

F = torch.nn.functional
PAIR = lambda: [Sample(randn(3, 4), randn(3, 4)), Sample(randn(5), randn(5), reduction="sum"),  # noqa: E731
                Sample(randn(2, 3), randn(2, 3), reduction="none"), Sample(randn(), randn())]
WORD = [(lambda h: h.mse_loss(h.ones(2), h.ones(2), "all"), ValueError, "reduction must be")]

op_test("mse_loss", torch=F.mse_loss, samples=PAIR, dtypes=FLOATS, grad=True, grad2=True, errors=WORD)
op_test("l1_loss", torch=F.l1_loss, samples=PAIR, dtypes=FLOATS, grad=True)
op_test("smooth_l1_loss", torch=F.smooth_l1_loss, dtypes=FLOATS, grad=True,
        samples=lambda: PAIR() + [Sample(randn(9), randn(9), beta=0.3), Sample(randn(9), randn(9), beta=0)])
op_test("huber_loss", torch=F.huber_loss, dtypes=FLOATS, grad=True, samples=lambda: PAIR() + [Sample(randn(9), randn(9), delta=0.3)])
op_test("kl_div", torch=F.kl_div, dtypes=FLOATS, grad=True,
        samples=lambda: [Sample(randn(3, 4), uniform(0.1, 1, 3, 4)), Sample(randn(3, 4), randn(3, 4), log_target=True),
                         Sample(randn(3, 4), uniform(0.1, 1, 3, 4), reduction="batchmean")])
op_test("binary_cross_entropy", torch=F.binary_cross_entropy, dtypes=FLOATS, grad=True,
        samples=lambda: [Sample(uniform(0.1, 0.9, 3, 4), uniform(0.1, 0.9, 3, 4)),
                         Sample(uniform(0.1, 0.9, 3, 4), uniform(0.1, 0.9, 3, 4), uniform(0.5, 1, 4), reduction="sum")])
op_test("binary_cross_entropy_with_logits", torch=F.binary_cross_entropy_with_logits, dtypes=FLOATS, grad=True, grad2=True,
        samples=lambda: [Sample(randn(3, 4), uniform(0.1, 0.9, 3, 4)),
                         Sample(randn(3, 4), uniform(0.1, 0.9, 3, 4), uniform(0.5, 1, 4), pos_weight=uniform(0.5, 2, 4), reduction="none")])


def classes(*values):
    return fixed(np.array(values))


op_test("nll_loss", torch=F.nll_loss, dtypes=("float32", "float64"), grad=True,
        samples=lambda: [Sample(randn(3, 5), classes(0, 4, 2)), Sample(randn(3, 5), classes(0, -100, 2), reduction="sum"),
                         Sample(randn(3, 5), classes(0, 1, 2), uniform(0.5, 1, 5)), Sample(randn(5), fixed(np.array(3))),
                         Sample(randn(2, 5, 3), fixed(np.array([[0, 1, 2], [3, 4, 0]])), reduction="none")],
        errors=[(lambda h: h.nll_loss(h.ones(2, 3), h.tensor([0, 3])), IndexError, "3"),
                (lambda h: h.nll_loss(h.ones(2, 3), h.tensor([0])), RuntimeError, "target must have shape")])
op_test("cross_entropy", torch=F.cross_entropy, dtypes=FLOATS, grad=True, grad2=True,
        samples=lambda: [Sample(randn(3, 5), classes(0, 4, 2)), Sample(randn(3, 5), classes(0, -100, 2), reduction="sum"),
                         Sample(randn(3, 5), classes(1, 1, 2), ignore_index=1), Sample(randn(3, 67), classes(0, 66, 2), label_smoothing=0.2),
                         Sample(randn(2, 5, 3), fixed(np.array([[0, 1, 2], [3, 4, 0]])), reduction="none"), Sample(randn(5), fixed(np.array(3)))],
        errors=[(lambda h: h.cross_entropy(h.ones(2, 3), h.tensor([0, 3])), IndexError, "target 3 is out of range for 3 classes"),
                (lambda h: h.cross_entropy(h.ones(2, 3), h.tensor([0, -1])), IndexError, "target -1"),
                (lambda h: h.cross_entropy(h.ones(2, 3), h.tensor([0])), RuntimeError, "target must have shape"),
                (lambda h: h.cross_entropy(h.ones(2, 3), h.tensor([0, 1]), label_smoothing=2), ValueError, "label_smoothing")])


def margin_loss(cosines, target, margin1=1.0, margin2=0.5, margin3=0.0, scale=64.0, reduction="mean", ignore_index=-100):
    """The formula of the ArcFace paper, in torch."""
    counts = target != ignore_index
    column = torch.where(counts, target, 0).unsqueeze(1)
    angle = torch.acos(cosines.double().gather(1, column).clamp(-1 + 1e-7, 1 - 1e-7))
    scores = scale * cosines.double().scatter(1, column, torch.cos(margin1 * angle + margin2) - margin3)
    loss = F.cross_entropy(scores, target, reduction=reduction, ignore_index=ignore_index)
    return loss.to(cosines.dtype)


COSINES = lambda *shape: uniform(-0.95, 0.95, *shape)  # noqa: E731
op_test("margin_cross_entropy", torch=margin_loss, dtypes=("float32", "float64"), grad=True,
        samples=lambda: [Sample(COSINES(3, 5), classes(0, 4, 2), scale=4.0), Sample(COSINES(4, 67), classes(0, 66, -100, 2)),
                         Sample(COSINES(3, 5), classes(0, 4, 4), margin2=0.0, margin3=0.35, scale=8.0, reduction="sum"),
                         Sample(COSINES(3, 9), classes(1, 8, 2), margin1=1.3, margin2=0.2, margin3=0.1, scale=8.0, reduction="none"),
                         Sample(COSINES(3, 5), classes(0, 4, 2), margin2=0.0, scale=2.0)],
        errors=[(lambda h: h.margin_cross_entropy(h.ones(2, 3), h.tensor([0, 3])), IndexError, "target 3 is out of range for 3 classes"),
                (lambda h: h.margin_cross_entropy(h.ones(2, 3), h.tensor([0])), RuntimeError, "target must have shape"),
                (lambda h: h.margin_cross_entropy(h.ones(2, 3), h.tensor([0, 1]), scale=0.0), ValueError, "scale must be positive"),
                (lambda h: h.margin_cross_entropy(h.ones(2, 3), h.tensor([0, 1]), reduction="all"), ValueError, "reduction must be")])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["weights", "probabilities", "weighted probabilities"])
def test_cross_entropy_with_weights_and_probabilities(reduction, smoothing, kind):
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((4, 5, 2)), rng.uniform(0.5, 2, 5)
    p = rng.dirichlet(np.ones(5), (4, 2)).transpose(0, 2, 1)
    t = rng.integers(0, 5, (4, 2)) if kind == "weights" else p
    if kind == "weights":
        t[0, 0] = -100
    results = []
    for m, f in ((hw, hw.cross_entropy), (torch, F.cross_entropy)):
        leaf = m.tensor(x).requires_grad_()
        weight = m.tensor(w) if kind != "probabilities" else None
        loss = f(leaf, m.tensor(t), weight, reduction=reduction, label_smoothing=smoothing)
        loss.sum().backward()
        results.append((np.array(loss.tolist()), np.array(leaf.grad.tolist())))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_ignored_rows_are_safe():
    x = hw.tensor([[float("inf"), 0.0], [0.0, 0.0]], requires_grad=True)
    loss = hw.cross_entropy(x, hw.tensor([-100, 1]), reduction="sum")
    loss.backward()
    assert loss.item() == pytest.approx(0.6931, abs=1e-4) and x.grad.tolist()[0] == [0, 0]


def test_saturated_probabilities_have_torchs_gradient() -> None:
    """At 0 and 1 the logarithm's derivative is infinite: the gradient is large, but not NaN."""
    x, t = np.array([0.0, 1.0, 0.5, 0.0, 1.0]), np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    a, b = hw.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    hw.binary_cross_entropy(a, hw.tensor(t)).backward()
    torch.nn.functional.binary_cross_entropy(b, torch.tensor(t)).backward()
    np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-7)
