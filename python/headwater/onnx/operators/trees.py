"""Ensembles of decision trees: all rows walk all trees at once, a level at a time."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import headwater as hw

from ..node import Node
from ..registry import ML, op
from ..requirement import OnnxError
from ..values import tensor
from .ml import labelled, post_transform

_Array = np.ndarray[Any, Any]
_MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER"]


@dataclass
class Forest:
    """Nodes by number. A leaf is its own child. `mode` counts in _MODES, `tracks`: where a NaN goes to the true child."""

    roots: _Array
    feature: _Array
    threshold: _Array
    mode: _Array
    yes: _Array
    no: _Array
    tracks: _Array
    members: _Array | None = None  # [nodes, most members], NaN where there are fewer

    def depth(self) -> int:
        level, count = set(self.roots.tolist()), 0
        while True:
            below = {c for n in level for c in (self.yes[n], self.no[n]) if c != n}
            if not below:
                return count
            level, count = below, count + 1
            if count > len(self.yes):
                raise OnnxError("the branches of a tree form a circle")

    def leaves(self, x: Any) -> Any:
        """[rows, trees]: the node that each row ends in."""
        at = tensor(self.roots).unsqueeze(0).expand([x.shape[0], len(self.roots)])
        feature, threshold, mode, yes, no, tracks = (
            tensor(np.ascontiguousarray(v)) for v in (self.feature, self.threshold, self.mode, self.yes, self.no, self.tracks)
        )
        for _ in range(self.depth()):
            value, bound = hw.gather(x, 1, _take(feature, at)), _take(threshold, at).to(x.dtype)
            kind = _take(mode, at)
            tests = [value <= bound, value < bound, value >= bound, value > bound, value == bound, value != bound]
            if self.members is not None:
                rows = tensor(self.members).index_select(0, at.reshape([-1])).to(x.dtype).reshape([*at.shape, -1])
                tests.append((rows == value.unsqueeze(-1)).any(-1))
            passed = hw.isnan(value) & _take(tracks, at)
            for i, test in enumerate(tests):
                passed = passed | ((kind == i) & test)
            at = hw.where(passed, _take(yes, at), _take(no, at))
        return at


def _take(table: Any, index: Any) -> Any:
    return table.index_select(0, index.reshape([-1])).reshape(index.shape)


def _classic(node: Node) -> tuple[Forest, dict[tuple[int, int], int]]:
    """Of TreeEnsembleClassifier's and -Regressor's attributes; and the number of a (tree, node)."""
    trees, ids = node.attr("nodes_treeids"), node.attr("nodes_nodeids")
    number = {(t, i): n for n, (t, i) in enumerate(zip(trees, ids))}
    modes = node.attr("nodes_modes")
    own = list(range(len(ids)))
    leaf = [m == "LEAF" for m in modes]

    def children(name: str) -> _Array:
        given = node.attr(name)
        return np.array([n if leaf[n] else number[trees[n], given[n]] for n in own], np.int64)

    yes, no = children("nodes_truenodeids"), children("nodes_falsenodeids")
    roots = sorted(set(own) - {int(c) for n in own if not leaf[n] for c in (yes[n], no[n])})
    values = node.attr("nodes_values", None) or node.attr("nodes_values_as_tensor")
    forest = Forest(
        np.array(roots, np.int64), np.array(node.attr("nodes_featureids"), np.int64), np.array(values, np.float32),
        np.array([0 if m == "LEAF" else _MODES.index(m) for m in modes], np.int64), yes, no,
        np.array(node.attr("nodes_missing_value_tracks_true", [0] * len(ids)), bool),
    )  # fmt: skip
    return forest, number


def _sums(forest: Forest, x: Any, table: _Array, how: str) -> Any:
    """What the leaves say, over all trees: table [nodes, targets]."""
    reached = forest.leaves(x)
    votes = tensor(table).index_select(0, reached.reshape([-1])).reshape([*reached.shape, table.shape[1]]).to(x.dtype)
    if how in ("SUM", "AVERAGE"):
        made = votes.sum(1)
        return made / len(forest.roots) if how == "AVERAGE" else made
    return votes.amin([1]) if how == "MIN" else votes.amax([1])


@op("TreeEnsembleRegressor", "TreeEnsembleClassifier", domain=ML, fresh=True)
def tree_ensemble_1(node: Node, x: Any) -> Any:
    forest, number = _classic(node)
    side = "target" if node.op.endswith("Regressor") else "class"
    ids, weights = node.attr(f"{side}_ids"), node.attr(f"{side}_weights")
    if side == "target":
        columns = node.attr("n_targets", 1)
    else:
        labels = node.attr("classlabels_strings", None) or node.attr("classlabels_int64s")
        columns = 1 if len(labels) == 2 and len(set(ids)) == 1 else len(labels)
    table = np.zeros((len(number), columns), np.float32)
    for tree, at, column, weight in zip(node.attr(f"{side}_treeids"), node.attr(f"{side}_nodeids"), ids, weights):
        table[number[tree, at], column if columns > 1 else 0] += weight
    scores = _sums(forest, x.to(hw.float32) if not x.is_floating_point() else x, table, node.attr("aggregate_function", "SUM"))
    if base := node.attr("base_values", None):
        scores = scores + tensor(np.array(base, np.float32))
    name = node.attr("post_transform", "NONE")
    if side == "target":
        return post_transform(name, scores.to(hw.float32))
    if columns == 1:
        return _binary(node, scores.to(hw.float32), name)
    return labelled(node, scores.to(hw.float32), name)


def _binary(node: Node, score: Any, name: str) -> Any:
    """Two classes whose trees vote for one of them: without a transform the votes are a probability."""
    if name != "NONE":
        return labelled(node, score, name)
    words = node.attr("classlabels_strings", None)
    best = (score[:, 0] > 0.5).to(hw.int64)
    scores = hw.cat([1 - score, score], 1)
    if words:
        from ..values import host

        return np.array(words, object)[host(best)], scores
    return tensor(np.array(node.attr("classlabels_int64s"), np.int64)).index_select(0, best), scores


@op("TreeEnsemble", domain=ML, since=5, fresh=True)
def tree_ensemble(node: Node, x: Any) -> Any:
    """Nodes and leaves are counted apart; here the leaves come after the nodes."""
    modes = np.array(node.attr("nodes_modes"), np.int64)
    count, leaves = len(modes), len(node.attr("leaf_targetids"))

    def children(name: str) -> _Array:
        ids, leaf = np.array(node.attr(f"nodes_{name}nodeids"), np.int64), np.array(node.attr(f"nodes_{name}leafs"), np.int64)
        return np.concatenate([np.where(leaf == 1, ids + count, ids), np.arange(count, count + leaves)])

    def padded(values: Any, dtype: Any) -> _Array:
        return np.concatenate([np.asarray(values, dtype), np.zeros(leaves, dtype)])

    members = None
    if (listed := node.attr("membership_values", None)) is not None:
        sets: list[list[float]] = [[]]
        for value in np.asarray(listed).tolist():
            if value != value:
                sets.append([])
            else:
                sets[-1].append(value)
        width = max(1, max(len(s) for s in sets))
        members = np.full((count + leaves, width), np.nan)
        for n, one in zip(np.flatnonzero(modes == 6), sets):
            members[n, : len(one)] = one
    forest = Forest(
        np.array(node.attr("tree_roots"), np.int64), padded(node.attr("nodes_featureids"), np.int64),
        padded(node.attr("nodes_splits"), np.float64), padded(modes, np.int64), children("true"), children("false"),
        padded(node.attr("nodes_missing_value_tracks_true", [0] * count), bool), members,
    )  # fmt: skip
    table = np.zeros((count + leaves, node.attr("n_targets", 1)))
    for i, (target, weight) in enumerate(zip(node.attr("leaf_targetids"), np.asarray(node.attr("leaf_weights")).tolist())):
        table[count + i, target] += weight
    how = ["AVERAGE", "SUM", "MIN", "MAX"][node.attr("aggregate_function", 1)]
    names = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
    return post_transform(names[node.attr("post_transform", 0)], _sums(forest, x, table, how))
