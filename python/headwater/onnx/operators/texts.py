"""Texts: arrays of Python strings on the host."""
from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..values import host, texts


@op("StringConcat", raw=True)
def concat(node: Node, x: Any, y: Any) -> Any:
    return np.asarray(np.char.add(texts(x).astype(str), texts(y).astype(str))).astype(object)


@op("RegexFullMatch", raw=True)
def full_match(node: Node, x: Any) -> Any:
    try:
        pattern = re.compile(node.attr("pattern"))
    except re.error as error:
        raise OnnxError(f"the pattern {node.attr('pattern')!r} is none that Python reads: {error}") from error
    words = texts(x)
    return np.array([pattern.fullmatch(t) is not None for t in words.reshape(-1)], bool).reshape(words.shape)


@op("StringSplit", raw=True)
def split(node: Node, x: Any) -> Any:
    words, delimiter, most = texts(x), node.attr("delimiter", "") or None, node.attr("maxsplit", -1)
    rows = [t.split(delimiter, most) if t else [] for t in words.reshape(-1)]
    width = max((len(r) for r in rows), default=0)
    made = np.array([r + [""] * (width - len(r)) for r in rows], object).reshape(*words.shape, width)
    return made, np.array([len(r) for r in rows], np.int64).reshape(words.shape)


@op("StringNormalizer", raw=True)
def normalize(node: Node, x: Any) -> Any:
    words, change = texts(x), node.attr("case_change_action", "NONE")
    stops, strict = node.attr("stopwords", []), bool(node.attr("is_case_sensitive", 0))
    if words.ndim == 2 and words.shape[0] != 1 or words.ndim not in (1, 2):
        raise OnnxError(f"StringNormalizer takes [C] or [1, C], got {list(words.shape)}")
    stops_set = set(stops) if strict else {s.lower() for s in stops}
    kept = [t for t in words.reshape(-1) if (t if strict else t.lower()) not in stops_set]
    if change in ("LOWER", "UPPER"):
        kept = [t.lower() if change == "LOWER" else t.upper() for t in kept]
    made = np.array(kept or [""], object)
    return made if words.ndim == 1 else made.reshape(1, -1)


@op("TfIdfVectorizer", raw=True)
def tf_idf(node: Node, x: Any) -> Any:
    array = texts(x) if isinstance(x, np.ndarray) and x.dtype.kind in "OUS" else np.asarray(host(x))
    pool = node.attr("pool_strings", None) or node.attr("pool_int64s")
    columns, starts = node.attr("ngram_indexes"), [*node.attr("ngram_counts"), len(pool)]
    shortest, longest, gap = node.attr("min_gram_length"), node.attr("max_gram_length"), node.attr("max_skip_count")
    places: dict[tuple[Any, ...], int] = {}
    entry = 0
    for length in range(1, len(starts)):
        for first in range(starts[length - 1], starts[length], length):
            places[tuple(pool[first : first + length])] = columns[entry]
            entry += 1
    weights, mode = node.attr("weights", None), node.attr("mode")
    rows = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    made = np.zeros((len(rows), max(columns) + 1), np.float32)
    for row, counts in zip(rows.tolist(), made):
        for length in range(shortest, longest + 1):
            for step in range(1, (gap if length > 1 else 0) + 2):
                for first in range(len(row) - (length - 1) * step):
                    gram = tuple(row[first : first + length * step : step])
                    if gram in places:
                        counts[places[gram]] += 1
    factors = np.ones(made.shape[1], np.float32)
    if weights is not None:
        factors[columns] = weights
    made = (made > 0).astype(np.float32) * factors if mode == "IDF" else made * factors if mode == "TFIDF" else made
    return made.reshape(-1) if array.ndim == 1 else made


