#!/usr/bin/env python3
"""Public headers stand alone in C++17 and C++20, and what kernels include stays light.

Usage: light.py SOURCE_DIR COMPILER
"""
import pathlib
import re
import shutil
import subprocess
import sys

root, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
BUDGET_LINES = 9000
HEAVY = {"string", "vector", "iostream", "mutex", "functional", "memory", "map", "thread", "complex", "sstream",
         "iosfwd", "algorithm", "hdf5.h", "cuda_runtime.h"}
LIGHT = ["numdiff/numdiff.hpp", "numdiff/session.hpp"]
WARNINGS = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror".split()
OPTIONAL = {"cuda.hpp": "cuda_runtime.h", "eigen.hpp": "Eigen/Core", "mpi.hpp": "mpi.h"}
faults = []
wrapper = shutil.which("mpicxx")
mpi = [word for folder in subprocess.run([wrapper, "--showme:incdirs"], capture_output=True, text=True).stdout.split()
       for word in ("-isystem", folder)] if wrapper else []


def compile_text(text, *flags):
    return subprocess.run([compiler, f"-I{root}/include", "-isystem", "/usr/include/eigen3", *mpi, "-x", "c++", *flags, "-"],
                          input=text, capture_output=True, text=True)


for header in sorted((root / "include/numdiff").glob("*.h*")):
    needs = OPTIONAL.get(header.name)
    if needs and compile_text(f"#include <{needs}>\n", "-fsyntax-only").returncode != 0:
        continue
    include = f'#include "numdiff/{header.name}"\n'
    for standard in ("17", "20"):
        result = compile_text(include * 2, f"-std=c++{standard}", "-fsyntax-only", *WARNINGS)
        if result.returncode != 0:
            faults.append(f"{header.name} alone, C++{standard}:\n{result.stderr[:2000]}")
result = subprocess.run([compiler, f"-I{root}/include", "-x", "c", "-std=c99", "-Wall", "-Wextra", "-Werror",
                         "-fsyntax-only", "-"], input='#include "numdiff/abi.h"\n#include "numdiff/detail/sink.h"\n',
                        capture_output=True, text=True)
if result.returncode != 0:
    faults.append(f"abi.h and sink.h as C:\n{result.stderr[:2000]}")

for header in LIGHT:
    text = compile_text(f'#include "{header}"\n', "-std=c++17", "-E").stdout
    lines = text.count("\n")
    if lines > BUDGET_LINES:
        faults.append(f"{header}: {lines} preprocessed lines, {BUDGET_LINES} at most")
    for path in sorted(set(re.findall(r'^# \d+ "([^"]+)"', text, flags=re.M))):
        if "/bits/" not in path and "/numdiff/" not in path and path.rsplit("/", 1)[-1] in HEAVY:
            faults.append(f"{header} brings in {path}")

for fault in faults:
    print(fault)
sys.exit(1 if faults else 0)
