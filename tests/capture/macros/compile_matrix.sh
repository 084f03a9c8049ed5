#!/bin/sh
# Compiles the statements with every compiler, language and switch, and checks that mistakes do not compile.
# Usage: compile_matrix.sh SOURCE_DIR
source=$1
here=$source/tests/capture/macros
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wunused -Werror"
failed=0
compilers=0
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT

for compiler in g++ clang++; do
  command -v "$compiler" >/dev/null || continue
  compilers=$((compilers + 1))
  for enable in 0 1; do
    for standard in 17 20; do
      echo '#include "capture/macros/statements.hpp"' >"$scratch/s.cpp"
      if ! "$compiler" -std=c++$standard $warnings -DNUMDIFF_ENABLE=$enable -I"$source/include" -I"$source/tests" \
          -fsyntax-only "$scratch/s.cpp"; then
        echo "$compiler -std=c++$standard NUMDIFF_ENABLE=$enable: the statements do not compile"
        failed=1
      fi
    done
    # Each mistake alone must be refused, and the file without any must compile.
    for mistake in 0 $(sed -n 's/^#if MISTAKE == //p' "$here/mistakes.cpp"); do
      if "$compiler" -std=c++17 -DNUMDIFF_ENABLE=$enable -DMISTAKE="$mistake" -I"$source/include" -fsyntax-only \
          "$here/mistakes.cpp" >"$scratch/log" 2>&1; then
        outcome=compiles
      else
        outcome=fails
      fi
      expected=fails
      [ "$mistake" = 0 ] && expected=compiles
      if [ $outcome != $expected ]; then
        echo "$compiler NUMDIFF_ENABLE=$enable: mistake $mistake $outcome"
        cat "$scratch/log"
        failed=1
      fi
    done
  done
  if "$compiler" -std=c++17 -DNUMDIFF_ENABLE=2 -I"$source/include" -fsyntax-only "$here/mistakes.cpp" 2>/dev/null; then
    echo "$compiler: NUMDIFF_ENABLE=2 is taken"
    failed=1
  fi
done
[ $compilers -gt 0 ] || exit 77
exit $failed
