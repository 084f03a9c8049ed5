"""Runs the public cases and writes their answers as a table. Called by cases.sh."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

build, output = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
sources = sorted((pathlib.Path(__file__).resolve().parents[1] / "cases").glob("case_*.cpp"))
with tempfile.TemporaryDirectory() as scratch:
    table = pathlib.Path(scratch) / "table"
    run = subprocess.run([str(build / "tests/cases/cases_test"), "--reporters=xml"], capture_output=True, text=True,
                         env={**os.environ, "NUMDIFF_CASES_TABLE": str(table)}, check=False)
    answers = {}
    for line in table.read_text().splitlines():
        source, test, *answer = line.split("|")
        answers.setdefault((source, test), []).append(answer)
passed = {(pathlib.Path(case.get("filename")).stem, case.get("name")):
          case.find("OverallResultsAsserts").get("test_case_success") == "true"
          for case in xml.fromstring(run.stdout).iter("TestCase") if case.find("OverallResultsAsserts") is not None}

rows, wrong = [], []
for source in sources:
    number = int(re.match(r"case_(\d+)", source.stem)[1])
    report = re.search(r"Reported as ([^\s,;]+?)[.,;]?\s", source.read_text())
    tests = [key for key in passed if key[0] == source.stem]
    if not tests or not all(passed[key] for key in tests):
        wrong.append(number)
    for key in tests:
        for verdict, first, nonfinite, lost, sketch, undecided in (
                (a[3], a[0], a[1], a[2], a[4], a[5]) for a in answers.get(key, [])):
            at_sketch = "the same" if sketch == first else sketch
            if sketch == "none" and first != "none":
                at_sketch = f"undecided ({undecided} of its captures)"
            rows.append(f"| {number} | {report[1] if report else ''} | {key[1]} | {verdict} | {first} | {nonfinite} | "
                        f"{lost or 'none'} | {at_sketch} | {'yes' if passed[key] else '**no**'} |")
summary = f"{len(sources) - len(wrong)} of {len(sources)} cases right, {len(rows)} pairs of runs"
output.write_text(f"""# Public cases

Faults that users of public projects reported, each reduced to a few numbers (`tests/cases`). Every row is a pair of runs that the
case records through the public API and compares; right means that its test passed: verdict, op, symptom, cause, fitted numbers,
where values became non-finite and where information was lost, and that level `sketch` gives the same answer or leaves it undecided. Made by
`tests/measure/cases.sh BUILD`.

| case | report | pair | verdict | first divergence: op, symptom, cause | first non-finite | information lost | at level sketch | right |
|---|---|---|---|---|---|---|---|---|
""" + "\n".join(rows) + f"\n\n{summary}.\n")
print(summary + (": wrong " + ", ".join(map(str, wrong)) if wrong else ""))
sys.exit(1 if wrong else 0)
