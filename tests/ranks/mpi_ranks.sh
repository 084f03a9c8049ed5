#!/bin/sh
# Ranks that only MPI knows write files of their own, of one run, which equals that of one rank.
# Usage: mpi_ranks.sh PROGRAM NUMDIFF
set -eu
command -v mpirun > /dev/null || exit 77
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"
for ranks in 1 3 4; do mpirun --oversubscribe -n $ranks "$1" "ranks$ranks.h5"; done
for ranks in 3 4; do
  test "$(ls ranks$ranks.rank?????.h5 | wc -l)" -eq $ranks
  "$2" ranks1.h5 ranks$ranks.h5 | tail -n 1 | grep -q '^numdiff: agree: 1 of 1 matched captures decided, 1 equal'
done
rm ranks4.rank00002.h5
if "$2" ranks1.h5 ranks4.h5 > out.txt; then exit 1; else test $? -eq 3; fi
grep -q 'no file of rank 2 of the test' out.txt
