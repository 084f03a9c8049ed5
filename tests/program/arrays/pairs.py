"""Pairs of array files and what numdiff says of them. Each test calls pairs.begin() and pairs.end()."""
import json
import os
import subprocess
import sys
import tempfile
import traceback

import h5py
import numpy as np

_wrong, _ran, _folder = [], 0, None


def begin():
    global _folder
    _folder = tempfile.TemporaryDirectory()
    os.chdir(_folder.name)
    os.environ["PATH"] = sys.argv[1] + ":" + os.environ["PATH"]


def end():
    for line in _wrong:
        print(line)
    print(f"{_ran} comparison(s), {len(_wrong)} wrong")
    sys.exit(1 if _wrong or not _ran else 0)


def write(name, content, packed=False):
    """content: a dictionary of arrays, or for .h5 also a function of the open file."""
    if name.endswith(".h5"):
        with h5py.File(name, "w") as f:
            if callable(content):
                content(f)
            else:
                for key, value in content.items():
                    f[key] = value
    elif name.endswith(".npz"):
        (np.savez_compressed if packed else np.savez)(name, **content)
    else:
        np.save(name, next(iter(content.values())), allow_pickle=True)
    return name


def check(what, holds, shown=""):
    if not holds:
        _wrong.append(f"{what}: {shown}")


def run(a, b, code, last, *lines, options=()):
    """Compares two files; `last` begins the last line, and each of `lines` stands in the text. Returns the report."""
    global _ran
    _ran += 1
    done = subprocess.run(["numdiff", *options, "--json=report.json", a, b], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, COLUMNS="100"))
    out = (done.stdout + done.stderr).rstrip("\n")
    lines_of_test = [call.lineno for call in traceback.extract_stack() if call.filename != __file__]
    where = f"line {lines_of_test[-1]}: {a} {b} {options}"
    check(where, done.returncode == code and out.split("\n")[-1].startswith("numdiff: " + last),
          f"exits {done.returncode}:\n{out}")
    flat = " ".join(out.split())
    for line in lines:
        check(where, line in flat, f"lacks {line!r}:\n{out}")
    if done.returncode == 2:
        check(where, done.stdout == "" and done.stderr.count("\n") == 1, "an error is one line:\n" + out)
        return None
    with open("report.json") as f:
        return json.load(f)


def pair(a, b, code, last, *lines, options=()):
    """Two HDF5 files."""
    return run(write("a.h5", a), write("b.h5", b), code, last, *lines, options=options)


def values(a, b, code, last, *lines, options=()):
    """Two arrays as HDF5, .npy and .npz, plain, packed and mixed. Returns one report, all of which are the same."""
    a, b = np.asarray(a), np.asarray(b)
    for kind in ("h5", "npy", "npz"):
        write("a." + kind, {"x": a})
        write("b." + kind, {"x": b})
    write("p.npz", {"x": b}, packed=True)
    reports = [run("a." + left, right, code, last, *lines, options=options)
               for left, right in (("h5", "b.h5"), ("npz", "b.npz"), ("npy", "b.npy"), ("h5", "p.npz"), ("npy", "b.h5"))]
    first = reports[0]
    for other in reports[1:]:
        same = [[{k: v for k, v in row.items() if k != "name"} for row in r["different"] + r["noted"]]
                for r in (first, other)]
        check("formats", same[0] == same[1], f"{a.dtype} {same}")
    return first


def row(report):
    return (report["different"] + report["noted"])[0]


def number(report, key):
    found = row(report)["numbers"][key]
    return found["value"] if isinstance(found, dict) else found
