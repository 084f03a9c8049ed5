#!/bin/sh
# Makes docs/measured/power.md: faults of decreasing size at random places, and the smallest that is still found.
# Exits 1 when a floor is missed. Usage: power.sh BUILD [OUTPUT.md [TRIALS [CAUSES]]], by default 20 trials of each size
# of every cause; CAUSES are joined by commas.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
ninja -C "$1" power numdiff >/dev/null
exec /usr/bin/python3 "$here/power.py" "$1" "${2:-$here/../../docs/measured/power.md}" "${3:-20}" ${4:+"$4"}
