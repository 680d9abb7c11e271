"""check_size: limits on files, functions and READMEs, and the first line."""

import check_size
import pytest

README = "# core\n"


def body(lines):
    return "".join(f"  x = {i};\n" for i in range(lines))


def errors(plant, files):
    return check_size.check(plant({"src/core/README.md": README, **files}))[0]


def test_a_long_file_fails_and_a_longish_one_is_noted(plant):
    line = "int a;\n"
    tree = plant(
        {
            "src/core/README.md": README,
            "src/core/a.h": "// Says what.\n" + line * 600,
            "src/core/b.h": "// Says what.\n" + line * 450,
            "src/core/c.h": "// Says what.\n" + line * 300,
        }
    )
    found, notes = check_size.check(tree)
    assert found == ["src/core/a.h: 601 lines; 600 are the limit, split it by its nouns"]
    assert notes == ["src/core/b.h: 451 lines"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/core/a.h", "#pragma once\n"),
        ("src/core/a.cpp", "// tensor\n"),
        ("python/headwater/a.py", "import os\n"),
        ("scripts/a.sh", "#!/bin/sh\nset -e\n"),
    ],
)
def test_the_first_line_says_what_for(plant, name, text):
    readmes = {"scripts/README.md": "# scripts\n"}
    assert any(e.startswith(name) and "first line" in e for e in errors(plant, {**readmes, name: text}))


def test_good_first_lines_pass(plant):
    assert (
        errors(
            plant,
            {
                "src/core/a.h": "// Tensors and views.\n",
                "python/headwater/a.py": '"""Tensors and views."""\n',
                "python/headwater/__init__.py": "",
            },
        )
        == []
    )


@pytest.mark.parametrize(
    "opening",
    [
        "void f() {\n",
        "static std::vector<int> f(const std::vector<int>& a,\n                          int b) {\n",
        "template <class T>\nT g(T a) {\n",
        "#define X(a) a\nnamespace hw {\nint f() {\n",
        "struct S {\n  void method() const override {\n",
        'static const OpDef add = OpDef("a{d").grad("x", [](GradCtx& g) {\n',
    ],
)
def test_long_functions_are_found(plant, opening):
    good = errors(plant, {"src/core/a.cpp": "// Says what.\n" + opening + body(55) + "}\n}\n}\n"})
    assert good == []
    bad = errors(plant, {"src/core/a.cpp": "// Says what.\n" + opening + body(60) + "}\n}\n}\n"})
    assert len(bad) == 1
    assert "a function of 62 lines" in bad[0]


@pytest.mark.parametrize(
    "opening",
    [
        "namespace hw {\n",
        "struct S {\n",
        "enum class E {\n",
        "class A : public B<int()> {\n",
        "template <class T, int n = (1)>\nclass A {\n",
    ],
)
def test_what_is_no_function_may_be_long(plant, opening):
    assert errors(plant, {"src/core/a.cpp": "// Says what.\n" + opening + "int a;\n" * 100 + "}\n"}) == []


def test_braces_in_text_do_not_count(plant):
    text = (
        '// Says what.\nint f() {\n  g(\'}\', "}}{", R"x(}})x");  // }\n  /* } */\n  int n = 1\'000;\n'
        + body(60)
        + "}\n"
    )
    assert len(errors(plant, {"src/core/a.cpp": text})) == 1


def test_a_table_may_be_long_when_it_says_so(plant):
    long = "void f() {\n" + body(70) + "}\n"
    reason = "// NOLINT(readability-function-size): one line per op\n"
    assert errors(plant, {"src/core/a.cpp": "// Says what.\n" + reason + long}) == []


def test_python_functions_are_measured(plant):
    text = '"""Says what."""\n\n\ndef f():\n' + "    a = 1\n" * 60
    assert errors(plant, {"python/headwater/a.py": text}) == [
        "python/headwater/a.py:4: a function of 61 lines; 60 are the limit"
    ]


def test_rooms_need_a_short_readme(plant):
    tree = plant(
        {"src/core/a.h": "// Says what.\n", "src/base/a.h": "// Says what.\n", "src/base/README.md": "a\n" * 41}
    )
    assert check_size.check(tree)[0] == [
        "src/base/README.md: 41 lines; 40 are the limit",
        "src/core: no README.md (purpose, level, the file to copy, how to test)",
    ]
