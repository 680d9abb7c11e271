#!/usr/bin/env bash
# The main job from nothing: sets up, builds, then trains on real handwritten digits (arguments go to the demo).
source "$(dirname "$0")/paths.sh"
export HEADWATER_EXTRAS=${HEADWATER_EXTRAS:-demo}
scripts/setup.sh
scripts/build.sh
exec "$python" -m headwater demo "$@"
