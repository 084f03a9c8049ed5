#!/usr/bin/env python3
"""Every rule has a page with the fixed headings and a reproduction, and nothing else has.

Usage: complete.py ROOT BUILD
"""
import pathlib
import re
import subprocess
import sys

HEADINGS = ["Symptom", "Mechanism", "Evidence", "What could fool it", "Smallest control", "Reproduction"]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    root, build = pathlib.Path(sys.argv[1]), sys.argv[2]
    causes = {line.split()[0]: line.split()[2] for line in output(f"{build}/bin/numdiff", "explain").splitlines()[1:]}
    reproduced = {line.split()[0] for line in output(f"{build}/bin/reproduce").splitlines()[1:]}
    pages = {page.stem: page.read_text() for page in (root / "docs/rules").glob("*.md")}
    faults = []
    for rule in sorted(set(causes) | reproduced | set(pages)):
        if rule not in causes:
            faults.append(f"{rule}: is no rule")
            continue
        if rule not in reproduced:
            faults.append(f"{rule}: has no reproduction in samples/rules")
        if rule not in pages:
            faults.append(f"{rule}: has no page in docs/rules")
            continue
        text = pages[rule]
        if text.splitlines()[0] != f"# {rule}: {causes[rule]}":
            faults.append(f"docs/rules/{rule}.md: begins with '{text.splitlines()[0]}', not '# {rule}: {causes[rule]}'")
        if re.findall(r"^## (.*)$", text, re.M) != HEADINGS:
            faults.append(f"docs/rules/{rule}.md: its headings are not {', '.join(HEADINGS)}")
        if output(f"{build}/bin/numdiff", "explain", rule) != text:
            faults.append(f"{rule}: numdiff explain does not print docs/rules/{rule}.md")
    for fault in faults:
        print(fault)
    print(f"{len(causes)} rules, {len(pages)} pages, {len(reproduced)} reproductions: {len(faults)} fault(s)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
