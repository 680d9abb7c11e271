"""Under AddressSanitizer (scripts/sanitize.sh) the memory of each tensor is guarded: what the run relies on."""

import os
import subprocess
import sys

import pytest

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
pytestmark = pytest.mark.skipif(not SANITIZED, reason="without the sanitizer memory is cached and not watched")


@pytest.mark.parametrize("nbytes", [4, 100, 4 << 20])
@pytest.mark.parametrize(
    "place, report",
    [
        ("x.data_ptr() + x.nbytes", "heap-buffer-overflow"),
        ("x.data_ptr() - 1", "heap-buffer-overflow"),
        ("dead", "heap-use-after-free"),
    ],
)
def test_a_write_outside_of_a_tensor_is_reported(nbytes, place, report):
    code = f"""
import ctypes, headwater as hw
x, y = hw.zeros({nbytes}, dtype=hw.uint8), hw.zeros({nbytes}, dtype=hw.uint8)
dead = y.data_ptr()
del y
ctypes.memset(x.data_ptr(), 1, x.nbytes)
print("inside", flush=True)
ctypes.memset({place}, 1, 1)
print("outside", flush=True)
"""
    options = os.environ["ASAN_OPTIONS"].split(":log_path")[0]  # to stderr: this report is expected
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "ASAN_OPTIONS": options},
    )
    assert done.returncode != 0 and done.stdout == "inside\n" and report in done.stderr
