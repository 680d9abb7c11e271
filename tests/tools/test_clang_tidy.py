"""clang_tidy: findings are told, clean files are remembered by content."""

import clang_tidy
import pytest
from conftest import ROOT

CLEAN = "// Adds.\nnamespace hw {\nint add(int a, int b) { return a + b; }\n}  // namespace hw\n"
DIRTY = '// Compares.\n#include <cstring>\nbool f(const char* a) { return strcmp(a, "b") == 3; }\nint* p = 0;\n'


@pytest.fixture
def tree(plant, monkeypatch):
    """A small tree under the project's own configuration, with an empty cache."""
    root = plant({".clang-tidy": (ROOT / ".clang-tidy").read_text(), "src/clean.cpp": CLEAN})
    monkeypatch.setattr(clang_tidy.tree, "ROOT", root)
    monkeypatch.setattr(clang_tidy, "CACHE", root / "cache")
    return root


def test_a_clean_file_is_looked_at_once(tree, capsys):
    assert clang_tidy.main() == 0
    assert "1 files, 1 looked at" in capsys.readouterr().out
    assert clang_tidy.main() == 0
    assert "1 files, 0 looked at" in capsys.readouterr().out


def test_a_finding_fails_again_and_again(tree, capsys):
    (tree / "src/dirty.cpp").write_text(DIRTY)
    for _ in range(2):
        assert clang_tidy.main() == 1
        said = capsys.readouterr().out
        assert "modernize-use-nullptr" in said
        assert "1 with findings" in said


def test_another_configuration_forgets(tree, capsys):
    assert clang_tidy.main() == 0
    (tree / ".clang-tidy").write_text((tree / ".clang-tidy").read_text() + "\n# changed\n")
    assert clang_tidy.main() == 0
    assert "1 looked at" in capsys.readouterr().out.splitlines()[-1]


def test_files_of_one_folder_share_names_and_findings_are_told_for_each(tree, capsys, monkeypatch):
    """Looked at together; of two functions of one name that each file has to itself, the bad one is found."""
    helper = "namespace {\nint helper(int a) { return a + 1; }\n}  // namespace\n"
    for name in ("a", "b", "c"):
        text = f"// One.\nnamespace hw {{\n{helper}int {name}() {{ return helper(2); }}\n}}  // namespace hw\n"
        (tree / f"src/{name}.cpp").write_text(text)
    alone, tidy = [], clang_tidy.tidy
    monkeypatch.setattr(clang_tidy, "tidy", lambda unit, arguments: alone.append(unit) or tidy(unit, arguments))
    assert clang_tidy.main() == 0
    assert "4 files, 4 looked at" in capsys.readouterr().out
    assert alone == []
    bad = (tree / "src/b.cpp").read_text().replace("return a + 1;", "int* Bad = 0; return Bad == nullptr ? a : 0;")
    (tree / "src/b.cpp").write_text(bad)
    (tree / "src/c.cpp").write_text((tree / "src/c.cpp").read_text() + "// Changed.\n")
    assert clang_tidy.main() == 1
    said = capsys.readouterr().out
    assert "modernize-use-nullptr" in said and "b.cpp" in said and "c.cpp" not in said
    assert "2 looked at" in said and "1 with findings" in said


def test_a_header_beside_headers_is_looked_at(tree, capsys):
    for name in ("a", "b"):
        (tree / f"src/{name}.h").write_text(f"// One.\n#pragma once\nnamespace hw {{\nint* {name}();\n}}  // namespace hw\n")
    assert clang_tidy.main() == 0
    (tree / "src/b.h").write_text((tree / "src/b.h").read_text().replace("int* b();", "inline int* b() { return 0; }"))
    (tree / "src/a.h").write_text((tree / "src/a.h").read_text() + "// Changed.\n")
    assert clang_tidy.main() == 1
    assert "1 with findings" in capsys.readouterr().out
