#!/bin/sh
# Makes docs/measured/cases.md: what numdiff answers to every public case (tests/cases), at level tensors and at level
# sketch. Exits 1 when a case is wrong or missing. Usage: cases.sh BUILD [OUTPUT.md]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec /usr/bin/python3 "$here/cases.py" "$1" "${2:-$here/../../docs/measured/cases.md}"
