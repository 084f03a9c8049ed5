#!/bin/sh
# Capturing at any level leaves the losses and weights bit for bit as they are.
set -eu
bin=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
for mode in "--precision fp32" "--precision fp8 --fp8 mx"; do
  plain=$("$bin/minigpt" --steps 3 --weights-digest $mode)
  for level in stats sketch tensors; do
    seen=$("$bin/minigpt" --steps 3 --weights-digest $mode --run "$directory/run_$level.h5" --level $level)
    if [ "$plain" != "$seen" ]; then
      echo "level $level changes the run with $mode"
      exit 1
    fi
  done
done
