"""check_names: empty file names and text bound to one machine."""

import check_names
import pytest
from conftest import ROOT


def test_the_projects_own_tree_is_clean():
    assert check_names.check(ROOT) == []


@pytest.mark.parametrize(
    "name",
    [
        "src/core/util.h",
        "src/core/tensor_utils.cpp",
        "python/headwater/helpers/x.py",
        "src/common/a.h",
        "src/core/memory_manager.h",
        "src/core/tensor-impl.h",
    ],
)
def test_names_that_say_nothing(name):
    assert any("names nothing" in error for error in check_names.check_name(name))


@pytest.mark.parametrize("name", ["src/core/Tensor.h", "python/headwater/someThing.py"])
def test_names_are_snake_case(name):
    assert check_names.check_name(name) == [f"{name}: file names are snake_case"]


@pytest.mark.parametrize(
    "name",
    [
        "src/core/tensor.h",
        "CMakeLists.txt",
        "python/CMakeLists.txt",
        "src/core/README.md",
        "python/headwater/__init__.py",
        "src/kernels/commonality.h",
        "THIRD_PARTY_NOTICES",
    ],
)
def test_good_names(name):
    assert check_names.check_name(name) == []


@pytest.mark.parametrize(
    "text", ["see /" + "work/main", "'/" + "root/x'", "cd /" + "home/me", "https://" + "pypi.org/simple"]
)
def test_text_bound_to_a_machine(text):
    assert len(check_names.check_text("a.py", "fine\n" + text + "\n")) == 1


@pytest.mark.parametrize("text", ["/usr/include", "a/work/b", "$root/python", "the /proc/self file", "net/home/x"])
def test_text_that_is_fine(text):
    assert check_names.check_text("a.py", text) == []
