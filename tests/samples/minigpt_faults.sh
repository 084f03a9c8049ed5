#!/bin/sh
# Every listed fault changes the run, from its first step on and not before.
set -eu
bin=$1
mpi=no
command -v mpirun > /dev/null && mpi=yes
tab=$(printf '\t')
"$bin/minigpt" --list-faults | tail -n +2 | while IFS="$tab" read -r name ranks options _; do
  start="$bin/minigpt"
  if [ "$ranks" != 1 ]; then
    [ $mpi = yes ] || continue
    start="mpirun --allow-run-as-root --oversubscribe -n $ranks $start"
  fi
  [ "$options" != - ] || options=""
  healthy=$($start --steps 4 --weights-digest $options < /dev/null)
  faulty=$($start --steps 4 --weights-digest $options --fault "$name" --fault-layer 1 --fault-step 2 < /dev/null)
  if [ "$(echo "$healthy" | head -2)" != "$(echo "$faulty" | head -2)" ]; then
    echo "$name: acts before its step"
    exit 1
  fi
  if [ "$(echo "$healthy" | tail -n +3)" = "$(echo "$faulty" | tail -n +3)" ]; then
    echo "$name: changes nothing"
    exit 1
  fi
done
