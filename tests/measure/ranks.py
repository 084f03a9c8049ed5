"""Compares layouts of ranks and their faults with one rank, and writes a table. Called by ranks.sh."""
import pathlib
import sys

from minigpt_runs import decided, mark, runs, tell

PLACES = [(1, 2), (0, 1), (2, 3)]  # layer, step
PART = [(1, 1)]
CHOSEN = 0.999  # of experts in bf16: a choice that flips leaves what is made of it undecided; else all is decided
# Ranks and options; each is compared with one rank of the same model.
LAYOUTS = [
    ("data", 2, ""), ("data", 4, ""), ("data, 2 and 1 sequences", 2, "--batch 3"), ("tensor", 2, "--tp 2"),
    ("data x tensor", 4, "--tp 2"), ("data x tensor, tree", 4, "--tp 2 --order tree"),
    ("data, tiny gradients", 2, "--loss-scale 1e-33"),
    ("tensor, sequence shards", 2, "--tp 2 --sp"), ("data x tensor, sequence shards", 4, "--tp 2 --sp"),
    ("tensor, uneven sequence shards", 4, "--batch 3 --tp 2 --sp"),
    ("tensor, sequence shards, dropout, recomputed", 2, "--tp 2 --sp --dropout 0.1 --recompute"),
    ("tensor, sequence shards, LayerNorm", 2, "--tp 2 --sp --norm layer"),
    ("data, sharded optimizer", 2, "--zero"), ("data, sharded optimizer, 4 ranks", 4, "--zero"),
    ("data x tensor, sequence shards, sharded optimizer", 4, "--tp 2 --sp --zero"),
    ("context, zig-zag", 2, "--cp 2"), ("context, zig-zag, 4 ranks", 4, "--cp 4"),
    ("context x tensor, sequence shards", 4, "--cp 2 --tp 2 --sp"),
    ("context x data, sharded optimizer", 4, "--cp 2 --zero"), ("context, packed documents", 2, "--cp 2 --document 12"),
    ("experts over 2 ranks", 2, "--experts 4"), ("experts over 4 ranks", 4, "--experts 4"),
    ("experts over 3 ranks, 2, 1 and 1 sequences", 3, "--experts 4"),
    ("pipeline, 2 micro-batches", 2, "--pp 2 --micro-batches 2"),
    ("pipeline x tensor, sequence shards, 2 micro-batches", 4, "--pp 2 --tp 2 --sp --micro-batches 2"),
    ("pipeline x data, sharded optimizer, 2 micro-batches", 4, "--pp 2 --zero --micro-batches 2"),
    ("pipeline x experts, 2 micro-batches", 4, "--pp 2 --experts 4 --micro-batches 2"),
    ("pipeline x context, recomputed", 4, "--pp 2 --cp 2 --recompute"),
]
PRECISIONS = ["fp32", "bf16"]

part = len(sys.argv) > 3
minigpt = runs(sys.argv[1], 2 if part else 4)
output = pathlib.Path(sys.argv[2])


def layout_line(job):
    number, (layout, ranks, options), precision = job
    line = {"layout": layout, "ranks": ranks, "options": options, "precision": precision, "verdict": "", "first": "",
            "right": False, "totals": None}
    try:
        test = minigpt.train(f"layout{number}", ranks, f"--precision {precision} {options}")
        report = minigpt.compare(minigpt.reference(options), test)
        minigpt.remove(test)
        line["verdict"] = report["verdict"]
        line["totals"] = report["totals"]
        first = report["first_divergence"]
        line["first"] = f'step {first["step"]} {first["scope"]}/{first["op"]}: {first["cause"]}' if first else ""
        least = CHOSEN if "--experts" in options and precision == "bf16" else 1
        line["right"] = report["verdict"] == "agree" and decided(report["totals"]) >= least
    except (RuntimeError, KeyError) as error:
        line["verdict"] = str(error)
    tell(line)
    return line


def stage_of(layer, layers=3, stages=2):
    """Of the tiny model; the first stages have one layer more."""
    return next(s for s in range(stages) if layer < sum(layers // stages + (i < layers % stages) for i in range(s + 1)))


def fault_line(job):
    number, fault, (layer, step) = job
    line = {"name": fault["name"], "ranks": fault["ranks"], "options": fault["options"], "layer": layer, "step": step,
            "op": fault["op"].replace("{L}", str(layer)), "at": fault["at"].replace("{S}", str(stage_of(layer))) or "all", "cause": fault["cause"],
            "found": "", "found_at": "", "found_cause": "", "right": False}
    try:
        test = minigpt.train(f"fault{number}", fault["ranks"], f'{fault["options"]} --fault {fault["name"]} '
                                                               f"--fault-layer {layer} --fault-step {step}")
        report = minigpt.compare(minigpt.reference(fault["options"]), test)
        minigpt.remove(test)
        first = report["first_divergence"]
        line["found"] = report["verdict"]
        if first:
            line["found"] = f'{first["scope"]}/{first["op"]}'
            at = first.get("ranks") or list(range(fault["ranks"]))
            line["found_at"] = "all" if len(at) == fault["ranks"] else ", ".join(str(r) for r in at)
            line["found_cause"] = first["cause"]
            line["right"] = (report["verdict"] == "differ" and first["step"] == step
                             and all(line["found" + k] == line[v] for k, v in
                                     (("", "op"), ("_at", "at"), ("_cause", "cause"))))
    except (RuntimeError, KeyError) as error:
        line["found"] = str(error)
    tell(line)
    return line


def counts(totals):
    names = ("matched", "equal", "within", "beyond", "undecided", "not_comparable")
    return [str(totals[n]) if totals else "" for n in names]


def write(layouts, faults):
    text = ["# Layouts of ranks", "",
            f"Every run of `samples/minigpt` (tiny, {minigpt.steps} steps, level `tensors`) is compared with the healthy fp32 run of the same",
            "model on one rank. Made by `tests/measure/ranks.sh BUILD`.", "", "## Healthy layouts", "",
            f"Right: the verdict is `agree`, with all of the matched captures decided; of experts in bf16, whose choices may flip, {CHOSEN:.1%}.", "",
            "| layout | ranks | options | precision | verdict | matched | equal | within | beyond | undecided "
            "| not comparable | right |", "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for h in layouts:
        verdict = h["verdict"] + (f' ({h["first"]})' if h["first"] else "")
        text.append("| " + " | ".join([h["layout"], str(h["ranks"]), h["options"], h["precision"], verdict,
                                       *counts(h["totals"]), mark(h)]) + " |")
    text += ["", "## Faults", "",
             "Right: the verdict is `differ`, and the first divergence is the planted op at the planted step, on the planted rank",
             "(`all`: every rank that has the op) with the planted cause.", "",
             "| fault | ranks | options | layer, step | planted op | rank | cause | first divergence | rank | cause | right |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for f in faults:
        found = "the same" if f["found"] == f["op"] else f["found"]
        text.append("| " + " | ".join([f["name"], str(f["ranks"]), f["options"], f'{f["layer"]}, {f["step"]}', f["op"],
                                       f["at"], f["cause"], found, f["found_at"], f["found_cause"], mark(f)]) + " |")
    right = [sum(x["right"] for x in lines) for lines in (layouts, faults)]
    summary = (f"ranks: {right[0]} of {len(layouts)} layouts agree with one rank, {right[1]} of {len(faults)} faults are named "
               "with op, rank and cause")
    text += ["", summary, ""]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(text))
    print(summary)
    return right == [len(layouts), len(faults)]


def main():
    precisions, places = (PRECISIONS[:1], PART) if part else (PRECISIONS, PLACES)
    layouts = [layout_line((i, *job)) for i, job in enumerate((l, p) for l in LAYOUTS for p in precisions)]
    of_ranks = [f for f in minigpt.faults() if f["ranks"] > 1]
    faults = [fault_line((i, *job)) for i, job in enumerate((f, p) for f in of_ranks for p in places)]
    right = write(layouts, faults)
    minigpt.clear()
    return 0 if right else 1


sys.exit(main())
