#!/usr/bin/env bash
# The main job from nothing: sets up, builds, trains on real handwritten digits (arguments go to the demo), then runs the frozen model
# from C.
source "$(dirname "$0")/paths.sh"
export HEADWATER_EXTRAS=${HEADWATER_EXTRAS:-demo}
scripts/setup.sh
scripts/build.sh
"$python" -m headwater demo "$@"

out=headwater-demo
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift ;;
    --out=*) out=${1#--out=} ;;
    --predict*) exit 0 ;;
  esac
  shift
done
cmake --install "$build" --component infer --prefix "$build/demo" > "$build/demo-install.log"
lib=$build/demo/lib
gcc -O2 examples/c/run.c -I"$build/demo/include" -L"$lib" -lheadwater_infer -Wl,-rpath,"$lib" -o "$build/demo/run"
echo "from C:"
"$build/demo/run" "$out/digits.hwm" 1000
