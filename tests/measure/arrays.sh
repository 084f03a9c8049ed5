#!/bin/sh
# Makes docs/measured/arrays.md: numdiff against h5diff and cmp on plain files, in the page cache.
# Usage: arrays.sh BUILD [OUTPUT.md [MILLIONS OF ELEMENTS]]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec /usr/bin/python3 "$here/arrays.py" "$1" "${2:-$here/../../docs/measured/arrays.md}" "${3:-64}"
