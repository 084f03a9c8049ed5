#!/bin/sh
# Makes docs/measured/benign.md: pairs of honest runs in all formats, compared by the program, and how far what
# they stored lies from what was expected. Exits 1 on an alarm, when fewer than 95 % of a part is
# decided, or when a format or kind has too few pairs.
# Usage: benign.sh BUILD [OUTPUT.md [DIVISOR]]; with a DIVISOR a share of the parts that may be looked at, and what is
# open in them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
ninja -C "$1" benign minigpt numdiff >/dev/null
exec /usr/bin/python3 "$here/benign.py" "$1" "${2:-$here/../../docs/measured/benign.md}" "${3:-0}"
