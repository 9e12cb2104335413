# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by the scripts that build: makes sure that the Debian or Ubuntu packages they need are there.
# Installs nothing when all are; tells what to type when it may not install.

CORDON_BUILD_PACKAGES=(
  g++ make cmake ninja-build pkg-config ccache git
  libabsl-dev nlohmann-json3-dev libssl-dev libseccomp-dev libcli11-dev libcurl4-openssl-dev catch2
  python3 util-linux
)
# The fuzzers' runtime, the exact formatter, and what the tests of terminals, of debuggers and of database clients
# drive; only CI needs them.
CORDON_CI_PACKAGES=(clang clang-format-14 clang-tidy tmux vim less procps gdb strace
  postgresql postgresql-client redis-server redis-tools)

# Prints those of the packages given that are not installed.
cordon_missing_packages() {
  local package
  for package in "$@"; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
      installed*) ;;
      *) printf '%s\n' "$package" ;;
    esac
  done
}

# cordon_install_packages [--with-recommends] PACKAGE...: returns 1 when one is missing and cannot be installed.
cordon_install_packages() {
  local recommends=--no-install-recommends missing as_root=()
  if [ "${1-}" = --with-recommends ]; then
    recommends=--install-recommends
    shift
  fi
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "Not a Debian or Ubuntu system: going on without a check. Needed, under your system's names: $*" >&2
    return 0
  fi
  mapfile -t missing < <(cordon_missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0

  echo "Missing packages: ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Only root can install them and there is no sudo. As root: apt-get install ${missing[*]}" >&2
      return 1
    fi
    echo "Installing them with sudo, which may ask for your password."
    as_root=(sudo)
  fi
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get
    -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 -o Acquire::http::Timeout=60)
  if ! "${apt[@]}" update </dev/null ||
    ! "${apt[@]}" install -y "$recommends" "${missing[@]}" </dev/null; then
    echo "They could not be installed. By hand: sudo apt-get install ${missing[*]}" >&2
    return 1
  fi
}
