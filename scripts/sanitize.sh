#!/usr/bin/env bash
# Builds preset "asan" and runs tests under the address and undefined-behaviour sanitizers. "scripts/sanitize.sh" runs the
# operators, tensors, autograd and the fuzzer; "scripts/sanitize.sh tests/compile -k fuse" what it is told.
# HEADWATER_JOBS sets how many compilers run at once. The first build compiles some 850 files: README.md says how long.
# "scripts/sanitize.sh --thread" builds preset "tsan" (180 files) and runs the C++ tests of base, comm and runtime under
# ThreadSanitizer; what follows are options of GoogleTest. HEADWATER_STRESS_SECONDS makes the runtime's stress as long.
source "$(dirname "$0")/paths.sh"
if [ "${1:-}" = --thread ]; then
  shift
  build=$root/build/tsan
  cmake --preset tsan
  nice cmake --build "$build" --target headwater_thread_tests ${HEADWATER_JOBS:+-j "$HEADWATER_JOBS"}
  rm -rf "$build/reports" && mkdir -p "$build/reports"
  export TSAN_OPTIONS=log_path=$build/reports/tsan OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
  status=0
  "$build/headwater_thread_tests" --gtest_brief=1 "$@" || status=$?
  [ -z "$(ls -A "$build/reports")" ] || die "ThreadSanitizer has something to say: $build/reports"
  [ "$status" = 0 ] || die "tests failed (exit status $status); no report of ThreadSanitizer"
  echo "no report of ThreadSanitizer"
  exit
fi
[ -x "$python" ] || die "no virtual environment in $venv; run scripts/setup.sh first"
build=$root/build/asan
[ $# -gt 0 ] || set -- tests/ops tests/tensor tests/autograd tests/errors

[ -e "$build/build.ninja" ] || cmake --preset asan -DPython_EXECUTABLE="$python" -DHEADWATER_TESTS=OFF
nice cmake --build "$build" --target _C ${HEADWATER_JOBS:+-j "$HEADWATER_JOBS"}

# Reports go to files: pytest swallows what a test writes to stderr, and a process that is ended takes it along.
reports=$build/reports
rm -rf "$reports" && mkdir -p "$reports"
export HEADWATER_EXTENSION_DIR=$build/ext OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
# Fresh memory is filled with ones: a float that was never written reads as NaN.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_malloc_fill_size=65536:malloc_fill_byte=255:log_path=$reports/asan
export UBSAN_OPTIONS=print_stacktrace=1:log_path=$reports/ubsan
libraries=$(for l in libasan.so libubsan.so libstdc++.so.6; do "${CXX:-g++}" -print-file-name=$l; done)
status=0
LD_PRELOAD=$(echo $libraries) "$python" -m pytest -p no:cacheprovider -q "$@" || status=$?
if [ -n "$(ls -A "$reports")" ]; then
  cat "$reports"/* | grep -hE "runtime error|ERROR: AddressSanitizer" | sort | uniq -c | sort -rn
  die "the sanitizers have something to say: $reports"
fi
[ "$status" = 0 ] || die "tests failed (exit status $status); no report of a sanitizer"
echo "no report of a sanitizer"
