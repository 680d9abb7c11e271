#!/usr/bin/env bash
# Sets up, builds and runs every check and test; starts no more steps once one has failed. "scripts/test.sh --list" names
# the steps, "scripts/test.sh STEP..." runs some of them (without setting up or building, unless named).
source "$(dirname "$0")/paths.sh"

mypy_cache=${XDG_CACHE_HOME:-${HOME:-$root/build}/.cache}/headwater/mypy  # known by content: a fresh clone profits from the last run
steps=(           # name       how    what it runs; "beside": two such steps at a time, most of them keep one core busy
  "setup          alone  setup"
  "build          alone  build"
  "layers         beside $python tools/check_layers.py"
  "size           beside $python tools/check_size.py"
  "names          beside $python tools/check_names.py"
  "notices        beside $python tools/check_notices.py"
  "build-times    beside $python tools/build_times.py --limit 20"
  "clang-format   beside clang_format"
  "clang-tidy     beside $python tools/clang_tidy.py"
  "ruff           beside $venv/bin/ruff check --quiet"
  "mypy           beside $venv/bin/mypy --cache-dir $mypy_cache"
  "wheel          beside $python tools/check_wheel.py"
  "prune          beside $python -m pytest -m slow tests/infer/test_prune.py -k digits"
  "cpp-example    beside $python tools/check_cpp.py"
  "ctest          beside ctest --test-dir $build --output-on-failure --no-tests=error -j 2"
  "infer-example  beside $python tools/check_infer.py"
  "pytest         alone  $python -m pytest -n 2 --dist worksteal"
)

# Setting up for the build and the checks; what the tests need besides, torch above all, comes while the compiler runs.
setup() {
  if [ -n "$builds" ]; then
    HEADWATER_EXTRAS=lint scripts/setup.sh
  else
    scripts/setup.sh
  fi
}

build() {
  local status=0 installer=''
  if [ -n "$sets_up" ]; then
    scripts/setup.sh >"$logs/requirements" 2>&1 &
    installer=$!
  fi
  scripts/build.sh || status=$?
  if [ -n "$installer" ]; then
    wait "$installer" || status=$?
    cat "$logs/requirements"
  fi
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

sets_up='' builds=''
case " $* " in '  ' | *' setup '*) sets_up=yes ;; esac
case " $* " in '  ' | *' build '*) builds=yes ;; esac
logs=$(mktemp -d)
summary=() failed='' began=$SECONDS
declare -A running=()  # process: step
trap 'kill "${!running[@]}" 2>/dev/null || true; rm -rf "$logs"' EXIT  # Ctrl-C does not reach what runs in the background

# Runs a step; its status and seconds go to a file. What it says goes to its log, and is shown now when it runs alone.
run() {
  local name=$1 how=$2 start=$EPOCHREALTIME status=0
  shift 2
  case $how in
    alone) "$@" 2>&1 | tee "$logs/$name" || status=$? ;;
    beside)
      "$@" >"$logs/$name" 2>&1 &
      trap "kill $! 2>/dev/null; exit 143" TERM
      wait $! || status=$?
      ;;
  esac
  awk "BEGIN {printf \"%d %6.1f\", $status, $EPOCHREALTIME - $start}" >"$logs/$name.end"
}

# Notes how a step ended.
ended() {
  local name=$1 status took
  read -r status took <"$logs/$name.end" || true
  took=$(printf '%6.1f s' "$took")
  summary+=("$took  $name")
  [ "$status" = 0 ] || failed=${failed:-"step '$name' failed after $took (exit status $status); run it alone: scripts/test.sh $name"}
}

# Waits until at most $1 of the steps that run beside others are left, and shows what those said that have ended.
leave_running() {
  local process name
  while [ ${#running[@]} -gt "$1" ]; do
    wait -n -p process "${!running[@]}" || true
    name=${running[$process]}
    unset "running[$process]"
    echo "==> $name"
    cat "$logs/$name"
    ended "$name"
  done
}

for step in "${steps[@]}"; do
  read -r name how command <<<"$step"
  [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
  if [ "$how" = beside ]; then
    leave_running 1
    [ -z "$failed" ] || break
    run "$name" beside $command &
    running[$!]=$name
  else
    leave_running 0
    [ -z "$failed" ] || break
    echo "==> $name"
    run "$name" alone $command
    ended "$name"
    [ -z "$failed" ] || break
  fi
done
leave_running 0
if [ -n "$failed" ]; then
  printf '%s\n' "${summary[@]}"
  die "$failed"
fi
echo "==> all steps passed in $((SECONDS - began)) s"
printf '%s\n' "${summary[@]}"
grep -hE '[0-9]+ (passed|failed)' "$logs/pytest" 2>/dev/null | tail -1 || true
