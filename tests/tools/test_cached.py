"""The compiler's launcher: what it tells ccache, and that no old precompiled header is read while a new one is made."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def launched(folder: Path, *arguments: str) -> str:
    """Runs the launcher with a stand-in for ccache that prints what it got."""
    stand_in = folder / "ccache"
    stand_in.write_text('#!/bin/sh\necho "$CCACHE_BASEDIR $CCACHE_SLOPPINESS"\nfor a; do echo "[$a]"; done\nexit 3\n')
    stand_in.chmod(0o755)
    command = [str(ROOT / "cmake/cached.sh"), "/checkout of mine", str(stand_in), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
    assert done.returncode == 3, done.stderr
    return done.stdout


def test_arguments_settings_and_status_go_through(tmp_path: Path) -> None:
    out = launched(tmp_path, "c++", "-DA=\"b c\"", "-o", "x.o", "-c", "x y.cpp")
    assert out.splitlines() == ["/checkout of mine pch_defines,time_macros", "[c++]", '[-DA="b c"]', "[-o]", "[x.o]", "[-c]", "[x y.cpp]"]


def test_an_old_precompiled_header_goes_before_a_new_one_is_made(tmp_path: Path) -> None:
    for name in ("old.hxx.gch", "used.hxx.gch", "x.o"):
        (tmp_path / name).write_text("old")
    launched(tmp_path, "c++", "-include", "used.hxx.gch", "-o", "old.hxx.gch", "-c", "old.cxx")
    launched(tmp_path, "c++", "-o", "x.o", "-c", "x.cpp")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ccache", "used.hxx.gch", "x.o"]
