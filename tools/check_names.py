"""Fails on file names that say nothing (util, helper, common, manager, impl) and text bound to one machine."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import tree

EMPTY_WORDS = {"util", "utils", "helper", "helpers", "common", "manager", "impl", "misc"}
TEXT = {".h", ".cpp", ".py", ".sh", ".cmake", ".md", ".toml", ".txt", ".json", ".yml", ".yaml", ""}
# Written apart, so that this file does not find itself.
MACHINE = [
    (re.compile(r"(?<![\w.$}])/(" + "work|root|home" + r")/\w"), "an absolute path of one machine"),
    (re.compile(r"https?://[\w.-]*(" + "pypi|pythonhosted|deb" + r"\.)[\w.-]*"), "a package registry's host"),
]
SNAKE = re.compile(r"^[a-z0-9_]+(-inl)?(\.[a-z0-9]+)*$")  # x-inl.h: Highway's name for "once per target"
TORCHS_NAMES = ("python/headwater/nn/utils/", "python/headwater/optim/swa_utils.py")  # packages whose names users know
NAMED_BY_OTHERS = {"CMakeLists.txt", "README.md", "RESULTS.md"}


def check_name(name: str) -> list[str]:
    """What is wrong with one path."""
    errors = []
    for part in Path(name).parts:
        words = set(re.split(r"[_.\-]", part.lower()))
        if (found := words & EMPTY_WORDS) and not name.startswith(TORCHS_NAMES):
            errors.append(f"{name}: '{found.pop()}' names nothing; put the code where its noun lives")
    last = Path(name).name
    ours = name.startswith(("src/", "python/", "tools/", "tests/")) and last not in NAMED_BY_OTHERS
    if ours and not SNAKE.match(last):
        errors.append(f"{name}: file names are snake_case")
    return errors


def check_text(name: str, text: str) -> list[str]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in MACHINE:
            if match := pattern.search(line):
                found.append(f"{name}:{number}: {what}: {match[0]}")
    return found


def check(root: Path) -> list[str]:
    errors = []
    for path in tree.files(root):
        name = path.relative_to(root).as_posix()
        errors += check_name(name)
        if path.suffix in TEXT:
            errors += check_text(name, path.read_text(errors="replace"))
    return errors


def main() -> int:
    errors = check(Path(sys.argv[1]) if len(sys.argv) > 1 else tree.ROOT)
    for error in errors:
        print(error)
    print(f"check_names: {len(errors)} violations" if errors else "check_names: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
