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
