"""Runs minigpt with and without faults, compares with numdiff, and writes a table. Called by faults.sh."""
import concurrent.futures
import pathlib
import sys

from minigpt_runs import decided, mark, runs, tell

PLACES = [(0, 1), (1, 2), (2, 3)]  # layer, step
LAYOUTS = [("1 rank", 1, ""), ("2 ranks, dp", 2, ""), ("2 ranks, tp", 2, "--tp 2"), ("4 ranks, dp x tp", 4, "--tp 2")]
PRECISIONS = ["fp64", "fp32", "bf16", "fp16", "fp8 --fp8 tensor", "fp8 --fp8 delayed", "fp8 --fp8 block", "fp8 --fp8 mx"]
DECIDED = 0.95

minigpt = runs(sys.argv[1])
output = pathlib.Path(sys.argv[2])
places = PLACES[:int(sys.argv[3])] if len(sys.argv) > 3 else PLACES


def fault_line(job):
    number, fault, (layer, step) = job
    line = {"name": fault["name"], "options": fault["options"], "layer": layer, "step": step,
            "op": fault["op"].replace("{L}", str(layer)), "cause": fault["cause"], "found": "", "right": False}
    try:
        test = minigpt.train(f"fault{number}", 1, f'{fault["options"]} --fault {fault["name"]} --fault-layer {layer} '
                                                  f"--fault-step {step}")
        report = minigpt.compare(minigpt.reference(fault["options"]), test)
        minigpt.remove(test)
        first = report["first_divergence"]
        line["verdict"] = report["verdict"]
        if first:
            line["found"] = f'{first["scope"]}/{first["op"]}'
            line["found_step"] = first["step"]
            line["found_cause"] = first["cause"]
        line["right"] = report["verdict"] == "differ" and line["found"] == line["op"] and first["step"] == step
    except (RuntimeError, KeyError) as error:
        line["verdict"] = str(error)
    tell(line)
    return line


def healthy_line(job):
    number, precision, (layout, ranks, ranks_options), extra = job
    line = {"precision": precision, "layout": layout, "extra": extra, "right": False, "decided": 0.0, "first": ""}
    try:
        test = minigpt.train(f"healthy{number}", ranks, f"--precision {precision} {ranks_options} {extra}")
        report = minigpt.compare(minigpt.reference(extra), test)
        minigpt.remove(test)
        line["verdict"] = report["verdict"]
        line["decided"] = decided(report["totals"])
        line["matched"] = report["totals"]["matched"]
        first = report["first_divergence"]
        line["first"] = f'step {first["step"]} {first["scope"]}/{first["op"]}: {first["cause"]}' if first else ""
        line["right"] = report["verdict"] == "agree" and line["decided"] >= DECIDED
    except (RuntimeError, KeyError) as error:
        line["verdict"] = str(error)
    tell(line)
    return line


def healthy_jobs():
    one, dp, tp, both = LAYOUTS
    for precision in PRECISIONS:
        for layout in LAYOUTS:
            yield precision, layout, ""
    for accumulator in ("fp64", "bf16", "fp16", "truncating"):
        yield "fp32", one, f"--accumulator {accumulator}"
    yield "fp8", one, "--accumulator truncating"
    for layout in (dp, tp):
        for wire in ("bf16", "fp16"):
            yield "bf16", layout, f"--wire {wire} --order tree"
    yield "fp32", both, "--order tree"
    for extra in ("--norm layer", "--document 16", "--position-offset 4001"):
        yield "bf16", one, extra


def write(fault_lines, healthy_lines):
    wrong = sum(not line["right"] for line in fault_lines + healthy_lines)
    text = ["# Planted faults and healthy runs", "",
            "Every run of `samples/minigpt` (tiny, 4 steps, level `tensors`) is compared with the healthy fp32 run on one",
            "rank. Made by `tests/measure/faults.sh BUILD`.", "", "## Faults", "",
            "Those of several ranks stand in [ranks.md](ranks.md). Right: the verdict is `differ`, and the first divergence is the planted op at the planted step.", "",
            "| fault | options | layer, step | planted op | first divergence | cause named | right |",
            "|---|---|---|---|---|---|---|"]
    for f in fault_lines:
        found = f'{f["found"]} at {f["found_step"]}' if f["found"] else f.get("verdict", "")
        if f["found"] == f["op"] and f.get("found_step") == f["step"]:
            found = "the same"
        named = f.get("found_cause", "")
        if named != f["cause"]:
            named += f' (planted: {f["cause"]})'
        text.append(f'| {f["name"]} | {f["options"]} | {f["layer"]}, {f["step"]} | {f["op"]} | {found} | {named} '
                    f'| {mark(f)} |')
    text += ["", "## Healthy runs", "",
             f"Right: the verdict is `agree`, with at least {DECIDED:.0%} of the matched captures decided.", "",
             "| precision | ranks | options | verdict | matched | decided | right |", "|---|---|---|---|---|---|---|"]
    for h in healthy_lines:
        verdict = h["verdict"] + (f' ({h["first"]})' if h["first"] else "")
        text.append(f'| {h["precision"]} | {h["layout"]} | {h["extra"]} | {verdict} | {h.get("matched", 0)} '
                    f'| {100 * h["decided"]:.1f} % | {mark(h)} |')
    causes = sum(f.get("found_cause") == f["cause"] for f in fault_lines)
    summary = (f"faults: {sum(f['right'] for f in fault_lines)} of {len(fault_lines)} lines name the planted op and step "
               f"({causes} the cause), {sum(h['right'] for h in healthy_lines)} of {len(healthy_lines)} healthy runs agree")
    text += ["", summary, ""]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(text))
    print(summary)
    return wrong


def main():
    of_one_rank = [f for f in minigpt.faults() if f["ranks"] == 1]  # ranks.sh has the others
    fault_jobs = [(i, f, p) for i, (f, p) in enumerate((f, p) for f in of_one_rank for p in places)]
    healthy = [(i, *job) for i, job in enumerate(healthy_jobs())]
    for options in [job[1]["options"] for job in fault_jobs] + [job[3] for job in healthy]:
        minigpt.reference(options)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        fault_lines = list(pool.map(fault_line, fault_jobs))
        healthy_lines = list(pool.map(healthy_line, healthy))
    wrong = write(fault_lines, healthy_lines)
    minigpt.clear()
    return 1 if wrong else 0


sys.exit(main())
