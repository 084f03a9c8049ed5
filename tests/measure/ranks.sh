#!/bin/sh
# Makes docs/measured/ranks.md: every layout of ranks of samples/minigpt against one rank, and every fault of ranks at
# three places. Exits 1 when one line is wrong.
# Usage: ranks.sh BUILD [OUTPUT.md [part]]; with "part" short runs, one precision and one place.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec /usr/bin/python3 "$here/ranks.py" "$1" "${2:-$here/../../docs/measured/ranks.md}" ${3:+"$3"}
