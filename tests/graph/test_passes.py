"""Passes from Python: the records, switches, and equal results of a graph before and after each pass."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from captured import Block, Convolutions, graph_of

import headwater as hw
from headwater import _C

SIMPLIFY = ["remove_dead", "fold_constants", "simplify_algebra", "merge_equal"]


def tensors_for(graph: object, seed: int) -> list[hw.Tensor]:
    hw.manual_seed(seed)
    return [
        hw.rand(s["shape"]) + 0.5 if s["dtype"] == hw.float32 else hw.randint(0, 3, s["shape"])
        for s in graph.sources
        if s["kind"] != "const"
    ]


def programs() -> dict[str, object]:
    hw.manual_seed(0)
    block, convolutions = Block(16, 2).eval(), Convolutions().eval()

    def algebra(x: hw.Tensor, n: hw.Tensor) -> tuple[hw.Tensor, ...]:
        y = (x * 1 - 0) / 1
        z = x.neg().neg() + x.t().t() + x.clone().to(hw.float64).to(hw.float32)
        return y.reshape(12).reshape(4, 3).exp() + (x / 4).exp() + (x * 0.25).exp(), z, n * 1 + 0, z + 0.0

    with hw.no_grad():
        return {
            "attention": graph_of(block.forward, hw.randn(2, 5, 16)),
            "convolutions": graph_of(convolutions.forward, hw.randn(2, 3, 6, 6)),
            "algebra": graph_of(algebra, hw.randn(4, 3), hw.ones(4, 3, dtype=hw.int64)),
            "constants": graph_of(
                lambda x: x * (hw.arange(3).to(hw.float32).exp() + hw.full((3,), 2.0)), hw.randn(4, 3)
            ),
        }


@pytest.mark.parametrize("name", ["attention", "convolutions", "algebra", "constants"])
@pytest.mark.parametrize("passes", [*([p] for p in SIMPLIFY), SIMPLIFY, [*SIMPLIFY, *SIMPLIFY]], ids="-".join)
def test_passes_keep_every_bit(name: str, passes: list[str]) -> None:
    graph = programs()[name]
    after = graph.copy()
    after.run_passes(passes)
    inputs = tensors_for(graph, 3)
    for want, have in zip(graph.evaluate(inputs), after.evaluate(inputs), strict=True):
        assert np.array_equal(want.numpy(), have.numpy(), equal_nan=True)
        assert want.dtype == have.dtype and want.stride() == have.stride()


def test_passes_find_what_is_there() -> None:
    graph = programs()["algebra"]
    before = len(graph)
    graph.run_passes([*SIMPLIFY, "remove_dead"])
    # left: two exp, the sums of three, x * 0.25, z = x + x + x, z + 0.0, and what gives the caller a copy of n
    assert len(graph) == 9 and before > 20, graph.text()
    again = graph.copy()
    assert not any(r["changed"] for r in again.run_passes([*SIMPLIFY, "remove_dead"]))


def test_batch_norm_folds_when_frozen() -> None:
    graph = programs()["convolutions"]
    inputs = tensors_for(graph, 1)
    frozen = graph.copy()
    (record,) = frozen.run_passes(["fold_batch_norm"], frozen=True)
    assert record["changed"] and record["stage"] == "simplify" and record["seconds"] >= 0
    assert not graph.run_passes(["fold_batch_norm"])[0]["changed"]
    per_channel = "addcmul(view(_), convolution(...), view(_))"
    assert len(graph.find(per_channel)) == 2 and not frozen.find(per_channel)
    np.testing.assert_allclose(frozen.evaluate(inputs)[0].numpy(), graph.evaluate(inputs)[0].numpy(), rtol=1e-4)


def test_records() -> None:
    graph = _C.Graph.parse("input %0: f32[2]\n%1: f32[2] = exp(%0)\n%2: f32[2] = neg(%0)\noutput %2")
    dead, common = graph.run_passes(["remove_dead", "merge_equal"], dump="remove_dead", off="merge_equal")
    assert (dead["nodes_before"], dead["nodes_after"], dead["changed"]) == (2, 1, True)
    assert "exp" in dead["before"] and "exp" not in dead["after"] and common["before"] == ""
    assert common["off"] and not dead["off"]
    with pytest.raises(KeyError, match="there is no pass 'nothing'; there are .*remove_dead"):
        graph.run_passes(["nothing"])


def test_switched_off_by_environment() -> None:
    code = (
        "from headwater import _C\n"
        "g = _C.Graph.parse('input %0: f32[2]\\n%1: f32[2] = exp(%0)\\noutput %0')\n"
        "print([r['off'] for r in g.run_passes(['remove_dead', 'merge_equal'])], len(g))"
    )
    env = {**os.environ, "HEADWATER_PASSES_OFF": "remove_dead"}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[True, False] 1"


def test_the_table_of_contents() -> None:
    text = _C.pipeline_text()
    assert text.startswith("simplify\n")
    for name in _C.pipeline_names():
        assert f"  {name} " in text
