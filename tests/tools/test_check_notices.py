"""check_notices: every dependency has an entry, every entry a use."""

import check_notices
import pytest
from conftest import ROOT

GOOD = {
    "pyproject.toml": '[build-system]\nrequires = ["scikit-build_core==1"]\n[project]\ndependencies = ["numpy>=1"]\n'
    "[project.optional-dependencies]\ntest = [\"ml_dtypes; python_version > '3'\"]\n",
    "scripts/apt-packages.txt": "# a comment\ng++\n? mold\n",
    "CMakeLists.txt": "find_package(OpenMP REQUIRED)\nfind_path(HWY_INCLUDE_DIR hwy/highway.h)\n",
    "THIRD_PARTY_NOTICES": "Text.\n\n## All\nPackages: scikit-build-core, NumPy ml-dtypes, g++, mold, openmp, hwy\n"
    "Licence: MIT\nUsed: here\n more\n\n"
    "## Inside\nPackages: robin-map (bundled)\nLicence: MIT\nUsed: there\n",
}


def test_the_projects_own_tree_is_clean():
    assert check_notices.check(ROOT) == []


def test_a_good_tree_is_clean(plant):
    assert check_notices.check(plant(GOOD)) == []


@pytest.mark.parametrize(
    ("name", "text", "missing"),
    [
        ("scripts/apt-packages.txt", "g++\nmold\nlibnew-dev\n", "libnew-dev"),
        ("CMakeLists.txt", "find_package(OpenMP)\nfind_path(HWY_X h)\nfind_package(Zlib)\n", "zlib"),
        ("CMakeLists.txt", "find_package(OpenMP)\nfind_path(HWY_X h)\nfind_library(NEW_LIBRARY NAMES new)\n", "new"),
        ("pyproject.toml", GOOD["pyproject.toml"].replace("numpy>=1", 'numpy", "rich==2'), "rich"),
    ],
)
def test_a_missing_entry_is_named(plant, name, text, missing):
    errors = check_notices.check(plant({**GOOD, name: text}))
    assert errors == [f"{name}: {missing} has no entry in THIRD_PARTY_NOTICES (in some entry's 'Packages:')"]


def test_a_stale_entry_and_a_missing_licence_are_named(plant):
    notices = GOOD["THIRD_PARTY_NOTICES"] + "\n## Old\nPackages: old\nUsed: never\n"
    assert check_notices.check(plant({**GOOD, "THIRD_PARTY_NOTICES": notices})) == [
        "THIRD_PARTY_NOTICES: 'Old' has no line 'Licence:'",
        "THIRD_PARTY_NOTICES: nothing here asks for 'Old' (old)",
    ]
