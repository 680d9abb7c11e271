"""Fails when a dependency has no entry in THIRD_PARTY_NOTICES, or an entry names nothing that is used.

Dependencies are the requirements in pyproject.toml, the packages in scripts/apt-packages.txt, and what the CMake files
find. An entry is a heading `## name` followed by lines `Packages:`, `Licence:` and `Used:`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import tree

FIELDS = ("Packages", "Licence", "Used")
CMAKE_FIND = re.compile(r"^\s*find_(package|library|path)\(\s*(\w+)(?:\s+NAMES)?(?:\s+([\w./-]+))?", re.MULTILINE)


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def python_requirements(root: Path) -> dict[str, str]:
    data = tomllib.loads((root / "pyproject.toml").read_text())
    lists = [data["build-system"]["requires"], data["project"].get("dependencies", [])]
    lists += data["project"].get("optional-dependencies", {}).values()
    names = [re.match(r"[\w.-]+", line) for lines in lists for line in lines]
    return {plain(match[0]): "pyproject.toml" for match in names if match}


def apt_packages(root: Path) -> dict[str, str]:
    lines = (root / "scripts/apt-packages.txt").read_text().splitlines()
    names = [line.lstrip("? ").strip() for line in lines if line.strip() and not line.startswith("#")]
    return {plain(name): "scripts/apt-packages.txt" for name in names}


def cmake_finds(root: Path) -> dict[str, str]:
    """What find_package, find_library and find_path look for: the package, or the variable's first word."""
    found = {}
    for path in tree.files(root):
        if path.name == "CMakeLists.txt" or path.suffix == ".cmake":
            for kind, name, _ in CMAKE_FIND.findall(path.read_text()):
                found[plain(name if kind == "package" else name.split("_")[0])] = path.relative_to(root).as_posix()
    return found


def entries(text: str) -> dict[str, dict[str, str]]:
    """Heading -> field -> value."""
    result = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        result[title.strip()] = {
            field: match[1].strip()
            for field in FIELDS
            if (match := re.search(rf"^{field}: (.+(?:\n .+)*)", body, re.MULTILINE))
        }
    return result


def check(root: Path) -> list[str]:
    needed = python_requirements(root) | apt_packages(root) | cmake_finds(root)
    own = {"headwater"}
    errors, listed = [], {}
    for title, fields in entries((root / "THIRD_PARTY_NOTICES").read_text()).items():
        errors += [f"THIRD_PARTY_NOTICES: '{title}' has no line '{field}:'" for field in FIELDS if field not in fields]
        names = {plain(name) for name in re.split(r"[,\s]+", fields.get("Packages", "")) if name}
        listed.update(dict.fromkeys(names, title))
        if names and not names & set(needed) and "(bundled)" not in fields["Packages"]:
            errors.append(f"THIRD_PARTY_NOTICES: nothing here asks for '{title}' ({', '.join(sorted(names))})")
    for name, where in sorted(needed.items()):
        if name not in listed and name not in own:
            errors.append(f"{where}: {name} has no entry in THIRD_PARTY_NOTICES (in some entry's 'Packages:')")
    return errors


def main() -> int:
    errors = check(Path(sys.argv[1]) if len(sys.argv) > 1 else tree.ROOT)
    for error in errors:
        print(error)
    print(f"check_notices: {len(errors)} violations" if errors else "check_notices: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
