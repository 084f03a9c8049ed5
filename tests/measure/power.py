"""Plants faults of decreasing size, compares with numdiff, and writes a table of what is found. Called by power.sh."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

build = pathlib.Path(sys.argv[1]).resolve()
output = pathlib.Path(sys.argv[2])
trials = int(sys.argv[3])
scratch = pathlib.Path(tempfile.mkdtemp(prefix="power-"))
FOUND = 0.95  # share of trials
NAMES = {"f64": "FP64", "f32": "FP32", "bf16": "BF16", "f16": "FP16", "e4m3": "E4M3", "mx": "MXFP8", "nvfp4": "NVFP4"}
PLAIN, SCALED = ["f32", "bf16", "f16"], ["e4m3", "mx", "nvfp4"]
KINDS = "add,multiply,matmul,softmax,rms_norm,sum"


class study:
    """One cause, format and level: which sizes are found."""

    def __init__(self, cause, form, level, sizes, kinds, side=64, reference="f64", floor=None, unit="", count=None,
                 apart=None):
        self.cause, self.form, self.level, self.sizes, self.kinds = cause, form, level, sizes, kinds
        self.side, self.reference, self.floor, self.unit = side, reference, floor, unit
        self.count, self.apart = count or trials, apart
        self.seed = sum(map(ord, cause + form + level + kinds)) * 1000
        self.shares, self.causes = {}, {}

    def record(self, path, form, cause, size, seed, count, expected=()):
        if self.apart is not None:
            form += f"+{0 if form == self.reference else self.apart}"
        done = subprocess.run([str(build / "tests" / "measure" / "power"), str(path), str(seed), form, self.level, cause,
                               repr(size), str(count), str(self.side), self.kinds, *map(repr, expected)],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{self.cause} {self.form}: {done.stderr.strip()}")
        return [[float(x) for x in line.split("\t")[2:]] for line in done.stdout.splitlines()]

    def compare(self, reference, test):
        done = subprocess.run([str(build / "bin" / "numdiff"), "--json", "--top", "1000000", str(reference), str(test)],
                              capture_output=True, text=True, check=False)
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError:
            raise RuntimeError(f"{self.cause} {self.form}: {done.stderr.strip()}") from None

    def batch(self, folder, seed, count):
        """Adds the findings of `count` trials at every size, down from the largest, to the shares."""
        reference, honest = folder / "reference.h5", folder / "honest.h5"
        self.record(reference, self.reference, "none", 0.0, seed, count)
        expected = []
        if self.cause == "noise" or self.reference != self.form:
            errors = self.record(honest, self.form, "none", 0.0, seed, count)
            report = self.compare(reference, honest)
            self.take(report, 0.0, count)
            if self.cause == "noise":
                ratios = {row["scope"]: row["local_ratio"] for row in report["worst"]
                          if row["role"] == "output" and not row["op"].endswith(".cast")}
                expected = [inherited if self.level == "sketch" else error / (ratios.get(f"trial.{i}") or 1)
                            for i, (error, inherited) in enumerate(errors)]
        for size in self.sizes:
            self.record(folder / "test.h5", self.form, self.cause, size, seed, count, expected)
            self.take(self.compare(reference, folder / "test.h5"), size, count)

    def take(self, report, size, count):
        found = {}
        for finding in report["findings"]:
            if not finding["benign"] and (finding["scope"] or "").startswith("trial."):
                found.setdefault(finding["scope"], finding["cause"])
        hits, all_trials = self.shares.get(size, (0, 0))
        self.shares[size] = (hits + len(found), all_trials + count)
        for cause in found.values():
            named = self.causes.setdefault(size, {})
            named[cause] = named.get(cause, 0) + 1

    def run(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        step = 5 if self.side > 512 else 20
        for first in range(0, self.count, step):
            self.batch(folder, self.seed + first, min(step, self.count - first))
        shutil.rmtree(folder)
        return self

    def share(self, size):
        hits, count = self.shares[size]
        return hits / count if count else 0.0

    def smallest(self):
        """The smallest size from which on all larger ones are found in 95 % of the trials; None."""
        best = None
        for size in sorted(self.sizes, reverse=True):
            if self.share(size) < FOUND:
                break
            best = size
        return best

    def missed(self):
        return self.floor is not None and self.share(self.floor) < FOUND

    def false_alarms(self):
        return self.shares.get(0.0, (0, 0))


def studies():
    halves = [2.0**-e for e in range(0, 13)]
    for form in PLAIN:
        yield study("noise", form, "tensors", [8.0, 4.0, 3.0, 2.0, 1.5, 1.0], KINDS, floor=4.0, unit="x expected")
        yield study("bias", form, "tensors", [1.0, 0.5, 0.25, 0.125], "add,multiply", floor=0.25, unit="ulp")
        yield study("factor", form, "tensors", halves[::2], KINDS)
        yield study("rows", form, "tensors", halves[::2], KINDS)
        yield study("element", form, "tensors", [1.0], "add,matmul,softmax,rms_norm", side=1024, reference=form,
                    floor=1.0, unit="of the way to another value, 1 of 2^20")
    for form in ["bf16", "f16"]:
        yield study("bias", form, "tensors", [1.0, 0.5, 0.25, 0.125], "matmul,softmax,rms_norm,sum", floor=0.25, unit="ulp")
    for form in SCALED:
        yield study("noise", form, "tensors", [8.0, 4.0, 3.0, 2.0, 1.5, 1.0], "cast", floor=4.0, unit="x expected")
        yield study("noise", form, "tensors", [8.0, 4.0, 3.0, 2.0, 1.5, 1.0], "matmul", floor=4.0, unit="x expected")
        yield study("bias", form, "tensors", [1.0, 0.5, 0.25, 0.125], "cast", floor=0.25, unit="ulp")
        yield study("element", form, "tensors", [1.0], "cast", side=1024, reference=form, floor=1.0,
                    unit="of the way to another value, 1 of 2^20")
        yield study("factor", form, "tensors", halves[::2], "cast,matmul")
        yield study("rows", form, "tensors", halves[::2], "cast,matmul")
    for form in ["bf16", "f16", "f32"]:
        yield study("accumulate", form, "tensors", [1024.0, 512.0, 256.0, 128.0, 64.0, 32.0, 16.0], "matmul", unit="addends")
    for form in ["bf16", "f16", "f32", "e4m3"]:
        yield study("dropped", form, "tensors", [8.0, 4.0, 2.0, 1.0], "matmul", unit="addends")
    yield study("stale", "e4m3", "tensors", [16.0, 8.0, 4.0, 3.0, 2.0, 1.5], "cast", unit="x its reach")
    yield study("relative", "f32", "sketch", [1e-3, 1e-4, 1e-5, 1e-6], KINDS, reference="f32", floor=1e-5, unit="relative")
    yield study("factor", "f32", "sketch", halves[::2], KINDS, reference="f32")
    for form in PLAIN:
        yield study("noise", form, "sketch", [16.0, 8.0, 4.0, 2.0, 1.0], "add,matmul,sum", floor=4.0,
                    unit="x worst gain of inputs 32 u apart", apart=32)
        yield study("noise", form, "sketch", [64.0, 16.0, 8.0, 4.0, 2.0], "add,matmul,sum", floor=4.0,
                    unit="x worst gain of rounded inputs")


def number(x):
    return f"{x:.4g}"


def sizes_text(s):
    return ", ".join(f"{number(size)}: {100 * s.share(size):.0f} %" for size in sorted(s.sizes, reverse=True))


def write(done):
    missed = [s for s in done if s.missed()]
    text = ["# What is still found", "",
            "Faults of decreasing size at random places, in ops of random inputs (normal numbers), one fault in each trial. Found:",
            "the report names the trial's op. The reference is FP64 on the same inputs, or a run in the same format where only",
            f"one element is wrong; {trials} trials of each size over 4096 outputs, kinds in turn. Made by",
            f"`tests/measure/power.sh BUILD` on {os.cpu_count()} cores.", "",
            "Sizes: `noise` is a random error in units of the error that is expected of the op; at level `sketch` in units of",
            "the largest that the distance of its inputs could make of its result (triangle and Cauchy-Schwarz inequalities).",
            "Inputs are moved by an earlier op, of a kind that nobody knows, by 32 unit roundoffs, or only rounded; then the op's",
            "own rounding is as large as what they bring. `bias` is in ulps away from zero before the result is rounded; `factor` and",
            "`rows` multiply everything, or an eighth of the rows, by 1 + size; `element` moves one element of 2^20 to the value",
            "of another; `accumulate` holds the running sum of a product of that many addends in bf16; `dropped` leaves out the",
            "last addends of a product; `stale` is a scale for values that many times smaller; `relative` is a random error over",
            "the rms of the values. Sums have 8 to 64 addends, products 16 to 128.", "",
            "| cause | format | level | kinds | found in 95 % from | unit | floor | found at each size | honest trials with an alarm |",
            "|---|---|---|---|---|---|---|---|---|"]
    for s in done:
        best = s.smallest()
        floor = "" if s.floor is None else number(s.floor) + (" **missed**" if s.missed() else " reached")
        alarms, honest = s.false_alarms()
        text.append(f'| {s.cause} | {NAMES[s.form]} | {s.level} | {s.kinds.replace(",", ", ")} '
                    f'| {number(best) if best is not None else "none"} | {s.unit} | {floor} | {sizes_text(s)} '
                    f'| {f"{alarms} of {honest}" if honest else ""} |')
    alarms = sum(s.false_alarms()[0] for s in done)
    summary = (f"power: {len(done)} studies, {sum(n for s in done for _, n in s.shares.values())} trials, "
               f"{len(missed)} floors missed, {alarms} honest trials with an alarm")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(text) + f"\n\n{summary}\n")
    print(summary)
    return bool(missed) or alarms > 0


def main():
    todo = list(studies())
    if len(sys.argv) > 4:  # only studies of these causes
        todo = [s for s in todo if s.cause in sys.argv[4].split(",")]
    done = []
    with concurrent.futures.ThreadPoolExecutor(4 * os.cpu_count()) as pool:
        for s in pool.map(study.run, todo):
            done.append(s)
            if sys.stderr.isatty():
                print(f"\r\033[Kpower: {len(done)} of {len(todo)} studies", end="", file=sys.stderr, flush=True)
            if s.missed() or s.false_alarms()[0]:
                print(f"{s.cause} {s.form} {s.level} {s.kinds}: {sizes_text(s)}; honest {s.false_alarms()}", flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return write(done)


try:
    failed = main()
finally:
    shutil.rmtree(scratch)
sys.exit(1 if failed else 0)
