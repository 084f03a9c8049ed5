#!/bin/sh
# From digests alone (level stats): the weights of four tensor-parallel ranks are those of one rank, bit for bit, and
# one element that differs in one shard is named with its rank.
# Usage: minigpt_digests.sh BIN TEXT
set -eu
bin=$1
text=$2
command -v mpirun > /dev/null || exit 77
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
train() { # RANKS RUN OPTIONS...
  ranks=$1 run=$2
  shift 2
  mpirun --allow-run-as-root --oversubscribe -n "$ranks" "$bin/minigpt" --data "$text" --steps 1 --heads 4 --level stats \
    --run "$directory/$run" "$@" > /dev/null
}
train 1 one.h5
train 4 four.h5 --tp 4
train 4 other.h5 --tp 4 --fault perturbed-weights --fault-layer 1 --fault-step 0

"$bin/numdiff" --json --top 1000000 "$directory/one.h5" "$directory/four.h5" > "$directory/report.json"
/usr/bin/python3 - "$directory/report.json" << 'END'
import json, sys
report = json.load(open(sys.argv[1]))
listed = [row for row in report["worst"] if row["role"] == "weight"]  # everything that is matched and not equal
if report["verdict"] != "agree" or listed or report["totals"]["equal"] == 0:
    sys.exit(f"{report['verdict']}, {len(listed)} weights are not equal, {report['totals']['equal']} captures are")
END

status=0
"$bin/numdiff" --json "$directory/one.h5" "$directory/other.h5" > "$directory/report.json" || status=$?
[ "$status" -eq 1 ] || { echo "exits $status"; exit 1; }
/usr/bin/python3 - "$directory/report.json" << 'END'
import json, sys
first = json.load(open(sys.argv[1]))["first_divergence"]
found = (first["op"], first["role"], first["ranks"], first["cause"], first["evidence"].get("element"))
if found[:4] != ("attn.q", "weight", [3], "input-differs") or found[4] is None:
    sys.exit(f"found {found}")
END
