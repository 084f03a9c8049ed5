#!/bin/bash
# The checks that need a GPU: device code against host code, capture of device tensors, and the models of the tensor cores.
# Needs nvcc; builds only what needs no HDF5; a check without a device (status 77) is skipped and counted.
# Usage: tools/gpu_check.sh [FOLDER FOR THE OUTPUT]
set -uo pipefail
cd "$(dirname "$0")/.."
out=${1:-build/gpu}
mkdir -p "$out" build/gpu
architecture=${NUMDIFF_CUDA_ARCHITECTURE:-sm_90}
failed=0 skipped=0

# check NAME SOURCE EXTRA_NVCC_ARGUMENTS...
check() {
  local name=$1 source=$2
  shift 2
  echo "== $name"
  if ! nvcc -std=c++17 -O2 -arch="$architecture" -I include -I tests "$source" "$@" -o "build/gpu/$name" >"$out/$name.build.txt" 2>&1; then
    cat "$out/$name.build.txt"
    failed=$((failed + 1))
    return
  fi
  rm -f "$out/$name.build.txt"
  "build/gpu/$name" 2>&1 | tee "$out/$name.txt"
  local status=${PIPESTATUS[0]}
  if [ "$status" -eq 77 ]; then
    echo "$name: skipped, no device"
    skipped=$((skipped + 1))
  elif [ "$status" -ne 0 ]; then
    echo "$name: exit code $status"
    failed=$((failed + 1))
  fi
}

nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null | tee "$out/device.txt"
check device_formats tests/values/device_formats.cu
g++ -std=c++17 -shared -fPIC -I include -I tests tests/capture/support/recording_sink.cpp -o build/gpu/sink.so || failed=$((failed + 1))
check device_capture tests/capture/cuda/device_capture.cu "-DNUMDIFF_TEST_SINK_PATH=\"$PWD/build/gpu/sink.so\"" -ldl -lpthread
check tensor_cores tests/measure/tensor_cores.cu -lcublasLt
echo "gpu_check: $failed check(s) failed, $skipped skipped for want of a device"
[ "$failed" -eq 0 ]
