#!/usr/bin/env python3
"""Runs a case of the command line: a text file with comments (#), commands (`$ command`) and their output.

As in console blocks of the documentation: a command that exits other than 0 ends with `# exits 1`; `...` stands for any
text or any lines; output is only compared where some is given. Standard error and output come together, in order.
`make_run`, `many_ranks` and `spoil.py` are on PATH; the folder is empty at the start.
Usage: run_case.py ROOT BUILD CASE
"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "tools/check"))
from doc_commands import matches, steps  # noqa: E402


def main():
    root, build, case = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    here = pathlib.Path(__file__).resolve().parent
    path = f"{build}/bin:{build}/tests/program:{build}/tests/measure:{here}:{os.environ['PATH']}"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMDIFF_")}
    environment.update(PATH=path, SCHEMA=str(root / "docs/report.schema.json"),
                       ARRAYS_SCHEMA=str(root / "docs/arrays.schema.json"),
                       DRIFT_SCHEMA=str(root / "docs/drift.schema.json"),
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    lines = [line for line in case.read_text().splitlines() if line.strip() and not line.startswith("# ")]
    failed = ran = 0
    with tempfile.TemporaryDirectory() as scratch:
        for command, code, expected in steps(lines):
            run = subprocess.run(["bash", "-c", command], cwd=scratch, env=environment, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, errors="replace", timeout=120)
            ran += 1
            if run.returncode != code:
                print(f"`{command}` exits {run.returncode}, not {code}:\n{run.stdout}")
                failed += 1
            elif expected and not matches(expected, [line for line in run.stdout.splitlines() if line.strip()]):
                print(f"`{command}` prints\n{run.stdout}instead of\n" + "\n".join(expected))
                failed += 1
    print(f"{case.name}: {ran} command(s), {failed} wrong")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
