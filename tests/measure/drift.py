"""Runs numdiff drift on pairs of runs of the sample. Called by drift.sh."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

build, output = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
root = pathlib.Path(__file__).resolve().parents[2]
STEPS, BEGIN = 30, 12
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

# name: ranks, options
RUNS = {
    "fp64": (1, "--precision fp64"),
    "fp32": (1, ""),
    "fp32 tp 2": (2, "--tp 2"),
    "fp32 dp 2, ring": (2, ""),
    "fp32 dp 2, tree": (2, "--order tree"),
    "fp32 layer norm": (1, "--norm layer"),
    "bf16": (1, "--precision bf16"),
    "bf16 tp 2": (2, "--precision bf16 --tp 2"),
    "fp32, 60 steps": (1, f"--steps {2 * STEPS}"),
    "fp32 tp 2, 60 steps": (2, f"--tp 2 --steps {2 * STEPS}"),
    "bf16-weights": (1, f"--fault bf16-weights --fault-layer 1 --fault-step {BEGIN}"),
    "missing-all-reduce": (2, f"--fault missing-all-reduce --fault-layer 1 --fault-step {BEGIN}"),
    "naive-variance": (1, f"--norm layer --fault naive-variance --fault-layer 2 --fault-step {BEGIN}"),
    "bf16-wire": (2, f"--fault bf16-wire --fault-layer 0 --fault-step {BEGIN}"),
    "learning rate + 10 %": (1, "--learning-rate 0.0033"),
    "weight decay x 10": (1, "--weight-decay 0.1"),
}
HONEST = [("fp32", "fp32 tp 2"), ("fp32", "fp32 dp 2, ring"), ("fp32", "fp32 dp 2, tree"), ("fp32 tp 2", "fp32 dp 2, tree"),
          ("fp64", "fp32"), ("fp64", "bf16"), ("fp32", "bf16"), ("bf16", "bf16 tp 2"),
          ("fp32, 60 steps", "fp32 tp 2, 60 steps")]
# reference, run, where it begins, first step with an error: the step of the fault, or the one behind for what
# goes through an update
PLANTED = [("fp32", "bf16-weights", "decoder.layer.1.attn", {BEGIN + 1}),
           ("fp32 dp 2, ring", "missing-all-reduce", "decoder.layer.1.attn", {BEGIN, BEGIN + 1}),
           ("fp32 layer norm", "naive-variance", "decoder.layer.2.attn", {BEGIN}),
           ("fp32 dp 2, ring", "bf16-wire", "decoder.layer.0.attn", {BEGIN, BEGIN + 1}),
           ("fp32", "learning rate + 10 %", None, {0, 1}),
           ("fp32", "weight decay x 10", None, {0, 1})]


def record(name, folder):
    ranks, options = RUNS[name]
    file = folder / (name.replace(" ", "_").replace(",", "").replace("%", "") + ".h5")
    steps = "" if "--steps" in options else f"--steps {STEPS}"
    command = f"{build}/bin/minigpt --data {root}/LICENSE --level sketch {steps} {options} --run {file}"
    if ranks > 1:
        command = f"mpirun --oversubscribe -n {ranks} {command}"
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL, env=environment)
    return file


def drift(a, b):
    run = subprocess.run([build / "bin/numdiff", "drift", "--json", a, b], stdout=subprocess.PIPE, text=True)
    if run.returncode not in (0, 1, 3):
        sys.exit(f"numdiff drift {a} {b} exits {run.returncode}")
    return json.loads(run.stdout)


def worst(report):
    return max((layer["error_last"] for layer in report["layers"]), default=0)


wrong, honest, planted = 0, [], []
with tempfile.TemporaryDirectory(prefix="drift-") as scratch:
    files = {name: record(name, pathlib.Path(scratch)) for name in RUNS}
    for a, b in HONEST:
        r = drift(files[a], files[b])
        good = r["verdict"] == "steady"
        wrong += not good
        honest.append(f"| {a} | {b} | {r['totals']['steps']} | {len(r['layers'])} | {worst(r):.2g} | {r['verdict']}{'' if good else ' **wrong**'} |")
    for a, b, scope, steps in PLANTED:
        r = drift(files[a], files[b])
        first = r["first"]
        good = first is not None and first["from_step"] in steps and scope in (None, first["scope"])
        wrong += not good
        found = "nothing" if first is None else f"{first['scope']} from step {first['from_step']}: " \
            f"{'jump' if first['law'] == 'none' else first['law']}, {100 * first['confidence']:.0f} %"
        expected = f"{scope or 'any layer'}, step {' or '.join(map(str, sorted(steps)))}"
        planted.append(f"| {b} | {expected} | {found} | {worst(r):.2g} | {'right' if good else '**wrong**'} |")

output.write_text(f"""# Drift over steps

`tests/measure/drift.sh BUILD`: the sample trains {STEPS} steps at level `sketch`, and `numdiff drift` compares.

Honest pairs: {len(HONEST)}, of which {sum('wrong' in h for h in honest)} are said to drift.

| reference | test | steps | layers | largest error at the last step | answer |
|---|---|---|---|---|---|
""" + "\n".join(honest) + f"""

Faults that begin at step {BEGIN}, or settings that differ from the first step on: {len(PLANTED)}, of which {sum('right' in p for p in planted)} are found where they are.

| fault | planted | found | largest error at the last step | |
|---|---|---|---|---|
""" + "\n".join(planted) + "\n")
print(output.read_text())
sys.exit(1 if wrong else 0)
