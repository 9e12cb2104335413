#!/usr/bin/env bash
# The inspector's CLI mode (npm @modelcontextprotocol/inspector) with `cordon mcp`.
#
#   CORDON_NODE_MODULES=DIR inspector.sh CORDON
#
# DIR is a node_modules folder that has the package. Installs nothing: without it the test is skipped.
set -u

cordon=$1
cli=${CORDON_NODE_MODULES:-/nonexistent}/@modelcontextprotocol/inspector/cli/build/cli.js
if [ ! -f "$cli" ]; then
  case ",${CORDON_REQUIRE:-}," in
    *,mcp-sdk,*) echo "required, but there is no inspector"; exit 1 ;;
  esac
  echo "cordon-test-skipped: CORDON_NODE_MODULES names no folder with @modelcontextprotocol/inspector"
  exit 0
fi
ground=$(mktemp -d) || exit 1
trap 'rm -rf "$ground"' EXIT

inspect() { timeout 60 node "$cli" --cli "$cordon" mcp -w "$ground" "$@"; }
fail() { echo "failed: $1"; exit 1; }

tools=$(inspect --method tools/list) || fail 'tools/list'
for name in bash bash_output bash_input bash_stop; do
  grep -q "\"name\": \"$name\"" <<<"$tools" || fail "no tool $name in: $tools"
done
result=$(inspect --method tools/call --tool-name bash --tool-arg 'command=echo six-times-$((6*7))') || fail 'tools/call'
grep -q 'six-times-42' <<<"$result" || fail "no output in: $result"
grep -q '"exit_code": 0' <<<"$result" || fail "no structured result in: $result"
echo 'the inspector lists the tools and calls one'
