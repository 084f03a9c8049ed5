#!/bin/bash
# Everything that must pass: installs what is missing, builds with gcc and clang (warnings are errors), runs all tests,
# the unit tests under the address and undefined-behaviour sanitizers, and the capture tests under the thread sanitizer.
# Usage: tools/test.sh [gcc] [clang] [sanitize] [thread] [tidy]      (default: all)
set -euo pipefail
cd "$(dirname "$0")/.."
tools/dependencies.sh --tests

stages=("$@")
[ ${#stages[@]} -eq 0 ] && stages=(gcc clang sanitize thread tidy)
jobs=$(nproc)
command -v ccache >/dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# configure_and_build NAME CMAKE_ARGUMENTS...
configure_and_build() {
  local name=$1
  shift
  echo "== $name: build"
  cmake -S . -B "build/$name" -G Ninja "$@" >"build/$name.log" 2>&1 || { cat "build/$name.log"; exit 1; }
  ninja -C "build/$name" -j "$jobs" >"build/$name.log" 2>&1 || { tail -n 60 "build/$name.log"; exit 1; }
}
run_tests() {
  local name=$1
  shift
  echo "== $name: test"
  ctest --test-dir "build/$name" -j "$jobs" --output-on-failure --no-tests=error --timeout 600 "$@"
}

mkdir -p build
for stage in "${stages[@]}"; do
  case $stage in
    gcc)
      configure_and_build gcc -DCMAKE_CXX_COMPILER=g++
      run_tests gcc
      ;;
    clang)
      configure_and_build clang -DCMAKE_CXX_COMPILER=clang++ -DNUMDIFF_CUDA=OFF
      run_tests clang -L "unit|checks" -LE "slow"
      ;;
    sanitize)
      configure_and_build sanitize -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O1 \
        -DNUMDIFF_CUDA=OFF -DNUMDIFF_SANITIZE=address,undefined -DNUMDIFF_BUILD_SAMPLES=OFF
      run_tests sanitize -L unit -LE "slow|nosanitize"
      ;;
    thread)
      configure_and_build thread -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O1 \
        -DNUMDIFF_CUDA=OFF -DNUMDIFF_SANITIZE=thread -DNUMDIFF_BUILD_SAMPLES=OFF
      run_tests thread -L tsan -LE "nosanitize"
      ;;
    tidy)
      echo "== tidy"
      cmake -S . -B build/clang -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DNUMDIFF_CUDA=OFF \
        -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
      git ls-files 'src/*.cpp' 'tools/numdiff/*.cpp' |
        xargs -P "$jobs" -n 2 clang-tidy -p build/clang --quiet 2>/dev/null
      ;;
    *)
      echo "tools/test.sh: unknown stage '$stage': use gcc, clang, sanitize, thread or tidy" >&2
      exit 2
      ;;
  esac
done
echo "all stages passed: ${stages[*]}"
