#!/bin/sh
# clang-format 14 on all C++ and CUDA sources. Exits 77 when that version is not installed.
root=$1
tool=$(command -v clang-format-14 || command -v clang-format) || exit 77
"$tool" --version | grep -q 'version 14\.' || exit 77
cd "$root" || exit 2
git ls-files '*.hpp' '*.cpp' '*.cu' '*.cuh' '*.h' | grep -v '^tests/capture/abi_v1/' | xargs "$tool" --dry-run --Werror
