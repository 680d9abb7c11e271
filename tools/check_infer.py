"""Installs libheadwater_infer, builds examples/c against it with one compiler line each, shared and static, and runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import tree

BUILD = tree.ROOT / "build"
PREFIX, FOLDER = BUILD / "infer-prefix", BUILD / "infer-example"
FREEZE = """
import headwater as hw, sys
hw.manual_seed(0)
net = hw.nn.Sequential(hw.nn.Conv2d(1, 8, 3), hw.nn.BatchNorm2d(8), hw.nn.ReLU(), hw.nn.Flatten(), hw.nn.Linear(288, 10))
hw.freeze(net, hw.rand(1, 1, 8, 8), sys.argv[1])
print(hw.infer.load(sys.argv[1])(hw.ones(1, 1, 8, 8)).argmax().item())
"""


def run(*command: object, given: str = "", fails: bool = False) -> str:
    """Runs a command and gives what it printed, which is shown when its status is not the expected one."""
    path = os.pathsep.join([str(tree.ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "HEADWATER_NUM_THREADS": "1"}
    result = subprocess.run(list(map(str, command)), input=given, capture_output=True, text=True, env=environment)
    if (result.returncode != 0) != fails or result.returncode < 0:
        sys.exit(f"{' '.join(map(str, command))}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def exported() -> list[str]:
    """What the shared library shows."""
    (library,) = (PREFIX / "lib").glob("libheadwater_infer.so.*.*.*")
    return run("nm", "-D", "--defined-only", "--format=just-symbols", library).split()


def main() -> int:
    for old in (PREFIX, FOLDER):
        shutil.rmtree(old, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    run("cmake", "--install", BUILD / "release", "--component", "infer", "--prefix", PREFIX)
    if strange := [name for name in exported() if not name.startswith("hwi_")]:
        sys.exit(f"libheadwater_infer shows {strange[:5]}; only hwi_* may be visible")
    examples, lib = tree.ROOT / "examples/c", PREFIX / "lib"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{PREFIX}/include"]
    shared = [f"-L{lib}", "-lheadwater_infer", f"-Wl,-rpath,{lib}"]
    beside = [f"-l:{file.name}" for file in sorted(lib.glob("lib*.so.*")) if "headwater" not in file.name]
    static = [lib / "libheadwater_infer.a", f"-L{lib}", *beside, f"-Wl,-rpath,{lib}", "-lstdc++", "-lgomp", "-lpthread", "-lm", "-ldl"]
    run("gcc", *flags, examples / "run.c", *shared, "-o", FOLDER / "run")
    run("gcc", *flags, examples / "run.c", *static, "-o", FOLDER / "run-static")
    run("g++", "-std=c++17", *flags, examples / "digits.cpp", *shared, "-o", FOLDER / "digits")
    model = FOLDER / "digits.hwm"
    digit = run(sys.executable, "-c", FREEZE, model).strip()
    for program in ("run", "run-static"):
        out = run(FOLDER / program, model, 200)
        if "its tests pass" not in out:
            sys.exit(out)
        print(program, *[line for line in out.splitlines() if "median" in line])
    seen = run(FOLDER / "digits", model, given="16 " * 64).strip()
    if seen != digit:
        sys.exit(f"the C++ example reads {seen}, Python {digit}")
    broken = FOLDER / "broken.hwm"
    broken.write_bytes(model.read_bytes()[:-64])
    if "cut off" not in run(FOLDER / "run", broken, fails=True):
        sys.exit("the C example accepts a file that is cut off")
    print("check_infer: the examples build against the installed library and run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
