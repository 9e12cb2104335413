# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by the scripts that build: one way to get packages, choose a build folder, configure and compile.
# Needs $root, the top of this tree. Progress goes to the terminal as it comes.

# shellcheck source=cmake/install-deps.sh
. "$root/cmake/install-deps.sh"

# A build that root made must stay readable for the ordinary user who runs its tests.
umask 022

# Whether a folder can be made or, with an earlier build in it, gone on with. The second person who builds a tree
# may not own what the first one left.
cordon_can_build_in() {
  local file
  mkdir -p "$1" 2>/dev/null && [ -w "$1" ] || return 1
  for file in CMakeCache.txt .ninja_log .ninja_deps; do
    [ ! -e "$1/$file" ] || [ -w "$1/$file" ] || return 1
  done
}

# cordon_build_dir PRESET: prints the folder to build in: inside the tree, or in the user's cache when the tree is
# not theirs to write.
cordon_build_dir() {
  local id dir base
  id=$(basename "$root")-$(printf %s "$root" | cksum | cut -d' ' -f1)
  for dir in "$root/build/$1" "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/cordon/$id/$1"; do
    if cordon_can_build_in "$dir"; then
      printf '%s\n' "$dir"
      return 0
    fi
  done
  # The last resort is a folder that others may write: only one that is ours, and closed to them.
  base=${TMPDIR:-/tmp}/cordon-$(id -u)
  mkdir -m 700 "$base" 2>/dev/null
  if [ -d "$base" ] && [ ! -L "$base" ] && [ -O "$base" ] && cordon_can_build_in "$base/$id/$1"; then
    printf '%s\n' "$base/$id/$1"
    return 0
  fi
  echo "No folder to build in: tried $root/build, the cache folder of $(id -un) and $base" >&2
  return 1
}

# cordon_build PRESET [TARGET...]: leaves the folder's name in $build. What is configured already stays as it is,
# so that a second run has nothing to do; CORDON_WERROR=ON or OFF in the environment overrides that.
cordon_build() {
  local preset=$1 targets=()
  shift
  [ $# = 0 ] || targets=(--target "$@")
  build=$(cordon_build_dir "$preset") || return 1
  # For a user without a home of their own.
  [ -w "${HOME:-/nonexistent}" ] || export CCACHE_DIR=${CCACHE_DIR:-$build/ccache}

  # With a compiler that we have not met, a new warning should not keep anybody from a first look.
  local werror=${CORDON_WERROR:-OFF}
  if [ ! -f "$build/build.ninja" ] ||
    { [ -n "${CORDON_WERROR-}" ] && ! grep -q "^CORDON_WERROR:.*=$werror\$" "$build/CMakeCache.txt"; }; then
    echo "Configuring in $build"
    if ! (cd "$root" && cmake --preset "$preset" -B "$build" "-DCORDON_WERROR=$werror") \
      </dev/null >"$build/configure.log" 2>&1; then
      cat "$build/configure.log"
      return 1
    fi
  fi
  echo "Building in $build"
  cmake --build "$build" -j "$(nproc)" "${targets[@]}" </dev/null
}
