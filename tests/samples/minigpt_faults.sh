#!/bin/sh
# Every listed fault changes the run, from its first step on and not before.
set -eu
bin=$1
mpi=no
command -v mpirun > /dev/null && mpi=yes
tab=$(printf '\t')
"$bin/minigpt" --list-faults | tail -n +2 | while IFS="$tab" read -r name options _; do
  start="$bin/minigpt"
  case $options in
    -) options="" ;;
    ranks) options="" start="mpirun --allow-run-as-root --oversubscribe -n 2 $start" ;;
    --tp) options="--tp 2" start="mpirun --allow-run-as-root --oversubscribe -n 2 $start" ;;
  esac
  case $start in mpirun*) [ $mpi = yes ] || continue ;; esac
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
