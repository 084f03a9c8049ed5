#!/bin/sh
# Makes docs/measured/benign.md: pairs of honest runs in all formats, compared by the program, and how far what
# they stored lies from what was expected. Exits 1 on an alarm, or when fewer than 95 % of a part is decided.
# Usage: benign.sh BUILD [OUTPUT.md [DIVISOR]]; DIVISOR 10 runs a tenth of each part.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
ninja -C "$1" benign minigpt numdiff >/dev/null
exec /usr/bin/python3 "$here/benign.py" "$1" "${2:-$here/../../docs/measured/benign.md}" "${3:-1}"
