#!/usr/bin/env bash
# Builds cordon and runs its tests.
#
#   tests/run.sh [CTEST-ARGUMENT...]    packages, format check, build, tests; for example: tests/run.sh -R '^gate[.]'
#   tests/run.sh --as-nobody [...]      the same tests as the user nobody (needs root)
#   tests/run.sh --asan [--modules] [...]  with AddressSanitizer and UndefinedBehaviorSanitizer; all, or the modules' own
#   tests/run.sh --tsan [...]           gate, sandbox and net-proxy with ThreadSanitizer
#   tests/run.sh --fuzz [SECONDS]       each fuzz target for that long (default 30), from its corpus
#   tests/run.sh --cases [--as-nobody] [PATTERN]
#                                       the acceptance cases of ../shared/cases, where that folder exists
#   tests/run.sh --format               only the format check
#   tests/run.sh --headers              only: does each public header compile alone
#   tests/run.sh --tidy                 clang-tidy on the library's and programs' sources that changed since CORDON_BASE (default: origin/main, else HEAD~1)
#   tests/run.sh --ci                   all of it, within 40 minutes; a failing step does not hide the next
#
# CORDON_REQUIRE=userns,landlock,seccomp makes a test fail that would be skipped for want of one of these; so does
# cgroup, for a machine that delegates one (CORDON_CGROUP_ROOT).
set -u
root=$(cd "$(dirname "$(realpath "$0")")/.." && pwd) || exit 1
# shellcheck source=cmake/build.sh
. "$root/cmake/build.sh"

# What the tree is formatted with: another version has other opinions.
format_version=14
jobs=$(nproc)
scratch=

cleanup() { [ -z "$scratch" ] || rm -rf "$scratch"; }
trap cleanup EXIT
trap 'exit 130' INT TERM

as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)

die() {
  echo "run.sh: $*" >&2
  exit 1
}

# --- format, headers, tidy ---

source_files() {
  local folder folders=()
  for folder in sdk gate sandbox net-proxy tools samples tests; do
    [ ! -d "$root/$folder" ] || folders+=("$root/$folder")
  done
  find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cc' \) -print0
}

# Prints the clang-format of the right version; nothing when there is none.
formatter() {
  local name
  for name in "clang-format-$format_version" clang-format; do
    if "$name" --version 2>/dev/null | grep -q "version $format_version\."; then
      echo "$name"
      return
    fi
  done
}

check_format() {
  local format
  format=$(formatter)
  [ -n "$format" ] || die "clang-format $format_version is not here"
  if source_files | xargs -0 -r "$format" --dry-run -Werror; then
    echo "format: clean"
  else
    echo "format: run $format -i on the files above" >&2
    return 1
  fi
}

check_headers() {
  cordon_build release all_verify_interface_header_sets
}

check_tidy() {
  local base files
  command -v clang-tidy >/dev/null || die "clang-tidy is not here"
  cordon_build release || return 1
  # The tree may belong to somebody else.
  local git=(git -c "safe.directory=$root" -C "$root")
  base=${CORDON_BASE:-$("${git[@]}" merge-base HEAD origin/main 2>/dev/null)}
  if [ -z "$base" ] || [ "$base" = "$("${git[@]}" rev-parse HEAD)" ]; then
    base=$("${git[@]}" rev-parse --verify -q HEAD~1) || { echo "tidy: nothing to compare with"; return 0; }
  fi
  # Not the tests: Catch2's macros are loops to it, in which everything that moves is used again. Nor the launcher, which
  # has no libc: to the analyzer nothing writes what its system calls write.
  local sources=('*.cc' ':!tests' ':!*_test.cc' ':!sandbox/src/launcher')
  mapfile -t files < <("${git[@]}" diff --name-only --diff-filter=d "$base" -- "${sources[@]}" | while read -r file; do
    ! grep -qF "\"file\": \"$root/$file\"" "$build/compile_commands.json" || echo "$file"
  done)
  echo "tidy: ${#files[@]} sources changed since $base"
  tidy_within "${CORDON_TIDY_SECONDS:-480}" "${files[@]}"
}

# tidy_within SECONDS FILE...: as many of them as the time allows, so that a large change is checked in part
# rather than not at all; what was left out is named.
tidy_within() {
  local end=$((SECONDS + $1)) failed=0 at rest
  shift
  for ((at = 1; at <= $#; at += jobs)); do
    if [ "$SECONDS" -ge "$end" ]; then
      rest=("${@:at}")
      echo "tidy: out of time, not checked: ${#rest[@]} sources from ${rest[0]} on"
      break
    fi
    (cd "$root" && printf '%s\0' "${@:at:jobs}" | xargs -0 -P "$jobs" -n 1 \
      clang-tidy --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option) || failed=1
  done
  return "$failed"
}

# --- tests ---

# run_ctest [CTEST-ARGUMENT...]: the tests of $build, as whoever we are.
run_ctest() {
  (cd "$build" && ctest_twice ctest "$@") </dev/null
}

# ctest_twice COMMAND [ARGUMENT...]: what failed among all the others, on a machine that may be busy, is tried once
# more, alone, and is named whatever comes of it. Attacks and random input are not forgiven: they must fail always.
ctest_twice() {
  local log=Testing/Temporary/LastTestsFailed.log failed status
  rm -f "$log"
  "$@" -j "$jobs" --output-on-failure --no-tests=error && return 0
  failed=$(cat "$log" 2>/dev/null)
  if [ -z "$failed" ] || [ "$(wc -l <<<"$failed")" -gt 5 ] ||
    grep -qE '^[0-9]+:(escape|corpus|oracle|fuzz)[.]' <<<"$failed"; then
    printf 'run.sh: failed: %s\n' "${failed:-see above}"
    return 1
  fi
  printf 'run.sh: failed, tried again alone: %s\n' "$failed"
  "$1" -j 1 --output-on-failure -I "0,0,0,$(cut -d: -f1 <<<"$failed" | paste -sd,)"
  status=$?
  [ "$status" != 0 ] || printf 'run.sh: UNSTEADY, passed only alone: %s\n' "$failed"
  return "$status"
}

# The same as nobody, with a home and a temporary folder of their own; ctest's own files go there too, since the
# build folder is only readable to them.
run_ctest_as_nobody() {
  [ "$(id -u)" = 0 ] || die "--as-nobody needs root"
  "${as_nobody[@]}" test -r "$build/CTestTestfile.cmake" ||
    die "the user nobody cannot read $build: a folder above it is closed to others"
  scratch=$(mktemp -d /tmp/cordon-nobody.XXXXXX) || return 1
  mkdir "$scratch/home" "$scratch/tmp" "$scratch/ctest"
  printf 'subdirs("%s")\n' "$build" >"$scratch/ctest/CTestTestfile.cmake"
  chown -R 65534:65534 "$scratch"
  # Installing writes a manifest into the build folder, so that is left to its owner.
  (cd "$scratch/ctest" && ctest_twice ctest_of_nobody -LE '^install$' "$@") </dev/null
}

ctest_of_nobody() {
  "${as_nobody[@]}" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    HOME="$scratch/home" TMPDIR="$scratch/tmp" CORDON_REQUIRE="${CORDON_REQUIRE-}" \
    CORDON_NODE_MODULES="${CORDON_NODE_MODULES-}" ctest "$@"
}

run_tests() {
  local format_ok=0
  if [ -n "$(formatter)" ]; then
    check_format || format_ok=1
  else
    echo "format: not checked, clang-format $format_version is not here"
  fi
  cordon_build release || return 1
  "run_ctest$user_suffix" "$@" || return 1
  [ "$format_ok" = 0 ] || echo "The tests passed; the format check above did not."
  return "$format_ok"
}

run_sanitized() { # PRESET [CTEST-ARGUMENT...]
  local preset=$1 targets=() choice=(-LE '^(install|boundaries)$')
  shift
  # Where threads share anything; a build of the rest would show nothing and take minutes.
  [ "$preset" != tsan ] || targets=(gate_test sandbox_test net-proxy_test) choice=(-L '^(gate|sandbox|net-proxy)$')
  # Within CI's time: the modules' own tests. The whole suite is what a person gets.
  if [ "$preset" = asan ] && [ "${1-}" = --modules ]; then
    shift
    targets=(sdk_test gate_test sandbox_test net-proxy_test bash_test cli_test)
    choice=(-L '^(sdk|gate|sandbox|net-proxy|bash|cli)$')
  fi
  # ThreadSanitizer of these compilers does not start where the kernel randomises more bits than it knows. Test
  # programs also run while they are built.
  if [ "$preset" = tsan ] && setarch -R true 2>/dev/null && [ -z "${CORDON_WITHOUT_ASLR-}" ]; then
    CORDON_WITHOUT_ASLR=1 exec setarch -R "$0" --tsan "$@"
  fi
  cordon_build "$preset" "${targets[@]}" || return 1
  ASAN_OPTIONS=${ASAN_OPTIONS-detect_stack_use_after_return=1} \
    UBSAN_OPTIONS=${UBSAN_OPTIONS-print_stacktrace=1} \
    TSAN_OPTIONS=${TSAN_OPTIONS-halt_on_error=1:second_deadlock_stack=1} \
    run_ctest "${choice[@]}" "$@"
}

run_fuzzers() { # [SECONDS]
  local seconds=${1:-30} fuzzers fuzzer pid pids failed=0 at
  [[ $seconds =~ ^[1-9][0-9]{0,4}$ ]] || die "--fuzz takes a number of seconds"
  cordon_build asan fuzzers || return 1
  fuzzers=("$build"/fuzzers/fuzz_*)
  mkdir -p "$build/fuzz-logs" "$build/fuzz-found"
  # One more at a time than there are processors: all of them take as long as the slowest, and so less.
  for ((at = 0; at < ${#fuzzers[@]}; at += jobs + 1)); do
    pids=()
    for fuzzer in "${fuzzers[@]:at:jobs+1}"; do
      fuzz_one "$fuzzer" "$seconds" &
      pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  done
  return "$failed"
}

fuzz_one() { # PROGRAM SECONDS: what it finds to be of use is kept in the build folder, for the next run
  local name=${1##*/fuzz_} corpora log=$build/fuzz-logs/${1##*/}.log
  corpora=("$build/corpus/$name")
  mkdir -p "${corpora[0]}"
  [ ! -d "$root/tests/fuzz/corpus/$name" ] || corpora+=("$root/tests/fuzz/corpus/$name")
  if timeout -k 10 $(($2 + 60)) "$1" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$build/fuzz-found/$name-" "${corpora[@]}" >"$log" 2>&1 </dev/null; then
    echo "fuzz $name: ok, $(tail -n 1 "$log")"
  else
    tail -n 40 "$log" | cut -c 1-300
    echo "fuzz $name: FAILED, the input is in $build/fuzz-found: fix it and add it to tests/fuzz/corpus/$name" >&2
    return 1
  fi
}

# --- acceptance cases ---

promised_cases() {
  sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$root/tests/cases.promised"
}

run_cases() { # [PATTERN]: fails when a promised case does not pass; what is not promised is only shown
  local runner=$root/../shared/cases/run program options=(-j "$jobs") log verdict id failed=0
  if [ ! -x "$runner" ]; then
    echo "cases: there is no ../shared/cases here"
    return 0
  fi
  cordon_build release || return 1
  program=$build/tools/cli/cordon
  if [ ! -x "$program" ]; then
    [ -z "$(promised_cases)" ] || die "cases are promised, but $program was not built"
    echo "cases: there is no $program yet, and nothing is promised"
    return 0
  fi
  [ -z "$user_suffix" ] || options+=(--as-nobody)
  [ $# = 0 ] || options+=(-f "$1")
  scratch=$(mktemp -d) || return 1
  log=$scratch/cases
  "$runner" "${options[@]}" "$program" </dev/null | tee "$log"
  for id in $(promised_cases); do
    [[ $id =~ ${1:-.} ]] || continue
    verdict=$(sed -n "s/^\(ok\|skip\|FAIL\) $id - .*/\1/p" "$log")
    case $verdict in
      ok) ;;
      skip) echo "cases: $id is promised, and this host cannot tell" ;;
      *)
        echo "cases: $id is promised, and did not pass" >&2
        failed=1
        ;;
    esac
  done
  [ "$failed" = 1 ] || echo "cases: all that is promised holds"
  return "$failed"
}

# --- CI ---

# The clients that only npm has, into the build folder. Without npm or its registry their tests are skipped, and say so.
install_mcp_clients() {
  local folder=$root/build/mcp_clients
  command -v npm >/dev/null || return 0
  mkdir -p "$folder" && cp "$root/tests/mcp_clients/package.json" "$folder" || return 0
  if timeout 180 npm install --no-audit --no-fund --no-package-lock --prefix "$folder" </dev/null; then
    export CORDON_NODE_MODULES=$folder/node_modules
  fi
}

run_ci() {
  local started=$SECONDS budget=2340 summary=() failed=0 may_run_out=''
  export CORDON_REQUIRE=${CORDON_REQUIRE-userns,landlock,seccomp} CORDON_WERROR=ON

  # What a failed or unsteady step said of it, repeated at the very end.
  local said name
  said=$(mktemp -d) || return 1

  # ci_step NAME SECONDS ARGUMENT...: this script again, as a person would call it, within what time is left.
  ci_step() {
    local name=$1 limit=$2 left=$((budget - (SECONDS - started))) began=$SECONDS status
    shift 2
    [ "$limit" -le "$left" ] || limit=$left
    printf '\n=== %s: tests/run.sh %s\n' "$name" "$*"
    if [ "$limit" -le 0 ]; then
      status=124
    else
      timeout -k 15 "$limit" "$root/tests/run.sh" "$@" </dev/null 2>&1 | tee "$said/$name"
      status=${PIPESTATUS[0]}
    fi
    case $status in
      0) summary+=("ok     $name ($((SECONDS - began)) s)") ;;
      124 | 137)
        # How far a build comes in the time depends on the cache and the machine, not on the change.
        if [ -n "$may_run_out" ]; then
          summary+=("CUT    $name (out of time after $((SECONDS - began)) s: NOT shown to hold)")
          return 0
        fi
        summary+=("FAILED $name (out of time after $((SECONDS - began)) s)")
        ;;
      *) summary+=("FAILED $name (status $status, $((SECONDS - began)) s)") ;;
    esac
    [ "$status" = 0 ] || failed=1
    return "$status"
  }

  cordon_install_packages --with-recommends "${CORDON_CI_PACKAGES[@]}" || return 1
  [ -n "${CORDON_NODE_MODULES-}" ] || install_mcp_clients
  ci_step format 60 --format
  if ci_step build 1200 --build; then
    ci_step headers 300 --headers
    CORDON_ORACLE_SECONDS=${CORDON_ORACLE_SECONDS:-60} ci_step tests 600 --test-only
    ci_step cases 600 --cases
    CORDON_FUZZ_SECONDS=60 ci_step "random changes of files" 120 --test-only -R 'random changes of files'
    if [ "$(id -u)" = 0 ] && ! "${as_nobody[@]}" test -r "$root/README.md"; then
      summary+=("-      as nobody: a folder above $root is closed to others")
    elif [ "$(id -u)" = 0 ]; then
      ci_step "tests as nobody" 600 --test-only --as-nobody
      ci_step "cases as nobody" 600 --cases --as-nobody
    else
      summary+=("-      as nobody: only root can run the tests as somebody else")
    fi
    may_run_out=1
    ci_step fuzz 900 --fuzz 60
    ci_step asan 1300 --asan --modules
    ci_step tsan 900 --tsan
    CORDON_TIDY_SECONDS=${CORDON_TIDY_SECONDS:-100} ci_step tidy 400 --tidy
  fi
  printf '\n=== in all: %s s\n' "$((SECONDS - started))"
  for name in "$said"/*; do
    grep -hE -A 5 '^run[.]sh: |^cases: .* did not pass|[*][*][*](Failed|Timeout|Exception)|FAILED|error:|ERROR:|^SUMMARY: ' "$name" |
      head -n 40 | sed "s/^/${name##*/}: /"
  done
  rm -rf "$said"
  printf '%s\n' "${summary[@]}"
  return "$failed"
}

# --- the command line ---

mode=tests user_suffix=
case ${1-} in
  -h | --help)
    sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"
    exit 0
    ;;
  --asan | --tsan | --fuzz | --cases | --format | --headers | --tidy | --ci | --build | --test-only)
    mode=${1#--}
    shift
    ;;
esac
if [ "${1-}" = --as-nobody ]; then
  user_suffix=_as_nobody
  shift
fi

cordon_install_packages "${CORDON_BUILD_PACKAGES[@]}" || exit 1
case $mode in
  # With it comes its runtime of the sanitizers.
  asan | tsan | fuzz) cordon_install_packages --with-recommends clang || exit 1 ;;
esac
case $mode in
  tests) run_tests "$@" ;;
  test-only) cordon_build release && "run_ctest$user_suffix" "$@" ;;
  build) cordon_build release "$@" ;;
  asan | tsan) run_sanitized "$mode" "$@" ;;
  fuzz) run_fuzzers "$@" ;;
  cases) run_cases "$@" ;;
  format) check_format ;;
  headers) check_headers ;;
  tidy) check_tidy ;;
  ci) run_ci ;;
esac
