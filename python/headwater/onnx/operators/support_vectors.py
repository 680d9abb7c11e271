"""ai.onnx.ml: support vector machines for regression and classification."""
from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

import headwater as hw

from ..node import Node
from ..registry import ML, op
from ..requirement import OnnxError
from ..values import host, tensor
from .ml import labelled, post_transform


def _kernel(node: Node, x: Any, vectors: Any) -> Any:
    """[rows, vectors]: how alike they are."""
    gamma, constant, degree = (*node.attr("kernel_params", []), 0.0, 0.0, 0.0)[:3]
    name = node.attr("kernel_type", "LINEAR")
    if name == "RBF":
        apart = hw.square(x).sum(1, True) - 2 * hw.matmul(x, vectors.t()) + hw.square(vectors).sum(1).unsqueeze(0)
        return hw.exp(-gamma * hw.clamp_min(apart, 0.0))
    products = hw.matmul(x, vectors.t())
    if name == "LINEAR":
        return products
    if name == "POLY":
        return hw.pow(products * gamma + constant, degree)
    if name == "SIGMOID":
        return hw.tanh(products * gamma + constant)
    raise OnnxError(f"there is no kernel_type '{name}'")


def _floats(node: Node, name: str) -> np.ndarray[Any, Any]:
    return np.array(node.attr(name, []), np.float64)


@op("SVMRegressor", domain=ML)
def svm_regressor(node: Node, x: Any) -> Any:
    wide, count, rho = x.to(hw.float64), node.attr("n_supports", 0), float(node.attr("rho")[0])
    coefficients = tensor(_floats(node, "coefficients"))
    if count:
        made = hw.matmul(_kernel(node, wide, tensor(_floats(node, "support_vectors").reshape(count, -1))), coefficients)
    else:
        made = _kernel(node, wide, coefficients.reshape([1, -1])).squeeze(1)
    made = made + rho
    made = hw.where(made > 0, hw.ones_like(made), -hw.ones_like(made)) if node.attr("one_class", 0) else made
    return post_transform(node.attr("post_transform", "NONE"), made.unsqueeze(1)).to(hw.float32)


def _pairs(node: Node, kernels: Any, classes: int) -> Any:
    """[rows, pairs]: for each pair of classes, what their vectors say; above 0 it is the first."""
    counts = node.attr("vectors_per_class")
    starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
    weights = tensor(_floats(node, "coefficients").reshape(classes - 1, -1))
    made = []
    for i, j in combinations(range(classes), 2):
        first = hw.matmul(kernels.narrow(1, starts[i], counts[i]), weights[j - 1].narrow(0, starts[i], counts[i]))
        second = hw.matmul(kernels.narrow(1, starts[j], counts[j]), weights[i].narrow(0, starts[j], counts[j]))
        made.append(first + second)
    return hw.stack(made, 1) + tensor(_floats(node, "rho"))


def _votes(decisions: Any, classes: int) -> Any:
    rows = []
    for c in range(classes):
        pairs = [(p, i) for p, (i, j) in enumerate(combinations(range(classes), 2)) if c in (i, j)]
        mine = [decisions[:, p] > 0 if i == c else decisions[:, p] <= 0 for p, i in pairs]
        rows.append(hw.stack(mine, 1).to(hw.float64).sum(1))
    return hw.stack(rows, 1)


def _probabilities(node: Node, decisions: Any, classes: int) -> Any:
    """Platt's sigmoid for each pair, and then the probabilities that fit all pairs best (Wu, Lin and Weng 2004, second method)."""
    a, b = (tensor(_floats(node, name)) for name in ("prob_a", "prob_b"))
    sides = hw.clamp(hw.sigmoid(-(decisions * a + b)), 1e-7, 1 - 1e-7).unbind(1)
    zero = hw.zeros_like(sides[0])
    table: list[list[Any]] = [[zero] * classes for _ in range(classes)]  # [i][j]: how likely i is, if it is i or j
    for (i, j), side in zip(combinations(range(classes), 2), sides, strict=True):
        table[i][j], table[j][i] = side, 1 - side
    r = hw.stack([hw.stack(row, 1) for row in table], 1)
    across = r.transpose(1, 2)
    q = hw.diag_embed(hw.square(across).sum(2)) - across * r
    return _coupled(q, classes)


def _coupled(q: Any, classes: int) -> Any:
    """The p of sum 1 with the least p q p, for each row."""
    first = hw.full([q.shape[0], classes], 1.0 / classes, dtype=q.dtype)

    def products(p: Any) -> tuple[Any, Any]:
        qp = hw.matmul(q, p.unsqueeze(2)).squeeze(2)
        return qp, (p * qp).sum(1, True)

    def unsettled(turn: Any, p: Any) -> Any:
        qp, whole = products(p)
        return (turn < max(100, classes)) & ((qp - whole).abs().amax([1]) >= 0.005 / classes).any()

    def turn(count: Any, p: Any) -> tuple[Any, Any]:
        qp, whole = products(p)
        settled = ((qp - whole).abs().amax([1]) < 0.005 / classes).unsqueeze(1)
        new = p
        for t in range(classes):
            column, own = q[:, t], q[:, t, t].unsqueeze(1)
            step = (whole - qp.narrow(1, t, 1)) / own
            moved = hw.cat([new.narrow(1, 0, t), new.narrow(1, t, 1) + step, new.narrow(1, t + 1, classes - t - 1)], 1)
            whole = (whole + step * (step * own + 2 * qp.narrow(1, t, 1))) / hw.square(1 + step)
            qp, new = (qp + step * column) / (1 + step), moved / (1 + step)
        return count + 1, hw.where(settled, p, new)

    return hw.while_loop(unsettled, turn, (hw.tensor(0), first))[1]


@op("SVMClassifier", domain=ML, fresh=True)
def svm_classifier(node: Node, x: Any) -> Any:
    words, numbers = node.attr("classlabels_strings", None), node.attr("classlabels_ints", None)
    labels: Any = words or numbers
    wide, counts, name = x.to(hw.float64), node.attr("vectors_per_class", []), node.attr("post_transform", "NONE")
    if not counts:  # a plane for each class
        weights = tensor(_floats(node, "coefficients").reshape(len(labels), -1))
        scores = _kernel(node, wide, weights) + tensor(_floats(node, "rho"))[0]
        return labelled(node, scores.to(hw.float32), name)
    classes = len(counts)
    decisions = _pairs(node, _kernel(node, wide, tensor(_floats(node, "support_vectors").reshape(sum(counts), -1))), classes)
    best = hw.argmax(_votes(decisions, classes), 1)
    if node.attr("prob_a", []):
        scores = _probabilities(node, decisions, classes)
    else:
        scores = hw.cat([-decisions, decisions], 1) if classes == 2 else decisions
    made = post_transform(name, scores.to(hw.float32))
    if words:
        return np.array(words, object)[host(best)], made
    return tensor(np.array(numbers, np.int64)).index_select(0, best), made
