"""Runs the Python blocks of each page of the guide, and of the README, in order, in one namespace, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"
PAGES = sorted(path.name for path in GUIDE.glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def program(page):
    """The blocks with their line numbers kept, so that a traceback points into the page."""
    text = (GUIDE / page).read_text()
    lines, at = [], 0
    for match in BLOCK.finditer(text):
        start = text[: match.start(1)].count("\n")
        lines += [""] * (start - at) + match[1].splitlines()
        at = start + match[1].count("\n")
    return "\n".join(lines)


@pytest.mark.parametrize("page", [*PAGES, "../../README.md"])
def test_page(page, tmp_path):
    """As a script of its own: a page may start worker processes and set global options."""
    code = program(page)
    if not code.strip():
        pytest.skip("no Python in it")
    script = tmp_path / f"{Path(page).stem}_md.py"
    script.write_text(code + "\n")
    path = os.pathsep.join([str(Path("python").resolve()), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg", "HEADWATER_NUM_THREADS": "1"}  # tests run side by side
    out = subprocess.run([sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=110)
    assert out.returncode == 0, out.stderr[-3000:]


def test_the_index_names_every_page():
    index = (GUIDE / "README.md").read_text()
    assert not [page for page in PAGES if page != "README.md" and f"({page})" not in index]
