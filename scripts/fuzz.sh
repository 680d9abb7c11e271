#!/usr/bin/env bash
# Fuzzes the readers of files with libFuzzer: "scripts/fuzz.sh" all of them, "scripts/fuzz.sh frozen onnx" some, each for
# HEADWATER_FUZZ_SECONDS (60). frozen is C++ with the address and undefined-behaviour sanitizers, by clang (libclang-rt-dev,
# libomp-dev); onnx and safetensors are read by Python, through Atheris (extra fuzz). What reaches new code is kept in
# build/fuzz/corpus, tests/fuzz/corpus holds the seeds; "scripts/fuzz.sh --keep" adds to the seeds what these lack.
source "$(dirname "$0")/paths.sh"
[ -x "$python" ] || die "no virtual environment in $venv; run scripts/setup.sh first"
build=$root/build/fuzz
options="-max_total_time=${HEADWATER_FUZZ_SECONDS:-60} -max_len=65536 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1"
if [ "${1:-}" = --keep ]; then
  shift
  keep=1
fi
[ $# -gt 0 ] || set -- frozen safetensors onnx
export PYTHONPATH=$root/python ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

target() {  # the command that fuzzes one of them
  case $1 in
    frozen) echo "$build/headwater_fuzz_frozen" ;;
    safetensors | onnx) echo "$python $root/tests/fuzz/$1_target.py" ;;
    *) die "no target $1: frozen, safetensors, onnx" ;;
  esac
}

for name in "$@"; do
  command=$(target "$name")
  if [ "$name" = frozen ]; then
    command -v clang++ >/dev/null || die "clang++ is missing: apt-get install clang libclang-rt-dev libomp-dev"
    [ -e "$build/build.ninja" ] || cmake --preset fuzz
    nice cmake --build "$build" --target headwater_fuzz_frozen ${HEADWATER_JOBS:+-j "$HEADWATER_JOBS"}
  else
    "$python" -c "import atheris" || die "atheris is missing: HEADWATER_EXTRAS=fuzz scripts/setup.sh"
  fi
  seeds=$root/tests/fuzz/corpus/$name grown=$build/corpus/$name found=$build/found/$name
  mkdir -p "$grown" "$found"
  if [ -n "${keep:-}" ]; then
    $command -merge=1 "$seeds" "$grown"
  else
    $command $options -artifact_prefix="$found/" "$grown" "$seeds" || die "$name: what it does not stand is in $found"
  fi
done
