#!/bin/sh
# With probes compiled out, code and constants equal those of the source without numdiff.
# Usage: stripped.sh SOURCE_DIR
source=$1
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
failed=0
compared=0

# sections OBJECT OUT: bytes of all code and constant sections, in order
sections() {
  : >"$2"
  for section in $(objdump -h "$1" | awk '$2 ~ /^\.(text|rodata)/ {print $2}' | sort); do
    objcopy -O binary --only-section="$section" --set-section-flags "$section=alloc" "$1" "$scratch/section" || return 1
    if [ -s "$scratch/section" ]; then
      echo "$section" >>"$2"
      cat "$scratch/section" >>"$2"
    fi
  done
}

for compiler in g++ clang++; do
  command -v "$compiler" >/dev/null || continue
  for level in -O1 -O2 -O3; do
    "$compiler" -std=c++17 $level -DNUMDIFF_ENABLE=0 -DINSTRUMENTED -I"$source/include" -c \
      "$source/tests/capture/macros/kernel.cpp" -o "$scratch/with.o" || exit 1
    "$compiler" -std=c++17 $level -c "$source/tests/capture/macros/kernel.cpp" -o "$scratch/without.o" || exit 1
    sections "$scratch/with.o" "$scratch/with" && sections "$scratch/without.o" "$scratch/without" || exit 1
    [ -s "$scratch/with" ] || { echo "$compiler $level: nothing to compare"; failed=1; }
    if ! cmp "$scratch/with" "$scratch/without"; then
      echo "$compiler $level: the sections differ"
      failed=1
    fi
    # The comparison must be able to see a probe.
    "$compiler" -std=c++17 $level -DNUMDIFF_ENABLE=1 -DINSTRUMENTED -I"$source/include" -c \
      "$source/tests/capture/macros/kernel.cpp" -o "$scratch/on.o" || exit 1
    sections "$scratch/on.o" "$scratch/on"
    if cmp -s "$scratch/on" "$scratch/without"; then
      echo "$compiler $level: probes that are on leave no trace either"
      failed=1
    fi
    compared=$((compared + 1))
  done
done

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ -n "$nvcc" ]; then
  for instrumented in "" "-DINSTRUMENTED -DNUMDIFF_ENABLE=0 -I$source/include"; do
    "$nvcc" -std=c++17 -arch=sm_90 -cubin $instrumented "$source/tests/capture/macros/kernel.cu" \
      -o "$scratch/kernel${instrumented:+_with}.cubin" || exit 1
  done
  if ! cmp "$scratch/kernel.cubin" "$scratch/kernel_with.cubin"; then
    echo "nvcc: the cubins differ"
    failed=1
  fi
fi
[ $compared -gt 0 ] || exit 77
exit $failed
