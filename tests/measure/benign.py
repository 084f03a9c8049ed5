"""Records pairs of honest runs, compares them with numdiff, and writes tables. Called by benign.sh."""
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

build = pathlib.Path(sys.argv[1]).resolve()
output = pathlib.Path(sys.argv[2])
divisor = int(sys.argv[3])  # 0: all of every part
scratch = pathlib.Path(tempfile.mkdtemp(prefix="benign-"))
TEXT = str(pathlib.Path(__file__).resolve().parents[2] / "LICENSE")  # does not change as the docs do
DECIDED = 0.95
FORMATS = ["FP32", "BF16", "FP16", "E4M3", "MXFP8", "NVFP4"]
LEAST_PAIRS, LEAST_OF_FORMAT, LEAST_OF_SAMPLE = 300, 20, 0.3  # a whole run has at least these
ALL = 10**6  # rows of a list
WORKERS = 4 * os.cpu_count()  # ranks and readers wait for each other
# Name, seed, generated pairs, pairs of the sample. The rules were fixed while looking at all but the last part, which a
# share leaves out, so that its alarms tell of runs that no rule was fitted to. Seeds 9001, 12001 and 15001 were held out first.
PARTS = [("looked at", 1, 40, 16), ("looked at later", 7001, 40, 18), ("held out first", 9001, 60, 40),
         ("held out then", 12001, 40, 18), ("held out last", 15001, 40, 18), ("held out", 18001, 50, 26)]
if divisor:
    PARTS = [(name, seed, max(1, made // divisor), max(1, trained // divisor)) for name, seed, made, trained in PARTS[:-1]]
SKETCH_PAIRS = 30  # generated pairs compared at level sketch, seed of the last part + 1
SAMPLE_FORMATS = {"fp64": "FP64", "fp32": "FP32", "bf16": "BF16", "fp16": "FP16", "fp8": "E4M3"}


def call(command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def kinds_of(run):
    """The kind of each op of a run by (scope, name)."""
    shown = json.loads(call([build / "bin" / "numdiff", "show", "--json", "--top", ALL, run]).stdout)
    return {(op["scope"] or "", op["op"]): op["kind"] for op in shown["ops"]}


def compare(pair, reference, test):
    """Fills a pair with the answer of the program."""
    done = call([build / "bin" / "numdiff", "--json", "--top", ALL, reference, test])
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise RuntimeError(f"{pair['text']}: {done.stderr.strip()}") from None
    totals, kinds = report["totals"], kinds_of(test)
    pair["verdict"], pair["health"] = report["verdict"], report["health"]
    pair["matched"] = totals["matched"]
    pair["decided"] = totals["equal"] + totals["within"] + totals["beyond"]
    accused = [f for f in report["findings"] if not f["benign"]]
    first = report["first_divergence"] or (accused[0] if accused else None)
    pair["first"] = f'{first["scope"]} / {first["op"]} : {first["tensor"]}: {first["cause"]}' if first else ""
    pair["kinds"] = set(kinds.values())
    pair["causes"] = {f["cause"] for f in report["findings"] if f["benign"]}
    pair["skips"] = any(f["rule"] == "ND190" for f in report["findings"])
    pair["alarm"] = report["verdict"] != "agree" or bool(accused) or (report["health"] != "ok" and not pair["skips"])
    pair["open"] = {}
    for row in report["worst"]:
        if row["verdict"] not in ("equal", "within", "beyond"):
            kind = kinds.get((row["scope"] or "", row["op"]), "tensor")
            key = f'{kind}, {row["role"]}: {row["reason"]}'
            pair["open"][key] = pair["open"].get(key, 0) + 1
    pair["rows"] = [(kinds.get((row["scope"] or "", row["op"]), "tensor"), row["test_dtype"], row["local_ratio"],
                     row["limit"]) for row in report["worst"] if row["role"] in ("output", "gradient", "state")]
    return pair


def generated(seed, numbers, level):
    """Pairs of the generator, compared one by one while the next is recorded."""
    folder = scratch / f"{seed}-{level}-{numbers[0]}"
    folder.mkdir()
    pairs = []
    for first in range(numbers[0], numbers[1], 10):
        last = min(first + 10, numbers[1])
        done = call([build / "tests" / "measure" / "benign", folder, seed, first, last, level])
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        for line in done.stdout.splitlines():
            number, form, text = line.split("\t")
            pair = {"source": "generated", "format": form, "against": text.rsplit(" ", 1)[1],
                    "varies": {re.sub(r" *\b[0-9]+(x[0-9]+)*\b *", " ", v).strip() for v in text.split(", ")[1:-2]},
                    "text": f"seed {seed}, pair {number}: {text}"}
            pairs.append(compare(pair, folder / f"{number}.reference.h5", folder / f"{number}.test.h5"))
        for file in folder.iterdir():
            file.unlink()
    folder.rmdir()
    return pairs


def sample_options(seed, number):
    """Settings of pair `number` of the sample: ranks, what both runs share, and what only the test run has."""
    draw = random.Random(seed * 1000 + number)
    precision = ["fp64", "fp32", "bf16", "fp16", "fp8 --fp8 tensor", "fp8 --fp8 delayed", "fp8 --fp8 block",
                 "fp8 --fp8 mx"][number % 8]
    ranks, layout = [(1, ""), (1, ""), (2, ""), (2, "--tp 2"), (4, "--tp 2")][number // 8 % 5]
    shared = f"--seed {seed + number} --batch {draw.choice([4, 8])} --sequence {draw.choice([8, 16, 24])} --layers 2"
    shared += draw.choice(["", " --norm layer", " --document 8", f" --position-offset {draw.randrange(6000)}"])
    shared += draw.choice(["", " --dropout 0.2"]) + draw.choice(["", " --top-k 4"])
    shared += draw.choice(["", " --width 48 --heads 4"])
    test = f"--precision {precision} {layout} --order {draw.choice(['ring', 'tree'])}"
    if draw.random() < 0.3:
        test += f" --accumulator {draw.choice(['fp64', 'bf16', 'fp16', 'truncating'])}"
    if ranks > 1 and draw.random() < 0.3:
        test += f" --wire {draw.choice(['bf16', 'fp16'])}"
    return ranks, shared, test, draw.choice(["fp32", "fp64"])


def train(path, ranks, options):
    command = [build / "bin" / "minigpt", "--steps", 3, "--data", TEXT, "--run", path, "--level", "tensors"]
    if ranks > 1:
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks] + command
    done = call(command + options.split())
    if done.returncode != 0:
        raise RuntimeError(f"minigpt {options}: {done.stderr.strip()}")


def sample(seed, number):
    ranks, shared, test, against = sample_options(seed, number)
    precision = test.split()[1]
    form = "MXFP8" if "--fp8 mx" in test else SAMPLE_FORMATS[precision]
    pair = {"source": "sample", "format": form, "against": against,
            "varies": {" ".join(o).strip() for o in re.findall(r"--(\S+)(?: ([a-z]\S*))?", f"{shared} {test}")
                       if o[0] in ("dropout", "top-k", "norm", "document", "accumulator", "wire", "order")},
            "text": f"sample, {ranks} ranks, {shared} {test}, against {against}"}
    folder = scratch / f"sample-{seed}-{number}"
    folder.mkdir()
    train(folder / "reference.h5", 1, f"{shared} --precision {against}")
    train(folder / "test.h5", ranks, f"{shared} {test}")
    compare(pair, folder / "reference.h5", folder / "test.h5")
    shutil.rmtree(folder)
    return [pair]


def run_all():
    """All jobs on as many threads as cores: lists of pairs by part."""
    jobs = []
    for name, seed, made, trained in PARTS:
        jobs += [(name, generated, seed, (first, min(first + 10, made)), "tensors") for first in range(0, made, 10)]
        jobs += [(name, sample, seed, number) for number in range(trained)]
    made = max(1, SKETCH_PAIRS // max(1, divisor))
    jobs += [("sketch", generated, PARTS[-1][1] + 1, (first, min(first + 10, made)), "sketch")
             for first in range(0, made, 10)]
    parts = {name: [] for name in [p[0] for p in PARTS] + ["sketch"]}
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        futures = {pool.submit(job[1], *job[2:]): job[0] for job in jobs}
        for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
            pairs = future.result()
            parts[futures[future]] += pairs
            for pair in pairs:
                if pair["alarm"]:
                    print(f'ALARM {pair["text"]}: {pair["verdict"]} {pair["health"]} {pair["first"]}', flush=True)
            progress(f"benign: {done} of {len(jobs)} jobs")
    progress("")
    return parts


def quantile(ordered, q):
    return ordered[round(q * (len(ordered) - 1))] if ordered else 0.0


def share(pairs):
    matched = sum(p["matched"] for p in pairs)
    return sum(p["decided"] for p in pairs) / matched if matched else 0.0


def summary_table(parts):
    text = ["| part | pairs | of the sample | alarms | captures | decided |", "|---|---|---|---|---|---|"]
    for name, pairs in parts.items():
        trained = sum(p["source"] == "sample" for p in pairs)
        text.append(f'| {name} | {len(pairs)} | {trained} | {sum(p["alarm"] for p in pairs)} '
                    f'| {sum(p["matched"] for p in pairs)} | {100 * share(pairs):.1f} % |')
    return text


def format_table(pairs):
    text = ["| format | pairs | against FP64 | alarms | decided |", "|---|---|---|---|---|"]
    for form in sorted({p["format"] for p in pairs}):
        mine = [p for p in pairs if p["format"] == form]
        wide = sum(p["against"] in ("f64", "fp64") for p in mine)
        text.append(f'| {form} | {len(mine)} | {wide} | {sum(p["alarm"] for p in mine)} | {100 * share(mine):.1f} % |')
    return text


def counted(sets, head):
    """A table of how many of the sets have each member."""
    text = [f"| {head} | pairs |", "|---|---|"]
    members = [m for members in sets for m in members]
    return text + [f"| {m} | {members.count(m)} |" for m in sorted(set(members))]


def ratio_table(pairs):
    cells, seen = {}, {}
    for number, pair in enumerate(pairs):
        for kind in pair["kinds"]:
            seen.setdefault(kind, set()).add(number)
        for kind, dtype, ratio, limit in pair["rows"]:
            if ratio and limit:
                cells.setdefault((kind, dtype), []).append((ratio, ratio / limit))
    few = [kind for kind in seen if len(seen[kind]) < LEAST_OF_FORMAT]
    text = ["| kind | pairs | output | outputs with errors | median | 1 % | 99 % | largest ratio / limit |",
            "|---|---|---|---|---|---|---|---|"]
    for kind in sorted(seen):
        lines = sorted((dtype, values) for (k, dtype), values in cells.items() if k == kind) or [("", [])]
        for dtype, values in lines:
            ratios = sorted(v[0] for v in values)
            numbers = [f"{quantile(ratios, q):.2f}" for q in (0.5, 0.01, 0.99)] if ratios else ["", "", ""]
            most = f"{max(v[1] for v in values):.2f}" if values else ""
            text.append(f"| {kind} | {len(seen[kind])} | {dtype} | {len(ratios)} | {' | '.join(numbers)} | {most} |")
    return text, few


def shortcomings(parts, values, few):
    """What a whole run lacks, one sentence each."""
    lacks = [f"fewer than 95 % decided in part {name}" for name, pairs in parts.items()
             if name != "sketch" and share(pairs) < DECIDED]
    if divisor:
        return lacks
    lacks += [f"fewer than {LEAST_OF_FORMAT} pairs with {kind}" for kind in few]
    for form in FORMATS:
        if sum(p["format"] == form and p["against"] in ("f64", "fp64") for p in values) < LEAST_OF_FORMAT:
            lacks.append(f"fewer than {LEAST_OF_FORMAT} pairs of {form} against FP64")
    if len(values) < LEAST_PAIRS or sum(p["source"] == "sample" for p in values) < LEAST_OF_SAMPLE * len(values):
        lacks.append("too few pairs")
    if not any(p["skips"] for p in values):
        lacks.append("no skipped step")
    return lacks


def write(parts):
    values = [p for name, pairs in parts.items() if name != "sketch" for p in pairs]
    alarms = sum(p["alarm"] for pairs in parts.values() for p in pairs)
    ratios, few = ratio_table(values)
    lacks = shortcomings(parts, values, few)
    text = ["# Honest runs", "",
            "Pairs of honest runs of one program, the first in FP64 or FP32, compared by the program at level `tensors` (the",
            "part *sketch* at that level). Generated pairs (`tests/measure/benign/`) run every op kind on 5 to 120 rows of",
            "16 to 144 numbers that are normal, positive, heavy-tailed, with an outlier channel, or nearly cancelling; they vary",
            "the order of sums (from the end, lanes, halves, 2 to 16 threads), fused multiply-adds, accumulators (FP64, FP32,",
            "promoted, split-K in BF16, BF16, FP16, 13-bit truncating), scaling recipes, stochastic rounding, dropout, and ring",
            "or tree over 2 to 8 ranks; one run of each has fused kernels (attention over blocks of keys and its gradient, linear with bias and",
            "activation, linear with loss, addition with norm, gate) where the other has their parts; both have attention and its",
            "gradient as one kernel each. Those of",
            "`samples/minigpt` train 3 steps in every precision on 1 to 4 ranks; its FP16 runs skip steps.",
            "Rules were fixed while looking at the parts that are called so. Seed 9001, with 9002 at level `sketch`, was held out",
            "at first: its one run gave 3 alarms in 160 pairs and 1 in 30 (delayed scales of ranks with amax of their own, and a",
            "cancelling sum), which were fixed. Seeds 12001 and 15001 were held out next and gave none; rules have changed since. Other honest",
            "programs (not kept: stencils, quantised layers, constants, ramps) were looked at, too.",
            f"The part that is held out was run once, after the last change. Seeds: {', '.join(f'{name} {seed}' for name, seed, _, _ in PARTS)}. Made by",
            f"`tests/measure/benign.sh BUILD` on {os.cpu_count()} cores.", ""]
    text += summary_table(parts)
    text += ["", "Alarms are verdicts other than `agree`, and findings that are not benign. Decided: captures of pairs at level",
             "`tensors` that are equal, within or beyond.", ""] + format_table(values)
    text += ["", "What the pairs have:", ""] + counted([p["varies"] for p in values], "variation")
    text += ["", "Pairs with a skipped step: " + str(sum(p["skips"] for p in values)) + ". Causes that are told as benign:", ""]
    text += counted([p["causes"] for p in values], "cause")
    text += ["", "## Observed / expected", "",
             "Of every output whose replay was needed: rms error over the rms error of an honest execution, by op kind and",
             "format of the output.", ""] + ratios
    count = sum(len(p) for p in parts.values())
    summary = (f"benign: {count} pairs, {alarms} alarms, {100 * share(values):.1f} % decided"
               + "".join(f", {lack}" for lack in lacks))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(text) + f"\n\n{summary}\n")
    print(summary)
    if divisor:  # while working on the judge
        tally = collections.Counter()
        for pair in values:
            tally.update(pair["open"])
        for reason, times in tally.most_common(12):
            print(f"open {times}: {reason}")
    return alarms > 0 or bool(lacks)


try:
    failed = write(run_all())
finally:
    shutil.rmtree(scratch)
sys.exit(1 if failed else 0)
