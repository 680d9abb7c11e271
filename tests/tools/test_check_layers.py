"""check_layers: the rules of the architecture page, on good and bad trees."""

import check_layers
import pytest
from conftest import ROOT

PAGE = """
<!-- table: rooms -->
| room | level | names | what |
|---|---|---|---|
| base | 0 | | |
| core | 1 | base | |
| op | 2 | core | |
| kernels | 2 | core | |
| backends/cpu | 3 | kernels | |
| api | 4 | op | |
<!-- end -->
<!-- table: libraries -->
| headers | rooms | library |
|---|---|---|
| hwy/ | backends/cpu | Highway |
<!-- end -->
<!-- table: forbidden in headers -->
| header | instead |
|---|---|
| iostream sstream | text |
<!-- end -->
"""
GOOD = {
    "docs/design/architecture.md": PAGE,
    "src/base/text.h": "#include <string>\n",
    "src/core/tensor.h": '#include "base/text.h"\n',
    "src/op/op.h": '#include "core/tensor.h"\n#include "base/text.h"\n',
    "src/kernels/kernel.h": '#include "core/tensor.h"\n',
    "src/backends/cpu/add.cpp": '#include <hwy/highway.h>\n#include "kernels/kernel.h"\n#include <sstream>\n',
    "src/api/headwater/headwater.h": '#include "headwater/call.h"\n#include "headwater/ops.h"\n',
    "src/api/headwater/call.h": '#include "op/op.h"\n',
    "python/bind/module.cpp": '#include "op/op.h"\n#include "bind/cast.h"\n',
}


def test_the_projects_own_tree_is_clean():
    assert check_layers.check(ROOT) == []


def test_a_good_tree_is_clean(plant):
    assert check_layers.check(plant(GOOD)) == []


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("src/core/bad.h", '#include "op/op.h"\n', "core (level 1) must not look up to op (level 2)"),
        ("src/op/bad.h", '#include "kernels/kernel.h"\n', "op (level 2) must not look up to kernels (level 2)"),
        ("src/backends/cpu/bad.cpp", '#include "op/op.h"\n', "backends/cpu does not name op"),
        ("src/core/bad.h", '#include "text.h"\n', "write the full path from src/"),
        ("src/core/bad.h", '#include "base/gone.h"\n', "no file of a room"),
        ("src/api/bad.h", '#include "headwater/gone.h"\n', "no file of a room"),
        ("src/op/bad.h", '#include "headwater/call.h"\n', "op (level 2) must not look up to api (level 4)"),
        ("src/core/bad.h", "#include <hwy/highway.h>\n", "only backends/cpu may"),
        ("src/core/bad.h", "  #  include <iostream>\n", "<iostream> in a header; instead: text"),
        ("src/core/bad.cpp", '#include "bind/cast.h"\n', "nothing includes python/bind"),
        ("src/attic/bad.h", "\n", "not in the table"),
        ("src/backends/new/bad.cpp", "\n", "not in the table"),
    ],
)
def test_a_bad_include_is_named(plant, name, text, words):
    errors = check_layers.check(plant({**GOOD, name: text}))
    assert len(errors) == 1, errors
    assert errors[0].startswith(name)
    assert words in errors[0]


def test_circles_between_folders_of_one_room_are_found(plant):
    tree = plant(
        {
            **GOOD,
            "src/kernels/a/a.h": '#include "kernels/b/b.h"\n',
            "src/kernels/b/b.h": "\n",
            "src/kernels/b/other.h": '#include "kernels/a/a.h"\n',
        }
    )
    assert check_layers.check(tree) == ["folders include each other in a circle: kernels/a > kernels/b > kernels/a"]


@pytest.mark.parametrize(("names", "words"), [("core", "only lower levels"), ("attic", "not in the table")])
def test_a_table_that_names_upward_is_refused(plant, names, words):
    page = PAGE.replace("| base | 0 | |", f"| base | 0 | {names} |")
    errors = check_layers.check(plant({**GOOD, "docs/design/architecture.md": page}))
    assert len(errors) == 1
    assert words in errors[0]


def test_a_missing_table_is_said(plant):
    with pytest.raises(ValueError, match="no table 'rooms'"):
        check_layers.check(plant({"docs/design/architecture.md": "nothing"}))
