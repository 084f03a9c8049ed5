#!/bin/sh
# With NUMDIFF_ENABLE=0 the sample prints the same losses and weights.
set -eu
bin=$1
for mode in "--precision fp32" "--precision fp16" "--precision fp8 --fp8 block" "--norm layer --document 8"; do
  with=$("$bin/minigpt" --steps 6 --weights-digest $mode)
  without=$("$bin/minigpt_off" --steps 6 --weights-digest $mode)
  if [ "$with" != "$without" ]; then
    echo "the program without numdiff differs with $mode"
    exit 1
  fi
done
