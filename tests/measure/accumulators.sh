#!/bin/sh
# Makes docs/measured/accumulators.md: which accumulator the judge names for products made in known ways. Exits 1
# when one is wrong.
# Usage: accumulators.sh BUILD [OUTPUT.md]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${2:-$here/../../docs/measured/accumulators.md}
ninja -C "$1" accumulators > /dev/null
status=0
"$1/tests/analysis/expect/accumulators" > "$out.new" || status=$?
mv "$out.new" "$out"
exit "$status"
