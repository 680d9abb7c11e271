"""Every declaration is complete, tested, and its examples run."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import headwater as hw
from harness import TESTED

OPS = {name: hw._C.describe_op(name) for name in hw._C.op_names()}
PUBLIC = [name for name, info in OPS.items() if not info["internal"]]


@pytest.mark.parametrize("name", list(OPS))
def test_declaration_is_complete(name: str) -> None:
    assert OPS[name]["problems"] == ""


def test_every_public_op_has_a_test() -> None:
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        if file.stem != "test_registry":
            importlib.import_module(file.stem)
    missing = sorted(set(PUBLIC) - set(TESTED))
    assert not missing, f"{len(missing)} ops without op_test: {' '.join(missing)}"


def test_every_kernel_op_has_a_reference_kernel() -> None:
    moves = {"_boxing", "_exchange"}  # between ranks: src/eager/global
    kernels = {n: i for n, i in OPS.items() if i["kind"] == "kernel" and n not in moves}
    without = [n for n, i in kernels.items() if not any(k["name"] == "reference" for k in i["kernels"])]
    assert not without, f"{len(without)} ops without a reference kernel: {' '.join(without)}"


def test_every_kernel_op_has_a_cost() -> None:
    """A rule for its operations, or declared as bound by memory: by `cost::bandwidth_bound`, or elementwise by its split rule."""
    without = [n for n, i in OPS.items() if i["kind"] == "kernel" and i["cost"] not in ("operations", "bytes")]
    assert not without, f"{len(without)} ops without .flops(): {' '.join(without)}"
    of = {n: OPS[n]["cost"] for n in ("max_pool", "sort", "cumsum", "_interpolate", "mm", "add", "tanh", "cat", "gather")}
    assert set(list(of.values())[:5]) == {"operations"} and set(list(of.values())[5:]) == {"bytes"}


def test_costs() -> None:
    F = hw.nn.functional
    image, row = hw.ones(2, 3, 8, 8), hw.ones(5, 16)
    calls = {
        "max_pool": (lambda: F.max_pool2d(image, 3, 2, 1), 2 * 3 * 4 * 4 * 9),
        "avg_pool": (lambda: F.avg_pool2d(image, 2), 2 * 3 * 4 * 4 * 4),
        "sort": (lambda: row.sort(1), 5 * 16 * 4),
        "topk": (lambda: row.topk(2, 1), 5 * 16 * 4),
        "cumsum": (lambda: row.cumsum(1), 5 * 16),
        "searchsorted": (lambda: hw.searchsorted(row[0], row), 5 * 16 * 4),
        "_interpolate": (lambda: F.interpolate(image, size=(4, 4), mode="bilinear"), 2 * 3 * 4 * 4 * 4),
        "sum": (lambda: row.sum(), 5 * 16),
        "rand": (lambda: hw.rand(5, 16), 2 * 5 * 16),
        "gather": (lambda: row.gather(1, hw.zeros(5, 16, dtype=hw.int64)), 0),
    }
    for name, (call, operations) in calls.items():
        with hw.profile(with_flops=True) as p:
            call()
        found = [e.flops for e in p.events() if e.kind == "op" and e.name == name]
        assert found == [operations], name


@pytest.mark.parametrize("name", [n for n in OPS if OPS[n]["example"]])
def test_example(name: str) -> None:
    parsed = doctest.DocTestParser().get_doctest(OPS[name]["example"] + "\n", {"hw": hw}, name, OPS[name]["file"], 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    result = runner.run(parsed, out=report.append)
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize("name", PUBLIC)
def test_docs_name_every_argument(name: str) -> None:
    info = OPS[name]
    assert info["doc"].endswith((".", "`", ")")), "the documentation is not a sentence"
    for argument in list(info["inputs"]) + [a for a in info["attrs"] if not a["hidden"]]:
        assert argument["doc"], f"argument '{argument['name']}' has no documentation"
