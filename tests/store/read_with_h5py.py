#!/usr/bin/python3
"""Statistics and tensors of a numdiff run, with nothing but h5py: read_with_h5py.py run.h5 [tensor ...]"""
import json
import sys

import h5py
import numpy as np


def text(run, number):
    at = run["strings"][number]
    return bytes(run["string_heap"][at["offset"] : at["offset"] + at["bytes"]]).decode()


def e4m3(codes):
    """Values of OCP E4M3 codes: 4 exponent bits with bias 7, 3 fraction bits, no infinity."""
    codes = codes.astype(np.int32)
    exponent, fraction = (codes >> 3) & 15, codes & 7
    value = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0 ** (exponent - 10.0))
    return np.where(codes & 127 == 127, np.nan, np.where(codes & 128, -value, value))


def main(path, names):
    # swmr: also a file that is being written, or whose writer was killed
    with h5py.File(path, "r", libver="latest", swmr=True) as run:
        last = run["commits"][-1]
        for row in run["captures"][: last["captures"]]:
            print(text(run, row["name"]), "count", row["count"], "amax", row["amax"], "nan", row["nan"])
    if names:
        with h5py.File(path.removesuffix(".h5") + ".views.h5", "r") as views:
            for name in names:
                tensor = views[name]
                kind = tensor.attrs["dtype"].decode()
                values = e4m3(tensor[...]) if kind == "f8e4m3fn" else tensor[...]
                print(name, kind, tensor.shape, json.dumps(values.astype(float).tolist()))
                if "scaling" in tensor.attrs:
                    print("  scaling", tensor.attrs["scaling"].decode(), "scales", views[name + ".scales"][...].tolist())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
