"""Ctrl-C, exit and sudden death of a process that iterates over a loader: quiet, quick, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import os, sys, time
import headwater.data

class Slow(headwater.data.Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, i):
        time.sleep(0.01)
        return os.getpid()

if __name__ == "__main__":
    loader = headwater.data.DataLoader(
        Slow(), 2, num_workers=2, multiprocessing_context=sys.argv[1], collate_fn=list,
        persistent_workers=sys.argv[2] == "persistent",
    )
    seen = set()
    iterator = iter(loader)
    for batch in iterator:
        seen.update(batch)
        if len(seen) == 2:
            break
    print(*seen, flush=True)
    {then}
"""
ENDS = {
    "exit": "sys.exit(3)",
    "end": "pass",
    "error": "raise ValueError('on purpose')",
    "interrupt": "print('go', flush=True)\n    for batch in iterator: pass",
    "halfway": """
    from headwater.data import pool, transport

    (workers,) = pool._pools
    for connection in workers.connections:  # the head of a message, whose rest never comes
        connection.send_bytes(transport.pickle.dumps((None, [], [])))
    print('go', flush=True)
    time.sleep(600)""",
}


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def becomes(true, seconds=60):
    """Whether `true()` holds within so long; far longer than an idle machine needs."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def gone(pids):
    return becomes(lambda: not any(map(running, pids)))


def listen():
    """Ctrl-C counts, also if whoever started the tests in the background had it ignored, which children inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(tmp_path, end, method, persistent="no"):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("{then}", ENDS[end]))
    return subprocess.Popen(
        [sys.executable, str(script), method, persistent],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=listen,
        env={**os.environ, "PYTHONPATH": "python" + os.pathsep + os.environ.get("PYTHONPATH", "")},
    )  # fmt: skip


def shared_memory():
    return set(os.listdir("/dev/shm"))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize(("end", "code"), [("exit", 3), ("end", 0), ("error", 1)])
def test_the_interpreter_exits(tmp_path, end, code, method):
    before = shared_memory()
    process = start(tmp_path, end, method, "persistent" if end == "exit" else "no")
    out, err = process.communicate(timeout=90)
    assert process.returncode == code, err
    pids = [int(pid) for pid in out.split()]
    assert len(pids) == 2
    assert gone(pids)
    if end == "error":
        assert err.rstrip().endswith("ValueError: on purpose")
        assert err.count("Traceback") == 1
    else:
        assert err == ""
    left = shared_memory() - before  # of tests that run beside this one, it ends with them
    assert becomes(lambda: not left & shared_memory())


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("to", ["group", "process"])
def test_ctrl_c(tmp_path, method, to):
    process = start(tmp_path, "interrupt", method)
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert process.stdout.readline() == "go\n"
    time.sleep(0.1)
    (os.killpg if to == "group" else os.kill)(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=90)
    assert process.returncode == -signal.SIGINT
    assert err.count("KeyboardInterrupt") == 1, err
    assert err.count("Traceback") == 1, err
    assert gone(pids)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("end", ["interrupt", "halfway"])
def test_workers_end_when_their_loader_is_killed(tmp_path, end, method):
    process = start(tmp_path, end, method)
    pids = [int(pid) for pid in process.stdout.readline().split()]
    process.stdout.readline()
    process.kill()
    process.wait(60)
    process.stdout.close()
    process.stderr.close()
    assert gone(pids)
