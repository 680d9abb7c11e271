"""The files of the checkout that the checks look at: what git tracks, and new files it does not ignore."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def files(root: Path) -> list[Path]:
    """Paths below root, sorted. Outside of git (a test's tree, an unpacked archive), every file."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    if (root / ".git").exists():
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
        paths = [root / name for name in set(listed) if name]
    else:
        paths = list(root.rglob("*"))
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())
