"""`headwater launch`: a script on several ranks of this machine, through mpirun; prefixed logs, first cause, restarts."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

GRACE = 6.0  # seconds between a failure, or Ctrl-C, and the end by force
ADVICE = "pip install 'headwater[distributed]', or install your system's Open MPI or MPICH"
OPEN_MPI_TAG = re.compile(r"^\[[^\]]*,(\d+)\]<(?:stdout|stderr)>: ?")
MPICH_TAG = re.compile(r"^\[(\d+)\] ")
KILLED = re.compile(r"(?:rank (\d+)|Process name: *\[[^\]]*,(\d+)\])")
SIGNAL = re.compile(r"signal:? *(?:code: *)?(\d+)", re.IGNORECASE)


class LaunchError(Exception):
    """Nothing could be started."""


def find_mpirun() -> str | None:
    """HEADWATER_MPIRUN, then the one beside this Python (PyPI's), then the first on the path."""
    beside = Path(sys.prefix) / "bin" / "mpirun"
    for candidate in (os.environ.get("HEADWATER_MPIRUN"), str(beside), "mpirun", "mpiexec"):
        found = shutil.which(candidate) if candidate else None
        if found:
            return found
    return None


def mpirun_command(mpirun: str, ranks: int) -> tuple[list[str], re.Pattern[str]]:
    """The command up to the program, and how it marks the lines of a rank."""
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout
    if "Open MPI" not in version and "Open RTE" not in version:
        return [mpirun, "-n", str(ranks), "-prepend-rank"], MPICH_TAG
    number = re.search(r"(\d+)\.\d+", version)
    tag = ["--tag-output"] if number and int(number[1]) < 5 else ["--output", "tag"]
    command = [mpirun, "-n", str(ranks), "--oversubscribe", "--bind-to", "none", *tag]
    if "OMPI_MCA_btl" not in os.environ:
        # A way to other machines, for one-sided messages, which nothing here sends. Where it does not serve, each rank sleeps for a second
        # when it lets go of it.
        command += ["--mca", "btl", "^ofi"]
    return command + (["--allow-run-as-root"] if os.geteuid() == 0 else []), OPEN_MPI_TAG


class _Run:
    """One attempt: the processes, their output, and what ended them."""

    def __init__(self, command: Sequence[str], tag: re.Pattern[str], environment: dict[str, str], folder: Path):
        self.tag, self.folder, self.from_mpirun = tag, folder, [""]
        # A session of its own: Ctrl-C comes to us, and we pass it on.
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)  # fmt: skip
        pairs = ((self.process.stdout, sys.stdout), (self.process.stderr, sys.stderr))
        self.readers = [threading.Thread(target=self._copy, args=pair, daemon=True) for pair in pairs]
        for reader in self.readers:
            reader.start()

    def _copy(self, source: IO[str], target: Any) -> None:
        for line in source:
            match = self.tag.match(line)
            if match:
                line = f"[rank {match[1]}] {line[match.end():]}"
            else:
                self.from_mpirun.append(line)
            try:
                target.write(line)
                target.flush()
            except (BrokenPipeError, ValueError):
                return

    def causes(self) -> list[tuple[int, int, str]]:
        """(time, rank, words) of the ranks that failed by an exception of their own, first first."""
        found = []
        for path in self.folder.glob("cause-*"):
            when, rank = path.name.split("-")[1:]
            found.append((int(when), int(rank), path.read_text(errors="replace")))
        return sorted(found)

    def wait(self) -> int:
        """The exit status; ends everything GRACE seconds after the first failure."""
        deadline = None
        while self.process.poll() is None:
            time.sleep(0.05)
            if deadline is None and any(self.folder.glob("cause-*")):
                deadline = time.monotonic() + GRACE
            if deadline is not None and time.monotonic() > deadline:
                self.stop()
        for reader in self.readers:
            reader.join(2)
        return self.process.returncode

    def stop(self) -> None:
        """Politely, then by force; the ranks end with their mpirun (see cli/rank.py)."""
        for sign, seconds in ((signal.SIGTERM, GRACE / 2), (signal.SIGKILL, 1.0)):
            if self.process.poll() is not None:
                return
            try:
                os.killpg(self.process.pid, sign)
                self.process.wait(seconds)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass

    def first_cause(self, status: int) -> str:
        causes = self.causes()
        own = [c for c in causes if not re.match(r"RuntimeError: rank \d+", c[2])] or causes
        if own:
            return f"rank {own[0][1]} failed first: {own[0][2].strip()}"
        said = "".join(self.from_mpirun)
        who, how = KILLED.search(said), SIGNAL.search(said)
        if who and how:
            name = signal.Signals(int(how[1])).name if int(how[1]) in set(signal.Signals) else f"signal {how[1]}"
            return f"rank {who[1] or who[2]} was killed by {name}"
        if who:
            return f"rank {who[1] or who[2]} ended with an error status"
        return f"mpirun ended with status {status}"


def _environment(ranks: int, folder: Path, attempt: int) -> dict[str, str]:
    environment = {**os.environ, "HEADWATER_RUN_FOLDER": str(folder), "HEADWATER_RESTARTS": str(attempt), "PYTHONUNBUFFERED": "1"}
    if not {"OMP_NUM_THREADS", "HEADWATER_NUM_THREADS"} & set(environment):
        environment["HEADWATER_NUM_THREADS"] = str(max(1, len(os.sched_getaffinity(0)) // ranks))
    return environment


def _say(*words: Any) -> None:
    print("headwater launch:", *words, file=sys.stderr, flush=True)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def main(ranks: int, max_restarts: int, target: str, arguments: Sequence[str], is_module: bool) -> int:
    """Runs it; 0, or 1 after the last failed attempt, 130 after Ctrl-C."""
    if ranks < 1:
        raise LaunchError(f"-n {ranks}: at least one rank is needed")
    if not is_module and not os.path.isfile(target):
        raise LaunchError(f"there is no script {target}")
    mpirun = find_mpirun()
    if mpirun is None:
        raise LaunchError(f"there is no mpirun here, which starts the ranks: {ADVICE}")
    command, tag = mpirun_command(mpirun, ranks)
    command += [sys.executable, "-m", "headwater.cli.rank", *(["-m"] if is_module else []), target, *arguments]
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        for attempt in range(max_restarts + 1):
            with tempfile.TemporaryDirectory(prefix="headwater-launch-") as folder:
                run = _Run(command, tag, _environment(ranks, Path(folder), attempt), Path(folder))
                try:
                    status = run.wait()
                except KeyboardInterrupt:
                    _say("interrupted, stopping all ranks")
                    run.stop()
                    return 130
                if status == 0:
                    return 0
                _say(run.first_cause(status))
            if attempt < max_restarts:
                _say(f"restart {attempt + 1} of {max_restarts}")
        return 1
    finally:
        signal.signal(signal.SIGTERM, previous)
