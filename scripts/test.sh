#!/usr/bin/env bash
# Sets up, builds and runs every check and test; stops at the first step that fails. "scripts/test.sh --list" names the
# steps, "scripts/test.sh STEP..." runs some of them (without setting up or building, unless named).
source "$(dirname "$0")/paths.sh"

steps=(           # name       what it runs
  "setup          setup"
  "build          build"
  "layers         $python tools/check_layers.py"
  "size           $python tools/check_size.py"
  "names          $python tools/check_names.py"
  "notices        $python tools/check_notices.py"
  "build-times    $python tools/build_times.py --limit 20"
  "clang-format   clang_format"
  "clang-tidy     $python tools/clang_tidy.py"
  "ruff           $venv/bin/ruff check --quiet"
  "mypy           $venv/bin/mypy"
  "ctest          ctest --test-dir $build --output-on-failure --no-tests=error -j 2"
  "wheel          $python tools/check_wheel.py"
  "cpp-example    $python tools/check_cpp.py"
  "infer-example  $python tools/check_infer.py"
  "prune          $python -m pytest -m slow tests/infer/test_prune.py -k digits"
  "pytest         $python -m pytest -n 2 --dist worksteal"
)

# Setting up for the build and the checks; what the tests need besides, torch above all, comes while the compiler runs.
setup() {
  HEADWATER_EXTRAS=lint scripts/setup.sh
}

build() {
  local status=0
  [ -z "$sets_up" ] || scripts/setup.sh >"$log.setup" 2>&1 &
  scripts/build.sh || status=$?
  wait $! || status=$?
  cat "$log.setup" 2>/dev/null || true
  return $status
}

clang_format() {
  git ls-files '*.h' '*.cpp' | xargs "$venv/bin/clang-format" --dry-run -Werror
}

names=$(printf '%s\n' "${steps[@]}" | awk '{print $1}')
if [ "${1:-}" = --list ]; then
  printf '%s\n' "${steps[@]}" | sed "s#$root/##g"
  exit
fi
for wanted in "$@"; do
  grep -qx -- "$wanted" <<<"$names" || die "no step '$wanted'; there are: $(echo $names)"
done

sets_up=''
case " $* " in '  ' | *' setup '*) sets_up=yes ;; esac
log=$(mktemp)
trap 'rm -f "$log" "$log.setup"' EXIT
summary=() pytest_line='' began=$SECONDS
for step in "${steps[@]}"; do
  read -r name command <<<"$step"
  [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
  echo "==> $name"
  start=$(date +%s.%N)
  status=0
  ( set -e; $command ) 2>&1 | tee "$log" || status=$?
  took=$(printf '%6.1f s' "$(awk "BEGIN {print $(date +%s.%N) - $start}")")
  summary+=("$took  $name")
  if [ "$status" != 0 ]; then
    printf '%s\n' "${summary[@]}"
    die "step '$name' failed after $took (exit status $status); run it alone: scripts/test.sh $name"
  fi
  if [ "$name" = pytest ]; then pytest_line=$(grep -E '[0-9]+ (passed|failed)' "$log" | tail -1); fi
done
echo "==> all steps passed in $((SECONDS - began)) s"
printf '%s\n' "${summary[@]}"
[ -z "$pytest_line" ] || echo "$pytest_line"
