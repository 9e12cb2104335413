#!/usr/bin/env bash
# Builds what it needs and lets the sample assistant fix a real project, confined: samples/demo.sh [ARGUMENT...]
# The arguments go to the assistant; --help lists them.
set -u
root=$(cd "$(dirname "$(realpath "$0")")/.." && pwd) || exit 1
# shellcheck source=cmake/build.sh
. "$root/cmake/build.sh"

cordon_install_packages "${CORDON_BUILD_PACKAGES[@]}" || exit 1
cordon_build release cordon-agent || exit 1
exec "$build/samples/agent/cordon-agent" --demo "$@"
