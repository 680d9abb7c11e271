"""scripts/setup.sh: what it says when something is missing. System programs are replaced by small scripts on the PATH."""

import os
import subprocess

import pytest
from conftest import ROOT


@pytest.fixture
def setup(tmp_path):
    """setup(id="echo 1000", ...) runs setup.sh with these bodies in place of the programs named."""

    def run(**programs):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        for name, body in programs.items():
            path = folder / name.replace("_", "-")
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(0o755)
        environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "HEADWATER_VENV": str(tmp_path / "venv")}
        return subprocess.run([ROOT / "scripts/setup.sh"], env=environment, capture_output=True, text=True)

    return run


def test_without_root_the_missing_packages_are_named(setup):
    result = setup(
        id="echo 1000",
        apt_cache="exit 1",  # no optional package is known
        dpkg_query='case "$*" in *libhwy-dev*|*ninja-build*|*mold*) exit 1;; *) echo "install ok installed";; esac',
    )
    assert result.returncode == 1
    assert "These packages are missing: ninja-build libhwy-dev\n" in result.stderr
    assert "sudo apt-get install --no-install-recommends ninja-build libhwy-dev\n" in result.stderr


def test_optional_packages_are_wanted_where_the_distribution_has_them(setup):
    result = setup(
        id="echo 1000",
        apt_cache="exit 0",
        dpkg_query='case "$*" in *mold*|*ninja-build*) exit 1;; *) echo "install ok installed";; esac',
    )
    assert result.returncode == 1
    assert "These packages are missing: ninja-build mold\n" in result.stderr


def test_optional_packages_alone_stop_nobody(setup, tmp_path):
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho stand-in\n")
    python.chmod(0o755)
    result = setup(
        id="echo 1000",
        apt_cache="exit 0",
        dpkg_query='case "$*" in *libllvm19*) exit 1;; *) echo "install ok installed";; esac',
    )
    assert result.returncode == 0, result.stderr
    assert "These packages are missing: libllvm19\n" in result.stderr and "going on without" in result.stderr
    assert "setup: ready" in result.stdout


def test_a_failing_apt_get_stops_the_script(setup):
    result = setup(dpkg_query="exit 1", apt_cache="exit 1", apt_get="echo no network >&2; exit 100", id="echo 0")
    assert result.returncode == 100
    assert "no network" in result.stderr
    assert "ready" not in result.stdout
