"""`headwater env`: what a report of a problem needs to say about the machine and the build."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import headwater as hw

PACKAGES = ["numpy", "rich", "matplotlib", "scikit-learn"]
VARIABLES = [
    "HEADWATER_CACHE_DIR", "HEADWATER_CACHE_SIZE",
    "HEADWATER_ISA", "HEADWATER_KERNELS_OFF", "HEADWATER_PASSES_OFF", "HEADWATER_VERIFY", "HEADWATER_NUM_THREADS", "OMP_NUM_THREADS",
]  # fmt: skip


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def facts() -> dict[str, Any]:
    """All facts, by topic."""
    build = dict(hw._C.build)
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    return {
        "version": build["version"],
        "build": {"type": build["type"], "compiler": build["compiler"], "flags": build["flags"]},
        "instruction sets": {
            "found": hw._C.isa_found(),
            "used": hw._C.isa(),
            "features": [name for name, has in hw._C.cpu_features().items() if has],
        },
        "threads": {"used": hw.get_num_threads(), "cores": cores},
        "libraries": {name: build[name] or "not built in" for name in ("onednn", "highway", "openmp")},
        "devices": {"cpu": _processor()},
        "cache": _cache(),
        "tuning": {"mode": hw.tuning.mode(), "folder": hw.tuning.folder() or "off"},
        "operators": len(hw._C.op_names()),
        "python": {"version": platform.python_version(), "platform": platform.platform(), "executable": sys.executable},
        "packages": {name: _version(name) or "not installed" for name in PACKAGES},
        "environment": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }


def _cache() -> dict[str, Any]:
    """The compiled programs on disk."""
    folder = hw._C.cache_folder()
    if not folder:
        return {"folder": "off"}
    entries, size = hw._C.cache_use()
    return {"folder": folder, "programs": entries, "bytes": size, "limit": hw._C.cache_limit()}


def _text(value: Any) -> str:
    return (", ".join(value) or "none") if isinstance(value, list) else str(value)


def main(as_json: bool = False) -> int:
    found = facts()
    if as_json:
        print(json.dumps(found, indent=2))
        return 0
    for topic, value in found.items():
        if not isinstance(value, dict):
            print(f"{topic:<18}{value}")
            continue
        for number, (key, entry) in enumerate(value.items()):
            print(f"{topic if number == 0 else '':<18}{key}: {_text(entry)}")
        if not value:
            print(f"{topic:<18}nothing set")
    return 0
