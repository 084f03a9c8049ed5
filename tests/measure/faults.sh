#!/bin/sh
# Makes docs/measured/faults.md: every one-rank fault of samples/minigpt at three places, and every healthy precision
# and layout of ranks, compared with the healthy fp32 run on one rank. Exits 1 when one line is wrong.
# Usage: faults.sh BUILD [OUTPUT.md [PLACES]], where PLACES (1 to 3) limits the places of each fault.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec /usr/bin/python3 "$here/faults.py" "$1" "${2:-$here/../../docs/measured/faults.md}" ${3:+"$3"}
