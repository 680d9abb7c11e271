# Shared by the scripts in this folder: where things are, and how a failure is told. Sourced, never run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
venv=${HEADWATER_VENV:-$root/.venv}
python=$venv/bin/python
build=$root/build/release
export PYTHONPATH=$root/python${PYTHONPATH:+:$PYTHONPATH}
# Compiled Python is kept, whatever the environment says: importing torch without it takes seconds more, in every process that a test
# starts. It lies beside the sources, so that a fresh clone finds that of the virtual environment; where that cannot be written, in build/.
unset PYTHONDONTWRITEBYTECODE
[ ! -d "$venv" ] || [ -w "$venv" ] || export PYTHONPYCACHEPREFIX=${PYTHONPYCACHEPREFIX:-$root/build/pycache}

die() {
  echo "${0##*/}: $*" >&2
  exit 1
}
