"""Runs of minigpt and comparisons of them, for scripts that make tables."""
import json
import pathlib
import subprocess
import tempfile

TEXT = str(pathlib.Path(__file__).resolve().parents[2] / "LICENSE")  # does not change as the docs do
# Options that change what is computed: a reference needs them too.
OF_THE_MODEL = ("--query-gain", "--position-offset", "--norm", "--document", "--batch", "--dropout", "--experts",
                "--micro-batches")


class runs:
    """Runs of some steps in a folder of their own; `build` is the build folder."""

    def __init__(self, build, steps=4):
        self.steps = steps
        self.bin = pathlib.Path(build).resolve() / "bin"
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="minigpt-"))
        self.references = {}

    def train(self, name, ranks, options):
        """Captures a run at level tensors; the path of its file."""
        path = self.scratch / f"{name}.h5"
        command = [str(self.bin / "minigpt"), "--steps", str(self.steps), "--data", TEXT, "--run", str(path), "--level",
                   "tensors"]
        if ranks > 1:
            command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)] + command
        done = call(command + options.split())
        if done.returncode != 0:
            raise RuntimeError(f"{name}: {done.stderr.strip()}")
        return path

    def compare(self, reference, test):
        """numdiff's report, as JSON."""
        done = call([str(self.bin / "numdiff"), "--json", str(reference), str(test)])
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError:
            raise RuntimeError(f"numdiff {reference.name} {test.name}: {done.stderr.strip()}") from None

    def reference(self, options):
        """The healthy fp32 run on one rank of the model that these options make."""
        options = model_options(options)
        if options not in self.references:
            self.references[options] = self.train(f"reference{len(self.references)}", 1, options)
        return self.references[options]

    def remove(self, path):
        for file in self.scratch.glob(path.stem + ".*"):
            file.unlink()

    def clear(self):
        for file in self.scratch.iterdir():
            file.unlink()
        self.scratch.rmdir()

    def faults(self):
        """One dictionary for each listed fault."""
        listed = call([str(self.bin / "minigpt"), "--list-faults"]).stdout.splitlines()
        for line in listed[1:]:
            words = ["" if word == "-" else word for word in line.split("\t")]
            yield {"name": words[0], "ranks": int(words[1]), "options": words[2], "op": words[3], "cause": words[4],
                   "at": words[5]}


def call(command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def decided(totals):
    matched = totals["matched"]
    return (totals["equal"] + totals["within"] + totals["beyond"]) / matched if matched else 0.0


def model_options(options):
    words, kept = options.split(), []
    for option, value in zip(words, words[1:] + [""]):
        if option in OF_THE_MODEL:
            kept += [option, value]
    return " ".join(kept)


def tell(line):
    """One line while a table is made."""
    print("right" if line["right"] else "WRONG", {k: v for k, v in line.items() if k != "right"}, flush=True)


def mark(line):
    return "yes" if line["right"] else "**no**"
