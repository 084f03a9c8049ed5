#!/usr/bin/python3
"""Makes a run file bad: spoil.py KIND FILE. The file is changed in place (`other` writes a new one)."""
import sys

import h5py
import numpy


def main():
    kind, path = sys.argv[1], sys.argv[2]
    if kind == "other":
        with h5py.File(path, "w", libver="latest") as file:
            file["temperature"] = numpy.arange(10.0)
        return
    if kind == "truncated":
        with open(path, "r+b") as file:
            file.truncate(file.seek(0, 2) // 2)
        return
    with h5py.File(path, "r+") as file:
        table = file["captures"]
        rows, row_type, chunk = table.shape[0], table.dtype, table.chunks[0]
        if kind == "version":
            file.attrs.modify("numdiff_format", numpy.uint32(99))
            return
        if kind == "member":  # harmless: a table this numdiff does not know
            file["later_table"] = numpy.arange(3)
            return
        del table, file["captures"]
        if kind == "soft_link":
            file["captures"] = h5py.SoftLink("/ops")
        elif kind == "external_link":
            file["captures"] = h5py.ExternalLink("elsewhere.h5", "/captures")
        elif kind == "external_storage":
            file.create_dataset("captures", (rows,), row_type, external=[("elsewhere.raw", 0, h5py.h5f.UNLIMITED)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout((rows,), row_type)
            layout[:] = h5py.VirtualSource("elsewhere.h5", "/captures", (rows,))
            file.create_virtual_dataset("captures", layout)
        elif kind == "sizes":
            file.create_dataset("captures", (10 ** 12,), row_type, chunks=(chunk,), maxshape=(None,))
        else:
            sys.exit(f"spoil.py: no such kind: {kind}")


if __name__ == "__main__":
    main()
