#!/bin/sh
# Makes docs/measured/drift.md: pairs of honest runs of the sample, of which none may drift, and faults that begin at a
# known step and layer. Exits 1 when one line is wrong. Usage: drift.sh BUILD [OUTPUT.md]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
ninja -C "$1" minigpt numdiff >/dev/null
exec /usr/bin/python3 "$here/drift.py" "$1" "${2:-$here/../../docs/measured/drift.md}"
