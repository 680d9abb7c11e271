"""Fails on files and functions that outgrew a reader: 600 lines a file, 60 a function, 40 a room's README.

Also fails when a source file does not say in its first line what it is for, or when a room has no README. A function
that is a plain table may be longer if the line before it carries `NOLINT(readability-function-size): reason`.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import tree

MOST_LINES, MANY_LINES, FUNCTION_LINES, README_LINES = 600, 400, 60, 40
SOURCES = {".h", ".cpp", ".py", ".sh", ".cmake", ".map"}
NOT_A_FUNCTION = re.compile(r"^\s*(template\s*<[^{]*>\s*)?(namespace|struct|class|enum|union|extern)\b")
NOT_CODE = re.compile(
    r"""^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*       # a directive with its continuation lines
      | R"(\w*)\(.*?\)\1"                  # a raw string
      | //[^\n]* | /\*.*?\*/               # comments
      | "(?:\\.|[^"\\\n])*"                # a string
      | (?<!\d)'(?:\\.|[^'\\\n])+'         # a character, and not a digit separator
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
EXEMPT = re.compile(r"NOLINT\(readability-function-size\): \w+")


def is_source(path: Path) -> bool:
    return path.suffix in SOURCES or path.name == "CMakeLists.txt"


def says_its_purpose(path: Path, lines: list[str]) -> bool:
    """Whether the first line (after a shebang) is a comment or docstring with words in it."""
    first = lines[1] if lines and lines[0].startswith("#!") and len(lines) > 1 else (lines or [""])[0]
    opening = r"(//|/\*)" if path.suffix in (".h", ".cpp") else r'(#|r?""")'
    comment = re.match(opening + r"\s*(.*)", first)
    return comment is not None and len(comment[2].split()) >= 2


def without_text(code: str) -> str:
    """The code with comments, strings, characters and directives blanked out, line breaks kept."""
    return NOT_CODE.sub(lambda match: "\n" * match[0].count("\n"), code)


def cpp_functions(code: str) -> list[tuple[int, int]]:
    """First line (from 0) and length of each outermost function or file-level lambda: braces whose statement has a
    parameter list and no keyword that opens another kind of block."""
    found: list[tuple[int, int]] = []
    stack: list[tuple[bool, int]] = []
    statement, line = "", 0
    for char in without_text(code):
        if char == "{":
            inside = any(is_function for is_function, _ in stack)
            is_function = "(" in statement and not NOT_A_FUNCTION.search(statement) and not inside
            stack.append((is_function, line))
            statement = ""
        elif char == "}" and stack:
            is_function, start = stack.pop()
            if is_function:
                found.append((start, line - start + 1))
            statement = ""
        elif char == ";":
            statement = ""
        else:
            statement += char
        line += char == "\n"
    return found


def python_functions(text: str) -> list[tuple[int, int]]:
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [(node.lineno - 1, (node.end_lineno or node.lineno) - node.lineno + 1) for node in nodes]


def check_file(path: Path, name: str) -> tuple[list[str], list[str]]:
    """Errors and warnings of one source file."""
    text = path.read_text()
    lines = text.splitlines()
    errors, warnings = [], []
    if len(lines) > MOST_LINES:
        errors.append(f"{name}: {len(lines)} lines; {MOST_LINES} are the limit, split it by its nouns")
    elif len(lines) > MANY_LINES:
        warnings.append(f"{name}: {len(lines)} lines")
    if lines and not says_its_purpose(path, lines):
        errors.append(f"{name}: the first line must be a comment that says what the file is for")
    functions = python_functions(text) if path.suffix == ".py" else []
    if path.suffix in (".h", ".cpp"):
        functions = cpp_functions(text)
    for start, length in functions:
        if length > FUNCTION_LINES and not EXEMPT.search("\n".join(lines[max(0, start - 2) : start + 1])):
            errors.append(f"{name}:{start + 1}: a function of {length} lines; {FUNCTION_LINES} are the limit")
    return errors, warnings


def check_readmes(root: Path, files: list[Path]) -> list[str]:
    """Each room (a folder directly under src/ with sources, and the tool folders) has a README of at most 40 lines."""
    rooms = {
        root / "src" / path.relative_to(root).parts[1]
        for path in files
        if path.relative_to(root).parts[0] == "src" and is_source(path) and len(path.relative_to(root).parts) > 2
    }
    rooms |= {root / name for name in ("tools", "scripts", "cmake") if (root / name).is_dir()}
    errors = []
    for room in sorted(rooms):
        readme, name = room / "README.md", room.relative_to(root).as_posix()
        if not readme.exists():
            errors.append(f"{name}: no README.md (purpose, level, the file to copy, how to test)")
        elif (count := len(readme.read_text().splitlines())) > README_LINES:
            errors.append(f"{name}/README.md: {count} lines; {README_LINES} are the limit")
    return errors


def check(root: Path) -> tuple[list[str], list[str]]:
    files = tree.files(root)
    errors, warnings = check_readmes(root, files), []
    for path in files:
        if is_source(path):
            more_errors, more_warnings = check_file(path, path.relative_to(root).as_posix())
            errors += more_errors
            warnings += more_warnings
    return errors, warnings


def main() -> int:
    errors, warnings = check(Path(sys.argv[1]) if len(sys.argv) > 1 else tree.ROOT)
    for warning in warnings:
        print(f"note: {warning}")
    for error in errors:
        print(error)
    print(f"check_size: {len(errors)} violations" if errors else "check_size: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
