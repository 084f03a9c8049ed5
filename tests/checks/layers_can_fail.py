#!/usr/bin/env python3
"""Plants one violation of each kind in a scratch tree and expects layers.py to name it."""
import pathlib
import subprocess
import sys
import tempfile

CASES = [
    ("src/model/a.cpp", '#include "store/b.hpp"\n', "model includes storage"),
    ("src/analysis/a.cpp", '#include "store/b.hpp"\n', "analysis includes storage"),
    ("src/analysis/a.cpp", "void f() { H5Fopen(0, 0, 0); }\n", "names HDF5"),
    ("src/report/a.cpp", '#include <cstdio>\nvoid f() { printf("x"); }\n', "prints to the terminal"),
    ("samples/a.cpp", '#include "numdiff/detail/rows.hpp"\n', "detail header"),
    ("src/elsewhere/a.cpp", "\n", "belongs to no layer"),
]

for path, text, expected in CASES:
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for other in ("src/store/b.hpp", "include/numdiff/detail/rows.hpp", path):
            (root / other).parent.mkdir(parents=True, exist_ok=True)
            (root / other).write_text("\n")
        for needed in ("include", "src", "tools/numdiff", "samples"):
            (root / needed).mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        result = subprocess.run([sys.executable, sys.argv[1], folder], capture_output=True, text=True)
        if result.returncode != 1 or expected not in result.stdout:
            print(f"{path}: expected '{expected}', got {result.returncode}: {result.stdout}")
            sys.exit(1)
print(f"{len(CASES)} planted violations were named")
