"""ai.onnx.ml: labels, scaling, linear models. Trees are in trees.py."""
from __future__ import annotations

from typing import Any

import numpy as np

import headwater as hw

from ..node import Node
from ..registry import ML, op
from ..requirement import OnnxError
from ..values import host, tensor


@op("ArrayFeatureExtractor", domain=ML, raw=True)
def array_feature_extractor(node: Node, x: Any, index: Any) -> Any:
    places = np.asarray(host(index)).reshape(-1)
    if isinstance(x, np.ndarray):
        return np.take(np.atleast_2d(x), places, -1)
    x = x if x.dim() > 1 else x.unsqueeze(0)
    return x.index_select(-1, tensor(places.astype(np.int64)))


@op("Binarizer", domain=ML)
def binarizer(node: Node, x: Any) -> Any:
    return (x > node.attr("threshold", 0.0)).to(x.dtype)


def _label_values(node: Node, side: str) -> Any:
    for kind in ("strings", "int64s", "floats"):
        if (found := node.attr(f"{side}_{kind}", None)) is not None:
            return np.array(found, {"strings": object, "int64s": np.int64, "floats": np.float32}[kind]), kind
    return node.attr(f"{side}_tensor"), "tensor"


@op("LabelEncoder", domain=ML, since=2, raw=True)
def label_encoder(node: Node, x: Any) -> Any:
    keys, (values, kind) = _label_values(node, "keys")[0], _label_values(node, "values")
    defaults = {"strings": "_Unused", "int64s": -1, "floats": -0.0}
    if kind == "tensor":
        default = node.attr("default_tensor", None)
        otherwise = default.reshape(-1)[0] if default is not None else defaults["strings" if values.dtype.kind == "O" else "int64s"]
    else:
        otherwise = node.attr(f"default_{kind[:-1]}", defaults[kind])
    table = {("nan" if k != k else k): v for k, v in zip(keys.reshape(-1).tolist(), values.reshape(-1).tolist())}
    array = np.asarray(host(x))
    found = [table.get("nan" if k != k else k, otherwise) for k in array.reshape(-1).tolist()]
    made = np.empty(len(found), values.dtype)
    made[:] = found
    return made.reshape(array.shape)


@op("CategoryMapper", domain=ML, raw=True)
def category_mapper(node: Node, x: Any) -> Any:
    words, numbers = node.attr("cats_strings"), node.attr("cats_int64s")
    array = np.asarray(host(x))
    if array.dtype.kind == "O":
        table = dict(zip(words, numbers))
        return np.array([table.get(t, node.attr("default_int64", -1)) for t in array.reshape(-1)], np.int64).reshape(array.shape)
    back = dict(zip(numbers, words))
    made = [back.get(t, node.attr("default_string", "_Unused")) for t in array.reshape(-1).tolist()]
    return np.array(made, object).reshape(array.shape)


@op("OneHotEncoder", domain=ML, raw=True)
def one_hot_encoder(node: Node, x: Any) -> Any:
    array = np.asarray(host(x))
    kinds = node.attr("cats_strings", None) or node.attr("cats_int64s")
    made = (array[..., None] == np.array(kinds, array.dtype)).astype(np.float32)
    if not node.attr("zeros", 1) and not made.any(-1).all():
        raise OnnxError("a value is of no known category")
    return made


@op("Scaler", domain=ML)
def scaler(node: Node, x: Any) -> Any:
    offset = tensor(np.array(node.attr("offset", [0.0]), np.float32))
    return (x.to(hw.float32) - offset) * tensor(np.array(node.attr("scale", [1.0]), np.float32))


@op("Normalizer", domain=ML)
def normalizer(node: Node, x: Any) -> Any:
    wide, how = x.to(hw.float32), node.attr("norm", "MAX")
    if how == "MAX":
        norm = wide.amax([-1], True)
    else:
        norm = hw.sum(hw.abs(wide), -1, True) if how == "L1" else hw.sqrt(hw.sum(wide * wide, -1, True))
    return wide / hw.where(norm == 0, hw.ones_like(norm), norm)


@op("Imputer", domain=ML)
def imputer(node: Node, x: Any) -> Any:
    if x.is_floating_point():
        values, missing = node.attr("imputed_value_floats"), node.attr("replaced_value_float", 0.0)
        where = hw.isnan(x) if missing != missing else x == missing
    else:
        values, where = node.attr("imputed_value_int64s"), x == node.attr("replaced_value_int64", 0)
    return hw.where(where, hw.tensor(values, dtype=x.dtype), x)


@op("FeatureVectorizer", domain=ML)
def feature_vectorizer(node: Node, *parts: Any) -> Any:
    rows = [p.reshape([p.shape[0], -1]).to(hw.float32) for p in parts]
    return hw.cat([r.narrow(1, 0, n) for r, n in zip(rows, node.attr("inputdimensions", [r.shape[1] for r in rows]))], 1)


def post_transform(name: str, scores: Any) -> Any:
    if name == "NONE":
        return scores
    if name == "SOFTMAX":
        return hw.softmax(scores, -1)
    if name == "LOGISTIC":
        return hw.sigmoid(scores)
    if name == "SOFTMAX_ZERO":
        raised = hw.where(scores == 0, hw.zeros_like(scores), hw.exp(scores - scores.amax([-1], True)))
        return raised / raised.sum(-1, True)
    if name == "PROBIT":
        return hw.erfinv(2 * scores - 1) * 2**0.5
    raise OnnxError(f"there is no post_transform '{name}'")


@op("LinearRegressor", domain=ML)
def linear_regressor(node: Node, x: Any) -> Any:
    targets = node.attr("targets", 1)
    weight = tensor(np.array(node.attr("coefficients"), np.float32).reshape(targets, -1))
    made = hw.matmul(x.to(hw.float32), weight.t())
    if node.attr("intercepts", None):
        made = made + tensor(np.array(node.attr("intercepts"), np.float32))
    return post_transform(node.attr("post_transform", "NONE"), made)


def labelled(node: Node, scores: Any, name: str) -> tuple[Any, Any]:
    """The best class of each row, and its scores after the transform; one column stands for two classes."""
    words, numbers = node.attr("classlabels_strings", None), node.attr("classlabels_ints", None) or node.attr("classlabels_int64s", None)
    labels = words or numbers or list(range(max(scores.shape[1], 2)))
    if scores.shape[1] == 1 and len(labels) == 2:
        scores = hw.cat([1 - hw.sigmoid(scores), hw.sigmoid(scores)], 1) if name == "LOGISTIC" else hw.cat([-scores, scores], 1)
        made = scores if name == "LOGISTIC" else post_transform(name, scores)
    else:
        made = post_transform(name, scores)
    best = hw.argmax(scores, 1)
    if words:
        return np.array(words, object)[host(best)], made
    return tensor(np.array(labels, np.int64)).index_select(0, best), made


@op("LinearClassifier", domain=ML, fresh=True)
def linear_classifier(node: Node, x: Any) -> Any:
    biases = node.attr("intercepts", None)
    coefficients = np.array(node.attr("coefficients"), np.float32)
    classes = len(biases) if biases else len(coefficients) // x.shape[-1]
    weight = tensor(coefficients[: classes * x.shape[-1]].reshape(classes, x.shape[-1]))
    scores = hw.matmul(x.to(hw.float32), weight.t())
    if biases:
        scores = scores + tensor(np.array(biases, np.float32))
    return labelled(node, scores, node.attr("post_transform", "NONE"))


@op("ZipMap", domain=ML, raw=True)
def zip_map(node: Node, x: Any) -> Any:
    names = node.attr("classlabels_strings", None) or node.attr("classlabels_int64s")
    return ([dict(zip(names, row)) for row in np.asarray(host(x)).tolist()],)


@op("CastMap", "DictVectorizer", domain=ML, raw=True)
def from_map(node: Node, x: dict[Any, Any]) -> Any:
    if node.op == "CastMap":
        return np.array([[float(v) for _, v in sorted(x.items())]], np.float32)
    words = node.attr("string_vocabulary", None) or node.attr("int64_vocabulary")
    return np.array([[x.get(w, 0) for w in words]])
