"""Every op under hostile arguments: no crash, no hang, only the allowed exceptions, no answer that differs from torch's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import headwater as hw

SEED = int(os.environ.get("HEADWATER_FUZZ_SEED", "1"))
CASES = int(os.environ.get("HEADWATER_FUZZ_CASES", "60"))  # per op
GROUPS = 2  # each a process, which imports torch for seconds
LIMIT = 6000 if "libasan" in os.environ.get("LD_PRELOAD", "") else 600  # seconds a group, which a sanitizer slows down
OPS = [n for n in hw._C.op_names() if not hw._C.describe_op(n)["internal"]]
WORKER = Path(__file__).with_name("fuzz_worker.py")


def run(ops: list[str], report: Path) -> list[str]:
    """Findings of one worker; after a crash it goes on behind the case that crashed."""
    findings: list[str] = []
    first = 0
    while True:
        report.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, str(WORKER), str(report), str(SEED), str(CASES), str(first), *ops],
                              capture_output=True, text=True, timeout=LIMIT * max(1, CASES // 60), check=False)
        entries = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
        findings += [f"{e['finding']}: {e['call']}: {e['detail']}" for e in entries if "finding" in e]
        if entries and entries[-1].get("done"):
            return findings
        calls = [e for e in entries if "phase" in e]
        assert calls, f"the worker did not start: {done.stderr[-2000:]}"
        if calls[-1]["phase"] == "headwater":
            how = "hang" if "Timeout" in done.stderr else f"crash with status {done.returncode}"
            findings.append(f"{how}: {calls[-1]['call']}: {done.stderr[-600:]}")
        first = calls[-1]["index"]


@pytest.mark.timeout(LIMIT * max(1, CASES // 60))
@pytest.mark.parametrize("group", range(GROUPS))
def test_hostile_arguments(group: int, tmp_path: Path) -> None:
    findings = run(OPS[group::GROUPS], tmp_path / "report")
    assert not findings, f"{len(findings)} findings with seed {SEED}:\n" + "\n".join(findings[:60])
