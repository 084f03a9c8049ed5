#!/bin/sh
# Runs of every layout of ranks train like one rank, up to rounding.
set -eu
bin=$1
command -v mpirun > /dev/null || exit 77
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
run() { mpirun --allow-run-as-root --oversubscribe -n "$@"; }

"$bin/minigpt" --steps 6 --loss-log "$directory/one.csv" > /dev/null
for layout in "2" "2:--tp 2" "4:--tp 2 --order tree" "4:--order tree" "2:--tp 2 --wire bf16 --precision bf16" \
  "3" "2:--tp 2 --sp --recompute" "4:--tp 2 --sp" "3:--zero" "4:--tp 2 --sp --zero" "2:--cp 2" "4:--cp 2 --tp 2 --sp" \
  "2:--pp 2" "4:--pp 2 --tp 2 --sp --micro-batches 2"; do
  ranks=${layout%%:*}
  arguments=${layout#"$ranks"}
  arguments=${arguments#:}
  tolerance=2e-5
  case $arguments in *bf16*) tolerance=2e-2 ;; esac
  run "$ranks" "$bin/minigpt" --steps 6 --loss-log "$directory/many.csv" $arguments > /dev/null
  paste -d, "$directory/one.csv" "$directory/many.csv" | awk -F, -v limit=$tolerance -v layout="$layout" '
    NR > 1 { d = $2 - $4; if (d < 0) d = -d; if (d > limit) { print layout ": step " $1 ": " $2 " and " $4; bad = 1 } }
    END { if (NR != 7) { print layout ": " NR - 1 " steps"; bad = 1 } exit bad }'
done
