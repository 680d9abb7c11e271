"""Lets the tests of the tools import them, and makes small trees for them to judge."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))


@pytest.fixture
def plant(tmp_path):
    """plant({"src/a.h": "text"}) writes files below a fresh folder and returns it."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write
