#!/bin/sh
# Makes docs/measured/scale.md: 1,024 ranks x 48 layers x 12 captures against one rank, in time and memory, by one
# process and by two, and what that says of 10,000 ranks; and two long runs of one rank. Needs 3 GB of disk in the
# temporary folder and 4 GB of memory while it runs.
# Usage: scale.sh BUILD [OUTPUT.md [TRIES]], 3 tries of each by default.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
ninja -C "$1" many_ranks numdiff >/dev/null
exec /usr/bin/python3 "$here/scale.py" "$1" "${2:-$here/../../docs/measured/scale.md}" "${3:-3}"
