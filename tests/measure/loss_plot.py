"""Trains minigpt in every healthy mode and plots the losses. Called by loss_plot.sh."""
import csv
import pathlib
import subprocess
import sys
import tempfile

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plot  # noqa: E402

STEPS = 120
MODEL = "--layers 2 --sequence 16 --batch 4"  # small: every addition of a narrow accumulator is emulated
WINDOW = 10  # steps that a point of the plot averages
TEXT = str(pathlib.Path(__file__).resolve().parents[2] / "LICENSE")
PANELS = {
    "precision": {"fp64": "--precision fp64", "fp32": "", "bf16": "--precision bf16",
                  "fp16, dynamic loss scale": "--precision fp16"},
    "FP8 recipe": {"fp8 tensor": "--precision fp8 --fp8 tensor", "fp8 delayed": "--precision fp8 --fp8 delayed",
                   "fp8 block": "--precision fp8 --fp8 block", "mxfp8": "--precision fp8 --fp8 mx",
                   "mxfp8, truncating": "--precision fp8 --fp8 mx --accumulator truncating"},
    "accumulator": {"acc. fp64": "--accumulator fp64", "acc. bf16": "--accumulator bf16",
                    "acc. fp16": "--accumulator fp16", "acc. truncating": "--accumulator truncating"},
    "ranks": {"dp 2, ring": "-n 2", "tp 2, tree": "-n 2 --tp 2 --order tree", "dp 2 x tp 2": "-n 4 --tp 2",
              "dp 4, bf16, bf16 wire": "-n 4 --precision bf16 --wire bf16",
              "tp 2, fp16, fp16 wire": "-n 2 --tp 2 --precision fp16 --wire fp16"},
}


def losses(program, options):
    words, start = options.split(), []
    if words[:1] == ["-n"]:
        start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", words[1]]
        words = words[2:]
    with tempfile.NamedTemporaryFile(suffix=".csv") as log:
        subprocess.run(start + [program, "--steps", str(STEPS), "--data", TEXT, "--loss-log", log.name] + MODEL.split() + words, check=True,
                       stdout=subprocess.DEVNULL)
        return [float(row["loss"]) for row in csv.DictReader(open(log.name, encoding="ascii"))]


def smooth(values):
    return [sum(values[i:i + WINDOW]) / WINDOW for i in range(len(values) - WINDOW + 1)]


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve() / "bin" / "minigpt")
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    runs = {name: losses(program, options) for modes in PANELS.values() for name, options in modes.items()}
    with open(folder / "minigpt_loss.csv", "w", newline="", encoding="ascii") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["step", *runs])
        table.writerows([step, *row] for step, row in enumerate(zip(*runs.values())))

    figure, axes = plot.subplots(1, len(PANELS), figsize=(14, 3.6), sharey=True, constrained_layout=True)
    for axis, (title, modes) in zip(axes, PANELS.items()):
        axis.plot(smooth(runs["fp32"]), color="0.7", linewidth=4, label="fp32" if "fp32" not in modes else None)
        for name in modes:
            axis.plot(smooth(runs[name]), linewidth=1.2, label=name)
        axis.set_title(title)
        axis.set_xlabel("step")
        axis.legend(fontsize=8)
    axes[0].set_ylabel(f"loss, mean of {WINDOW} steps")
    figure.savefig(folder / "minigpt_loss.png", dpi=90)

    worse = [name for name, values in runs.items() if sum(values[-WINDOW:]) > 0.7 * sum(values[:WINDOW])]
    print(f"loss: {len(runs) - len(worse)} of {len(runs)} modes learn" + (f"; not {', '.join(worse)}" if worse else ""))
    return 1 if worse else 0


sys.exit(main())
