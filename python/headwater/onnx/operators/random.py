"""Random numbers: from Headwater's generator. The attribute `seed` is not followed: hw.manual_seed is."""
from __future__ import annotations

from typing import Any

import headwater as hw

from ..element_types import core_type, from_onnx
from ..node import Node
from ..registry import op


def _draw(node: Node, shape: list[int], dtype: Any) -> Any:
    if node.op.startswith("RandomNormal"):
        return (hw.randn(shape) * node.attr("scale", 1.0) + node.attr("mean", 0.0)).to(dtype)
    low, high = node.attr("low", 0.0), node.attr("high", 1.0)
    return (hw.rand(shape) * (high - low) + low).to(dtype)


@op("RandomNormal", "RandomUniform", fresh=True)
def random(node: Node) -> Any:
    return _draw(node, node.attr("shape"), core_type(from_onnx(node.attr("dtype", 1))))


@op("RandomNormalLike", "RandomUniformLike", fresh=True)
def random_like(node: Node, x: Any) -> Any:
    number = node.attr("dtype", 0)
    return _draw(node, list(x.shape), core_type(from_onnx(number)) if number else x.dtype)


@op("Bernoulli", fresh=True)
def bernoulli(node: Node, x: Any) -> Any:
    number = node.attr("dtype", 0)
    return (hw.rand(list(x.shape)) < x).to(core_type(from_onnx(number)) if number else x.dtype)


@op("Multinomial", fresh=True)
def multinomial(node: Node, x: Any) -> Any:
    drawn = hw.multinomial(hw.softmax(x.to(hw.float32), -1), node.attr("sample_size", 1), True)
    return drawn.to(core_type(from_onnx(node.attr("dtype", 6))))
