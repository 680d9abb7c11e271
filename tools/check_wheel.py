"""Builds the wheel, installs it into an empty environment and uses it there, away from the source tree.

Skipped when the files that go into the wheel are those of the last success (build/wheel-stamp).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import tree

BUILD = tree.ROOT / "build"
STAMP = BUILD / "wheel-stamp"
PARTS = ("src/", "python/", "cmake/", "CMakeLists.txt", "pyproject.toml", "LICENSE", "THIRD_PARTY_NOTICES", "README.md")
# What a user does first. Runs in the new environment; every line must hold.
SMOKE = """
import pathlib, sys
import headwater as hw
assert "site-packages" in hw.__file__, hw.__file__
x = hw.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = ((x + 1) * x).sum()
y.backward()
assert y.item() == 20.0 and x.grad.tolist() == [3.0, 5.0, 7.0], (y, x.grad)
maps = pathlib.Path("/proc/self/maps").read_text()
assert "libcuda" not in maps and "libtorch" not in maps
ours = str(pathlib.Path(hw.__file__).parent)
libraries = {line.split()[-1] for line in maps.splitlines() if "libdnnl" in line or "libhwy" in line}
assert all(name.startswith(ours) for name in libraries), libraries
assert not {"torch", "sklearn", "matplotlib", "rich"} & set(sys.modules)
print("wheel:", hw.__version__, "works, with", *sorted(pathlib.Path(name).name for name in libraries))
"""
# A project of the runtime comes out of the package alone.
PRUNE = """
import pathlib, shutil
import headwater as hw
from headwater.infer.prune import prune
shutil.rmtree("pruned", ignore_errors=True)
hw.freeze(hw.nn.Sequential(hw.nn.Linear(8, 4), hw.nn.Tanh()), hw.rand(2, 8), "wheel.hwm")
prune(["wheel.hwm"], "pruned")
assert pathlib.Path("pruned/src/infer/c_api.cpp").exists() and pathlib.Path("pruned/third_party/hwy/highway.h").exists()
"""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Runs a command outside of the source tree's PYTHONPATH; its output is shown only when it fails."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | compiler()
    result = subprocess.run(list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def compiler() -> dict[str, str]:
    """The compiler that build/release uses, so that ccache knows its results."""
    cache = BUILD / "release/CMakeCache.txt"
    found = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", cache.read_text(), re.MULTILINE) if cache.exists() else None
    return {"CXX": found[1]} if found else {}


def tree_hash() -> str:
    digest = hashlib.sha256(sys.version.encode())
    for path in tree.files(tree.ROOT):
        name = path.relative_to(tree.ROOT).as_posix()
        if name.startswith(PARTS):
            digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def check_contents(wheel: Path) -> None:
    """Licences are inside, sources (but those that `headwater prune` copies) and leftovers are not, and the extension exports its entry
    point alone."""
    names = zipfile.ZipFile(wheel).namelist()
    extension = next(name for name in names if name.startswith("headwater/_C."))
    runtime = ("headwater/runtime/src/infer/c_api.cpp", "headwater/runtime/third_party/frozen_generated.h")
    for part in ("headwater/__init__.py", *runtime, "/LICENSE", "/THIRD_PARTY_NOTICES", "entry_points.txt"):
        if not any(name.endswith(part) for name in names):
            sys.exit(f"{wheel.name} lacks {part}")
    sources = [name for name in names if name.endswith((".cpp", ".h")) and not name.startswith("headwater/runtime/")]
    if strange := sources + [name for name in names if name.endswith((".o", ".pyc", ".a"))]:
        sys.exit(f"{wheel.name} contains {strange}")
    folder = BUILD / "wheel-contents"
    zipfile.ZipFile(wheel).extract(extension, folder)
    exported = run("nm", "-D", "--defined-only", "--format=just-symbols", folder / extension).split()
    if exported != ["PyInit__C"]:
        sys.exit(f"the extension exports {exported[:5]} ({len(exported)} symbols); only PyInit__C may be visible")
    shutil.rmtree(folder)


def main() -> int:
    wanted = tree_hash()
    if STAMP.exists() and STAMP.read_text() == wanted:
        print("check_wheel: unchanged since it last worked")
        return 0
    folder, environment = BUILD / "wheelhouse", BUILD / "wheel-venv"
    for old in (folder, environment):
        shutil.rmtree(old, ignore_errors=True)
    # Without isolation: the build requirements are those that setup.sh installed, pinned in pyproject.toml.
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, tree.ROOT)
    (wheel,) = folder.glob("headwater-*.whl")
    check_contents(wheel)
    run(sys.executable, "-m", "venv", environment)
    run(environment / "bin/pip", "install", "-q", "--disable-pip-version-check", "--no-compile", wheel)
    print(run(environment / "bin/python", "-c", SMOKE, cwd=folder).strip())
    run(environment / "bin/headwater", "--help", cwd=folder)
    run(environment / "bin/python", "-c", PRUNE, cwd=folder)
    print(f"check_wheel: {wheel.name}, {wheel.stat().st_size / 2**20:.1f} MiB")
    STAMP.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
