"""Fails on includes that break the house rules: upward, to a room not named, in a circle, or of a fenced-in library.

The rules are the tables of docs/design/architecture.md. Run it from anywhere: python tools/check_layers.py [root].
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
BIND = "python/bind"


@dataclass
class Rules:
    """What the tables say."""

    level: dict[str, int] = field(default_factory=dict)
    names: dict[str, set[str]] = field(default_factory=dict)  # closed: what the named rooms name is named too
    libraries: list[tuple[str, set[str]]] = field(default_factory=list)  # prefix of a header, rooms that may use it
    heavy: dict[str, str] = field(default_factory=dict)  # standard header kept out of ours, what to use instead

    def room_of(self, path: str) -> str | None:
        """The room of a path below src/: backends/cpu before backends."""
        parts = path.split("/")
        for size in (2, 1):
            if len(parts) > size and "/".join(parts[:size]) in self.level:
                return "/".join(parts[:size])
        return None


def table(text: str, title: str) -> list[list[str]]:
    """The rows of the markdown table between <!-- table: title --> and <!-- end -->."""
    match = re.search(rf"<!-- table: {title} -->\n(.*?)<!-- end -->", text, re.DOTALL)
    if not match:
        raise ValueError(f"architecture.md has no table '{title}'")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in match[1].strip().splitlines()]
    return rows[2:]


def read_rules(page: Path) -> tuple[Rules, list[str]]:
    """The rules, and what is wrong with the tables themselves."""
    text = page.read_text()
    rules, errors = Rules(), []
    direct: dict[str, list[str]] = {}
    for room, level, names, _ in table(text, "rooms"):
        rules.level[room] = int(level)
        direct[room] = names.split()
    for room, named in direct.items():
        for name in named:
            if name not in rules.level:
                errors.append(f"{page.name}: room {room} names {name}, which is not in the table")
            elif rules.level[name] >= rules.level[room]:
                errors.append(
                    f"{page.name}: room {room} (level {rules.level[room]}) names {name} (level "
                    f"{rules.level[name]}); only lower levels may be named"
                )
    if not errors:
        for room in sorted(direct, key=rules.level.__getitem__):
            rules.names[room] = set(direct[room]).union(*(rules.names[name] for name in direct[room]))
    for prefixes, rooms, _ in table(text, "libraries"):
        rules.libraries += [(prefix, set(rooms.split())) for prefix in prefixes.split()]
    for headers, instead in table(text, "forbidden in headers"):
        rules.heavy.update(dict.fromkeys(headers.split(), instead))
    return rules, errors


def check_include(rules: Rules, root: Path, path: str, room: str, quote: str, target: str) -> str | None:
    """What is wrong with one include of the file at path (from the root), which stands in room."""
    for prefix, rooms in rules.libraries:
        if target.startswith(prefix) and room not in rooms:
            return f"includes {target}; only {', '.join(sorted(rooms))} may"
    if quote == "<":
        if path.endswith(".h") and target in rules.heavy:
            return f"includes <{target}> in a header; instead: {rules.heavy[target]}"
        return None
    if any(target.startswith(prefix) for prefix, _ in rules.libraries):
        return None
    if target.startswith("bind/"):
        return None if room == BIND else f"includes {target}; nothing includes {BIND}"
    if target.startswith("headwater/"):  # what C++ users include; ops.h is written at build time from the declarations
        target = f"api/{target}"
    to = rules.room_of(target)
    if to is None or not ((root / "src" / target).exists() or target == "api/headwater/ops.h"):
        return f'includes "{target}", which is no file of a room; write the full path from src/'
    if room in (BIND, to) or to in rules.names[room]:
        return None
    if rules.level[to] >= rules.level[room]:
        return (
            f"includes {target}: {room} (level {rules.level[room]}) must not look up to {to} (level {rules.level[to]})"
        )
    return f"includes {target}, but {room} does not name {to} (docs/design/architecture.md)"


def find_cycle(graph: dict[str, set[str]]) -> list[str] | None:
    """Some circle in the graph, as the folders along it."""
    done: set[str] = set()

    def visit(node: str, trail: list[str]) -> list[str] | None:
        if node in trail:
            return [*trail[trail.index(node) :], node]
        if node in done:
            return None
        for following in sorted(graph.get(node, ())):
            if cycle := visit(following, [*trail, node]):
                return cycle
        done.add(node)
        return None

    for start in sorted(graph):
        if cycle := visit(start, []):
            return cycle
    return None


def check(root: Path) -> list[str]:
    """All violations in the tree at root."""
    rules, errors = read_rules(root / "docs/design/architecture.md")
    if errors:
        return errors
    folders: dict[str, set[str]] = defaultdict(set)
    files = [
        file for place in ("src", BIND) for file in sorted((root / place).rglob("*")) if file.suffix in (".h", ".cpp")
    ]
    for file in files:
        path = file.relative_to(root).as_posix()
        room = BIND if path.startswith(BIND) else rules.room_of(path.removeprefix("src/"))
        if room is None:
            errors.append(f"{path}: its folder is not in the table of docs/design/architecture.md")
            continue
        for match in INCLUDE.finditer(file.read_text()):
            if error := check_include(rules, root, path, room, match[1], match[2]):
                errors.append(f"{path}: {error}")
            elif match[1] == '"' and path.startswith("src/") and (root / "src" / match[2]).exists():
                here, there = path.removeprefix("src/").rpartition("/")[0], match[2].rpartition("/")[0]
                if here != there and not file.stem.endswith("_test"):
                    folders[here].add(there)
    if cycle := find_cycle(folders):
        errors.append("folders include each other in a circle: " + " > ".join(cycle))
    return errors


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    errors = check(root)
    for error in errors:
        print(error)
    print(f"check_layers: {len(errors)} violations" if errors else "check_layers: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
