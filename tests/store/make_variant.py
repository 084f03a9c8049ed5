#!/usr/bin/python3
"""Makes other files of a run, one a variant: make_variant.py good.h5 directory variant..."""
import os
import shutil
import sys

import h5py
import numpy as np


def replace(run, name, data, **options):
    del run[name]
    options.setdefault("maxshape", (None,) + data.shape[1:])
    options.setdefault("chunks", (64,) + data.shape[1:])
    return run.create_dataset(name, data=data, **options)


def rebuilt(data, names, formats, offsets, size):
    return np.zeros(data.shape, np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size}))


def parts(dtype):
    names = list(dtype.names)
    return names, [dtype.fields[n][0] for n in names], [dtype.fields[n][1] for n in names]


def copied(data, to):
    for n in to.dtype.names:
        if n in data.dtype.names:
            to[n] = data[n]
    return to


def commit(run, **changes):
    rows = run["commits"][...]
    for name, value in changes.items():
        rows[name][-1] = value
    run["commits"][...] = rows


def make(good, out, variant):
    shutil.copy(good, out)
    with h5py.File(out, "r+", libver="latest") as run:
        captures = run["captures"][...]
        names, formats, offsets = parts(captures.dtype)
        if variant == "extra_member_table_enum":
            more = rebuilt(captures, names + ["future"], formats + [np.float64], offsets + [captures.dtype.itemsize],
                           captures.dtype.itemsize + 8)
            more["future"] = 3
            copied(captures, more)
            more["role"] = 77
            more["level"] = 99
            replace(run, "captures", more)
            run["future_table"] = np.arange(5)
            run["future_link"] = h5py.SoftLink("/nowhere")
        elif variant == "missing_member_and_table":
            keep = [i for i, n in enumerate(names) if n not in ("pending_factor", "hidden", "axes")]
            fewer = rebuilt(captures, [names[i] for i in keep], [formats[i] for i in keep],
                            [offsets[i] for i in keep], captures.dtype.itemsize)
            replace(run, "captures", copied(captures, fewer))
            del run["events"]
        elif variant == "other_member_type":
            formats[names.index("count")] = np.dtype(np.float64)
            replace(run, "captures", copied(captures, rebuilt(captures, names, formats, offsets, captures.dtype.itemsize)))
        elif variant == "soft_link":
            run.move("captures", "elsewhere")
            run["captures"] = h5py.SoftLink("/elsewhere")
        elif variant == "external_link":
            del run["captures"]
            run["captures"] = h5py.ExternalLink(good, "/captures")
        elif variant == "link_in_path":
            run.move("payload", "elsewhere")
            run["payload"] = h5py.SoftLink("/elsewhere")
        elif variant == "external_storage":
            del run["string_heap"]
            run.create_dataset("string_heap", shape=(4096,), dtype="u1", external=[("/etc/passwd", 0, 4096)])
        elif variant == "virtual_dataset":
            layout = h5py.VirtualLayout(shape=captures.shape, dtype=captures.dtype)
            layout[:] = h5py.VirtualSource(good, "captures", shape=captures.shape)
            del run["captures"]
            run.create_virtual_dataset("captures", layout)
        elif variant == "filtered":
            replace(run, "captures", captures, compression="gzip")
        elif variant == "group_for_dataset":
            del run["captures"]
            run.create_group("captures")
        elif variant == "lying_rows":
            run["captures"].resize((10**9,))
            commit(run, captures=10**9)
        elif variant == "lying_payload":
            run["payload/f32"].resize((10**12,))
            commit(run, payload_f32=10**12)
        elif variant == "no_usable_commit":
            commit(run, captures=10**6)
            rows = run["commits"][-1:]
            replace(run, "commits", rows, chunks=(16,))
        elif variant == "no_commits":
            del run["commits"]
        elif variant == "newer_version":
            run.attrs.modify("numdiff_format", np.uint32(2))
        elif variant.startswith("bad_"):
            field, value = variant[4:].rsplit("_", 1)
            captures[field][-1] = int(value)
            run["captures"][...] = captures
        elif variant == "string_outside":
            rows = run["strings"][...]
            rows["offset"][-1] = 2**62
            run["strings"][...] = rows
        elif variant == "strings_that_share":
            rows = run["strings"][...]
            rows["offset"] = 0
            rows["bytes"] = run["string_heap"].shape[0]
            run["strings"][...] = rows
        elif variant == "shape_rank":
            rows = run["shapes"][...]
            rows["rank"][-1] = 9
            run["shapes"][...] = rows
        elif variant == "sketch_width":
            replace(run, "sketches", np.zeros((1, 2)))
        elif variant == "tiny_rows":
            replace(run, "captures", np.zeros((captures.shape[0],), np.dtype([("seq", "u1")])))

    if variant == "other_kind_old":
        with h5py.File(out, "w") as f:
            f["x"] = np.arange(4)
    elif variant == "other_kind_new":
        with h5py.File(out, "w", libver="latest") as f:
            f["x"] = np.arange(4)
    elif variant == "empty":
        open(out, "w").close()
    elif variant == "text":
        with open(out, "w") as f:
            f.write("no HDF5 at all, but long enough to look at\n")
    elif variant == "cut_half":
        os.truncate(out, os.path.getsize(out) // 2)
    elif variant == "cut_head":
        os.truncate(out, 40)


for each in sys.argv[3:]:
    make(sys.argv[1], os.path.join(sys.argv[2], each + ".h5"), each)
