"""Runs the examples in docstrings of the package. Those of operators are run by tests/ops/test_registry.py."""

import doctest
import importlib
import pkgutil

import pytest

import headwater as hw

NOT_IMPORTED = {"headwater.__main__", "headwater._C"}


def examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for info in pkgutil.walk_packages(hw.__path__, "headwater."):
        if info.name in NOT_IMPORTED or info.name.rpartition(".")[2].startswith("lib"):
            continue
        module = importlib.import_module(info.name)
        for test in finder.find(module, extraglobs={"hw": hw}):
            if test.examples:
                yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("test", list(examples()))
def test_example(test, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hw.manual_seed(0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    said = []
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)
