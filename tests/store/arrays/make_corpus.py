#!/usr/bin/python3
"""Small files of every kind for the fuzz test: make_corpus.py FOLDER."""
import sys

import h5py
import numpy as np

folder = sys.argv[1]
x = np.arange(60, dtype="f4").reshape(6, 10)
table = np.zeros(3, [("id", "i8"), ("p", [("x", "f4"), ("y", ">f8")]), ("v", "f4", (2, 2)), ("s", "S5")])
for libver in ("earliest", "latest"):
    with h5py.File(f"{folder}/{libver}.h5", "w", libver=libver) as f:
        f["g/plain"] = x
        f["g/table"] = table
        f["packed"] = 0
        del f["packed"]
        f.create_dataset("packed", data=x, chunks=(4, 3), compression="gzip", shuffle=True, fletcher32=True)
        f.create_dataset("lzf", data=np.zeros((20, 20), "i2"), chunks=(8, 8), compression="lzf")
        f.create_dataset("scaled", data=x, chunks=(4, 3), scaleoffset=2)
        f.create_dataset("texts", data=["a", "bc", "d" * 40], dtype=h5py.string_dtype())
        f.create_dataset("enum", data=[0, 1], dtype=h5py.enum_dtype({"A": 0, "B": 1}, basetype="i1"))
        f.create_dataset("compact", data=[True, False])
        f["soft"] = h5py.SoftLink("/g/plain")
        f["out"] = h5py.ExternalLink("o.h5", "/x")
        f["loop"] = f["g"]
        f["g/up"] = f["g"]
        f.attrs["name"] = "text"
        f["g"].attrs["numbers"] = x[0]
        f["g/plain"].attrs["empty"] = h5py.Empty("f4")
np.save(f"{folder}/plain.npy", x)
np.save(f"{folder}/fortran.npy", np.asfortranarray(x))
np.save(f"{folder}/table.npy", table)
np.savez(f"{folder}/stored.npz", a=x, b=np.array(["u", "ü"]), c=table)
np.savez_compressed(f"{folder}/packed.npz", a=x, b=np.array([{}], object))
