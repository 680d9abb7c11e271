"""Each reader of files under libFuzzer for a moment, from the kept seeds, with a fixed seed; `scripts/fuzz.sh` goes on for longer."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILT = HERE.parents[1] / "build/fuzz/headwater_fuzz_frozen"


def command(name: str) -> list[str]:
    if name == "frozen":
        if not BUILT.exists():
            pytest.skip("no build with libFuzzer; scripts/fuzz.sh frozen makes it, with clang")
        return [str(BUILT)]
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("libFuzzer for Python is missing: HEADWATER_EXTRAS=fuzz scripts/setup.sh")
    return [sys.executable, str(HERE / f"{name}_target.py")]


def fuzz(name: str, tmp_path: Path, *options: str) -> str:
    """What it wrote; fails if it ended in an error."""
    environment = {**os.environ, "UBSAN_OPTIONS": "halt_on_error=1", "ASAN_OPTIONS": "allocator_may_return_null=1"}
    run = subprocess.run(
        [*command(name), "-seed=1", "-timeout=60", "-rss_limit_mb=4096", f"-artifact_prefix={tmp_path}/", *options],
        env=environment, capture_output=True, text=True, timeout=170,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-4000:]
    return run.stderr


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", ["frozen", "safetensors", "onnx"])
def test_seeds_and_what_libfuzzer_makes_of_them(name: str, tmp_path: Path) -> None:
    grown = tmp_path / "grown"
    grown.mkdir()
    seeds = HERE / "corpus" / name
    count = len(list(seeds.iterdir()))
    assert count > 0
    told = fuzz(name, tmp_path, "-runs=2000", str(grown), str(seeds))
    assert f"seed corpus: files: {count}" in told
    assert any(grown.iterdir()), "nothing that libFuzzer made reached new code: it does not see the reader's"
