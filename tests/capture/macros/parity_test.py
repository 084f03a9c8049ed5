#!/usr/bin/env python3
"""The public macros are the same, with the same parameters, with probes on and off; docs/macros.md names each.

Usage: parity_test.py SOURCE_DIR COMPILER
"""
import pathlib
import re
import subprocess
import sys

root, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]


def public_macros(enable):
    text = subprocess.run(
        [compiler, "-std=c++17", "-dM", "-E", f"-DNUMDIFF_ENABLE={enable}", f"-I{root}/include", "-x", "c++", "-"],
        input='#include "numdiff/numdiff.hpp"\n', capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"^#define (NUMDIFF_[A-Z_0-9]+)(\([^)]*\))?", text, flags=re.M))
    return {name: parameters for name, parameters in found.items() if not name.startswith("NUMDIFF_DETAIL_")}


on, off = public_macros(1), public_macros(0)
faults = [f"{name}{on.get(name)} with probes on, {name}{off.get(name)} with probes off"
          for name in sorted(on.keys() | off.keys()) if on.get(name) != off.get(name)]
documented = (root / "docs/macros.md").read_text()
faults += [f"docs/macros.md does not name {name}" for name, parameters in sorted(on.items())
           if parameters and not re.search(rf"\b{name}\b", documented)]
for fault in faults:
    print(fault)
sys.exit(1 if faults or len(on) < 25 else 0)
