#!/bin/sh
# Kills a capturing program at random moments from open to close and reads what is left:
#   tests/measure/sigkill.sh [build directory] [kills]
# Exits non-zero when one file does not open or one capture whose probe returned is missing.
set -eu
build=${1:-build}
kills=${2:-240}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! NUMDIFF_TEST_KILLS=$kills "$build/tests/store/store_kill" >"$log" 2>&1; then
  cat "$log"
  echo "sigkill: captures were lost, see above"
  exit 1
fi
echo "sigkill: $(grep ' kills: ' "$log")"
