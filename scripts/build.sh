#!/usr/bin/env bash
# Configures and builds preset "release" in build/release; the extension lands in python/headwater, ready to import.
# HEADWATER_JOBS sets how many compilers run at once (default: one a core).
source "$(dirname "$0")/paths.sh"
[ -x "$python" ] || die "no virtual environment in $venv; run scripts/setup.sh first"

# Configure anew only when the environment's Python or a CMake file changed; ninja sees to the second by itself.
configured=$(sed -n 's/^Python_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt" 2>/dev/null || true)
if [ "$configured" != "$python" ] || [ ! -e "$build/build.ninja" ]; then
  rm -f "$build/CMakeCache.txt"
  cmake --preset release -DPython_EXECUTABLE="$python"
fi
cmake --build "$build" ${HEADWATER_JOBS:+-j "$HEADWATER_JOBS"}
