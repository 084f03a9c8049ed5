#!/usr/bin/env python3
"""Runs the reproduction of one rule: its page's commands, then what the JSON reports of the same runs say.

The faulty run must give the rule where `reproduce` says that it stands (the first divergence unless said otherwise). The near miss
must not, and must end as declared: `agree`, `incomplete`, or the rule of its own first divergence.
Usage: run_rule.py ROOT BUILD RULE
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "tools/check"))
from doc_commands import run_console  # noqa: E402


def rules_in(report, member):
    found = report[member]
    return [f["rule"] for f in (found if isinstance(found, list) else [found]) if f]


def main():
    root, build, rule = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMDIFF_")}
    environment.update(PATH=f"{build}/bin:{os.environ['PATH']}", COLUMNS="100", NO_COLOR="1")
    listed = subprocess.run(["reproduce"], env=environment, capture_output=True, text=True, check=True).stdout
    declared = {words[0]: words[1:] for words in (line.split() for line in listed.splitlines()[1:])}
    found_in, near_miss = declared[rule]
    faults = []
    with tempfile.TemporaryDirectory() as scratch:
        page = root / "docs/rules" / f"{rule}.md"
        commands, wrong = run_console(page, f"docs/rules/{rule}.md", scratch, environment) if page.exists() else (0, 0)
        if page.exists() and (wrong or not commands):
            faults.append(f"docs/rules/{rule}.md: {commands} command(s), {wrong} wrong")
        subprocess.run(["reproduce", rule], cwd=scratch, env=environment, check=True)

        envelope = []
        if (pathlib.Path(scratch) / f"{rule}.good.h5").exists():
            envelope = ["--envelope", f"{rule}.noise.h5"]
            subprocess.run(["numdiff", "envelope", f"{rule}.reference.h5", f"{rule}.good.h5", "-o", envelope[1]],
                           cwd=scratch, env=environment, check=True, stdout=subprocess.DEVNULL)

        def compare(name):
            own = f"{rule}.{name}_reference.h5"  # of a near miss with other inputs
            reference = own if (pathlib.Path(scratch) / own).exists() else f"{rule}.reference.h5"
            run = subprocess.run(["numdiff", *envelope, "--json", reference, f"{rule}.{name}.h5"], cwd=scratch, env=environment,
                                 capture_output=True, text=True)
            if run.returncode not in (0, 1, 3):
                sys.exit(f"{rule}.{name}: exits {run.returncode}: {run.stderr}")
            report = json.loads(run.stdout)
            first = (report["first_divergence"] or {"rule": report["verdict"]})["rule"]
            return rules_in(report, found_in), first, report

        def told(report):
            return json.dumps({k: report[k] for k in ("first_divergence", "nonfinite_origin", "information_lost", "findings")},
                              indent=1)

        found, first, report = compare("test")
        if rule not in found:
            faults.append(f"the fault gives {found} in {found_in}, not {rule}:\n{told(report)}")
        found, first, report = compare("near_miss")
        if rule in found:
            faults.append(f"the near miss gives {rule} too:\n{told(report)}")
        if first != near_miss:
            faults.append(f"the near miss gives {first}, not {near_miss}:\n{told(report)}")
    for fault in faults:
        print(f"{rule}: {fault}")
    print(f"{rule}: {len(faults)} fault(s)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
