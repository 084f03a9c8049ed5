#!/usr/bin/env python3
"""Checks the direction of includes: a lower layer never includes a higher one.

Also: only src/store names HDF5, only CUDA headers name CUDA, and samples use public headers only.
Usage: layers.py ROOT. Prints one line per violation; exits 1 when there is one.
"""
import pathlib
import re
import sys

# name, number, pattern of the file's path. The first match counts.
LAYERS = [
    ("values", 0, r"include/numdiff/(config|version|dtype|terms|format|decode|encode|storage|rounding|ulp|classify|"
                  r"dispatch|convert|hadamard|recipe|quantize|scale_rules|truncating|accumulate)\.hpp"),
    ("values", 0, r"include/numdiff/detail/(bits|f32|group_scale)\.hpp"),
    ("model", 1, r"include/numdiff/(abi\.h|(extents|view|scaling|placement|ranges|collective|view_traits|eigen|dtypes)\.hpp)"),
    ("model", 1, r"include/numdiff/detail/(rows|message|digest|sketch|pieces)\.hpp"),
    ("model", 1, r"src/model/"),
    ("capture", 2, r"include/numdiff/"),
    ("capture", 2, r"src/runtime/"),
    ("storage", 3, r"src/store/"),
    ("analysis", 3, r"src/analysis/"),
    ("report", 4, r"src/report/"),
    ("program", 5, r"tools/numdiff/"),
    ("sample", 6, r"samples/"),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
HDF5 = re.compile(r"\bH5[A-Z][A-Za-z0-9_]*\b|\bhid_t\b|hdf5\.h")
TERMINAL = re.compile(r"\bstd::c(out|err|log)\b|\bf?printf\s*\(|\bputs\s*\(|\bisatty\b")


def layer_of(path):
    for name, number, pattern in LAYERS:
        if re.match(pattern, path):
            return name, number
    return None


def resolve(root, source, target):
    """The repository path an include names, or None for a system header."""
    candidates = [f"include/{target}", f"src/{target}", f"{source.parent.as_posix()}/{target}", target]
    for candidate in candidates:
        if (root / candidate).is_file():
            return pathlib.PurePosixPath(candidate)
    return None


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", lambda m: m.group(0) if m.group(0)[0] == '"' else " ",
                  text, flags=re.S)


def main():
    root = pathlib.Path(sys.argv[1])
    faults = []
    for folder in ("include", "src", "tools/numdiff", "samples"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".hpp", ".h", ".cpp", ".cuh", ".cu", ".c"):
                continue
            source = pathlib.PurePosixPath(file.relative_to(root).as_posix())
            layer = layer_of(source.as_posix())
            if layer is None:
                faults.append(f"{source}: belongs to no layer; add it to tools/check/layers.py")
                continue
            code = without_comments(file.read_text())
            for number, line in enumerate(code.splitlines(), 1):
                where = f"{source}:{number}"
                match = INCLUDE.match(line)
                if match:
                    target = match.group(1)
                    found = resolve(root, source, target)
                    if found is not None:
                        other = layer_of(found.as_posix())
                        if other is None:
                            faults.append(f"{where}: includes {found}, which belongs to no layer")
                        elif other[1] > layer[1] or (other[1] == layer[1] and other[0] != layer[0]):
                            faults.append(f"{where}: {layer[0]} includes {other[0]} ({found})")
                        elif layer[0] == "sample" and "/detail/" in found.as_posix():
                            faults.append(f"{where}: a sample includes a detail header ({found})")
                        elif layer[0] == "analysis" and other[0] == "capture":
                            faults.append(f"{where}: analysis includes capture ({found})")
                    elif re.match(r"cuda|device_launch", target) and source.name not in ("cuda.hpp", "cuda_counter.hpp"):
                        faults.append(f"{where}: only cuda.hpp names CUDA headers ({target})")
                if layer[0] != "storage" and HDF5.search(re.sub(r'"[^"]*"', "", line) if not match else line):
                    faults.append(f"{where}: names HDF5 outside src/store")
                if layer[0] in ("model", "capture", "storage", "analysis", "report") and TERMINAL.search(line) \
                        and "snprintf" not in line:
                    faults.append(f"{where}: prints to the terminal below the program")
    for fault in faults:
        print(fault)
    print(f"layers: {len(faults)} violation(s)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
