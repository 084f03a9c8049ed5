"""Runs minigpt with and without faults, compares with numdiff, and writes a table. Called by faults.sh."""
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

PLACES = [(0, 1), (1, 2), (2, 3)]  # layer, step
LAYOUTS = [("1 rank", 1, ""), ("2 ranks, dp", 2, ""), ("2 ranks, tp", 2, "--tp 2"), ("4 ranks, dp x tp", 4, "--tp 2")]
PRECISIONS = ["fp64", "fp32", "bf16", "fp16", "fp8 --fp8 tensor", "fp8 --fp8 delayed", "fp8 --fp8 block", "fp8 --fp8 mx"]
STEPS = 4
TEXT = str(pathlib.Path(__file__).resolve().parents[2] / "LICENSE")  # does not change as the docs do
DECIDED = 0.95

build = pathlib.Path(sys.argv[1]).resolve()
output = pathlib.Path(sys.argv[2])
places = PLACES[:int(sys.argv[3])] if len(sys.argv) > 3 else PLACES
scratch = pathlib.Path(tempfile.mkdtemp(prefix="faults-"))


def call(command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def train(name, ranks, options):
    """Captures a run at level tensors; the path of its file."""
    path = scratch / f"{name}.h5"
    command = [str(build / "bin" / "minigpt"), "--steps", str(STEPS), "--data", TEXT, "--run", str(path), "--level",
               "tensors"]
    if ranks > 1:
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)] + command
    done = call(command + options.split())
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {done.stderr.strip()}")
    return path


def compare(reference, test):
    done = call([str(build / "bin" / "numdiff"), "--json", str(reference), str(test)])
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise RuntimeError(f"numdiff {reference.name} {test.name}: {done.stderr.strip()}") from None


def remove(path):
    for file in scratch.glob(path.stem + ".*"):
        file.unlink()


def decided(totals):
    matched = totals["matched"]
    return (totals["equal"] + totals["within"] + totals["beyond"]) / matched if matched else 0.0


def model_options(options):
    """Those options of a fault that its reference needs too: the model's, not the precision's."""
    words, kept = options.split(), []
    for option, value in zip(words[::2], words[1::2]):
        if option in ("--query-gain", "--position-offset", "--norm", "--document"):
            kept += [option, value]
    return " ".join(kept)


def faults():
    listed = call([str(build / "bin" / "minigpt"), "--list-faults"]).stdout.splitlines()[1:]
    for line in listed:
        name, options, op, cause, _ = line.split("\t")
        if options == "ranks":
            yield name, "", op.replace("{R}", "attn.q.gradient.reduce"), cause, 2
            yield name, "--tp 2", op.replace("{R}", "attn.proj.reduce"), cause, 2
        elif options == "--tp":
            yield name, "--tp 2", op, cause, 2
        else:
            yield name, "" if options == "-" else options, op, cause, 1


def tell(line):
    """One line while the table is made."""
    print("right" if line["right"] else "WRONG", {k: v for k, v in line.items() if k != "right"}, flush=True)


references = {}


def reference(options):
    if options not in references:
        references[options] = train(f"reference{len(references)}", 1, options)
    return references[options]


def fault_line(job):
    number, (name, options, op, cause, ranks), (layer, step) = job
    line = {"name": name, "options": options, "layer": layer, "step": step, "op": op.replace("{L}", str(layer)),
            "cause": cause, "found": "", "right": False}
    try:
        test = train(f"fault{number}", ranks,
                     f"{options} --fault {name} --fault-layer {layer} --fault-step {step}")
        report = compare(references[model_options(options)], test)
        remove(test)
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
        test = train(f"healthy{number}", ranks, f"--precision {precision} {ranks_options} {extra}")
        report = compare(references[model_options(extra)], test)
        remove(test)
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


def mark(line):
    return "yes" if line["right"] else "**no**"


def write(fault_lines, healthy_lines):
    wrong = sum(not line["right"] for line in fault_lines + healthy_lines)
    text = ["# Planted faults and healthy runs", "",
            "Every run of `samples/minigpt` (tiny, 4 steps, level `tensors`) is compared with the healthy fp32 run on one",
            "rank. Made by `tests/measure/faults.sh BUILD`.", "", "## Faults", "",
            "Right: the verdict is `differ`, and the first divergence is the planted op at the planted step.", "",
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
    fault_jobs = [(i, f, p) for i, (f, p) in enumerate((f, p) for f in faults() for p in places)]
    healthy = [(i, *job) for i, job in enumerate(healthy_jobs())]
    for options in {model_options(job[1][1]) for job in fault_jobs} | {model_options(job[3]) for job in healthy}:
        reference(options)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        fault_lines = list(pool.map(fault_line, fault_jobs))
        healthy_lines = list(pool.map(healthy_line, healthy))
    wrong = write(fault_lines, healthy_lines)
    for file in scratch.iterdir():
        file.unlink()
    scratch.rmdir()
    return 1 if wrong else 0


sys.exit(main())
