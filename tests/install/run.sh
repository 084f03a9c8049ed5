#!/bin/bash
# Builds and runs a consumer of numdiff in one of three ways; its run file must be read by the program.
# Usage: run.sh find_package|add_subdirectory|plain SOURCE BUILD COMPILER
set -euo pipefail
way=$1 source=$2 build=$3 compiler=$4
here=$source/tests/install
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
generator=(-G Ninja -DCMAKE_CXX_COMPILER="$compiler")

case $way in
  find_package)
    cmake --install "$build" --prefix "$prefix" >/dev/null
    cmake -S "$here/find_package" -B "$work/b" "${generator[@]}" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
    cmake --build "$work/b" >/dev/null
    program=$work/b/consumer
    numdiff=$prefix/bin/numdiff
    ;;
  add_subdirectory)
    cmake -S "$here/add_subdirectory" -B "$work/b" "${generator[@]}" -DNUMDIFF_SOURCE="$source" >/dev/null
    cmake --build "$work/b" -j 2 >/dev/null
    program=$work/b/consumer
    numdiff=$build/bin/numdiff
    ;;
  plain) # no CMake: the implementation is compiled into the program's one file; the sink is found by its path
    cmake --install "$build" --prefix "$prefix" >/dev/null
    "$compiler" -std=c++17 -O2 -DNUMDIFF_IMPLEMENTATION -I "$prefix/include" "$here/consumer.cpp" \
      -o "$work/consumer" -ldl -pthread
    sink=$(find "$prefix" -name 'libnumdiff_hdf5.so')
    export NUMDIFF_SINK=$sink
    program=$work/consumer
    numdiff=$prefix/bin/numdiff
    ;;
  *)
    echo "run.sh: unknown way '$way'" >&2
    exit 2
    ;;
esac

cd "$work"
"$program"
"$numdiff" show consumer.h5 | grep -q 'double'
cp consumer.h5 again.h5
"$numdiff" consumer.h5 again.h5 | tail -n 1 | grep -q '^numdiff: agree'
echo "$way: captured, shown and compared"
