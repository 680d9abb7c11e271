"""Installs the C++ package, builds examples/cpp against it with nothing but a CMake prefix, and runs the training there."""

from __future__ import annotations

import shutil
import subprocess
import sys

import tree

BUILD = tree.ROOT / "build"
PREFIX, EXAMPLE, DIGITS = BUILD / "prefix", BUILD / "example", BUILD / "digits.csv"


def run(*command: object) -> str:
    """Runs a command; what it printed is shown when it fails."""
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def write_digits() -> None:
    """The digits of scikit-learn as the example reads them: 64 grey values, then the digit."""
    from sklearn.datasets import load_digits

    pictures, labels = load_digits(return_X_y=True)
    rows = (",".join([*(f"{value:g}" for value in picture), str(label)]) for picture, label in zip(pictures, labels))
    DIGITS.write_text("\n".join(rows) + "\n")


def main() -> int:
    shutil.rmtree(PREFIX, ignore_errors=True)
    run("cmake", "--install", BUILD / "release", "--component", "cpp", "--prefix", PREFIX)
    run(
        "cmake",
        "-S",
        tree.ROOT / "examples/cpp",
        "-B",
        EXAMPLE,
        "-G",
        "Ninja",
        f"-DCMAKE_PREFIX_PATH={PREFIX}",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache" if shutil.which("ccache") else "-Wno-dev",
    )
    run("cmake", "--build", EXAMPLE)
    write_digits()
    print(run(EXAMPLE / "train", DIGITS).strip().splitlines()[-1])
    print("check_cpp: the example builds against the installed package and trains")
    return 0


if __name__ == "__main__":
    sys.exit(main())
