#!/bin/sh
# numdiff check, one run alone: healthy runs of every precision are healthy, planted faults are named.
# Usage: minigpt_check.sh BIN TEXT
set -eu
bin=$1
text=$2
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
judged() { # OPTIONS...
  "$bin/minigpt" --size tiny --data "$text" --level tensors --run "$directory/run.h5" "$@" > /dev/null
  "$bin/numdiff" check "$directory/run.h5" | tail -n 1
}
for precision in fp64 fp32 bf16 fp16 "fp8 --fp8 tensor" "fp8 --fp8 delayed" "fp8 --fp8 block" "fp8 --fp8 mx"; do
  last=$(judged --steps 2 --precision $precision)
  case $last in
    "numdiff: healthy: "*", 0 undecided") ;;
    *) echo "$precision: $last"; exit 1 ;;
  esac
done
tab=$(printf '\t')
"$bin/minigpt" --list-faults | tail -n +2 | while IFS="$tab" read -r name ranks options op cause _; do
  [ "$ranks" = 1 ] || continue
  [ "$options" != - ] || options=""
  last=$(judged --steps 3 $options --fault "$name" --fault-layer 1 --fault-step 2)
  case $last in
    "numdiff: fault: first at "*" / ${op##*/} :"*"(step 2,"*": $cause"*) ;;
    *) echo "$name: $last"; exit 1 ;;
  esac
done
