#!/bin/sh
# numdiff on minigpt: a healthy bf16 run on two ranks agrees with fp32 on one, and a planted fault is named; scores that
# overflow are named although scaled gradients of one-sided attention vanish before.
# Usage: minigpt_compare.sh BIN TEXT
set -eu
bin=$1
text=$2
command -v mpirun > /dev/null || exit 77
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
train() { # FILE OPTIONS...
  file=$1
  shift
  echo "--size tiny --steps 2 --data $text --level tensors --run $directory/$file $*"
}
two() { mpirun --allow-run-as-root --oversubscribe -n 2 "$bin/minigpt" "$@"; }

"$bin/minigpt" $(train fp32.h5) > /dev/null
two $(train bf16.h5 --precision bf16 --tp 2) > /dev/null
two $(train cut.h5 --precision bf16 --tp 2 --fault truncating-residual --fault-layer 1 --fault-step 1) > /dev/null

healthy=0
"$bin/numdiff" "$directory/fp32.h5" "$directory/bf16.h5" > "$directory/healthy.txt" || healthy=$?
faulty=0
"$bin/numdiff" "$directory/fp32.h5" "$directory/cut.h5" > "$directory/faulty.txt" || faulty=$?
last=$(tail -n 1 "$directory/faulty.txt")
case $last in
  "numdiff: differ: first at decoder.layer.1.attn / attn.residual"*"(step 1,"*truncating-cast*) named=yes ;;
  *) named=no ;;
esac
if [ $healthy != 0 ] || [ $faulty != 1 ] || [ $named = no ]; then
  echo "healthy exits $healthy, faulty exits $faulty"
  cat "$directory/healthy.txt" "$directory/faulty.txt"
  exit 1
fi

"$bin/minigpt" $(train gain.h5 --query-gain 80) > /dev/null
"$bin/minigpt" $(train scores.h5 --query-gain 80 --precision fp16 --loss-scale 1024 --fault score-overflow --fault-layer 1 \
  --fault-step 1) > /dev/null
"$bin/numdiff" "$directory/gain.h5" "$directory/scores.h5" > "$directory/scores.txt" || true
case $(tail -n 1 "$directory/scores.txt") in
  "numdiff: differ: first at decoder.layer.1.attn / attn.scores"*"(step 1,"*score-overflow*) ;;
  *) cat "$directory/scores.txt"; exit 1 ;;
esac
