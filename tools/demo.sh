#!/bin/bash
# The main job on real input: trains a small GPT in FP32 on one rank (the reference) and in BF16 on two ranks with one
# planted fault, lets numdiff name the operation, and then shows the healthy pair agreeing.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/dependencies.sh

command -v ccache >/dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
mkdir -p build
echo "building (build/demo.log)"
cmake -S . -B build/demo -G Ninja -DNUMDIFF_BUILD_TESTS=OFF -DNUMDIFF_CUDA=OFF >build/demo.log 2>&1 &&
  ninja -C build/demo >>build/demo.log 2>&1 || { tail -n 40 build/demo.log; exit 1; }

bin=$PWD/build/demo/bin
out=$PWD/build/demo/runs
rm -rf "$out"
mkdir -p "$out"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
train() { "$bin/minigpt" --size tiny --steps 4 --level tensors "$@" | tail -n 1; }
train_on_two() {
  mpirun --oversubscribe --quiet -n 2 "$bin/minigpt" --size tiny --steps 4 --level tensors "$@" | tail -n 1
}

echo
echo "1. the reference: FP32 on one rank"
train --precision fp32 --run "$out/reference.h5"
echo "2. BF16 on two ranks, residual add of layer 1 truncates instead of rounding from step 2 on"
train_on_two --precision bf16 --tp 2 --fault truncating-residual --fault-layer 1 --fault-step 2 --run "$out/faulty.h5"
echo "3. BF16 on two ranks, healthy"
train_on_two --precision bf16 --tp 2 --run "$out/healthy.h5"

echo
echo "\$ numdiff reference.h5 faulty.h5"
status=0
(cd "$out" && "$bin/numdiff" reference.h5 faulty.h5) || status=$?
[ $status -eq 1 ] || { echo "demo: expected exit code 1 (differ), got $status" >&2; exit 1; }

echo
echo "\$ numdiff reference.h5 healthy.h5"
(cd "$out" && "$bin/numdiff" reference.h5 healthy.h5)
