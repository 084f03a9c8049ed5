#!/usr/bin/python3
"""Types, spaces, storage and links of HDF5 files."""
import sys

sys.dont_write_bytecode = True
import h5py  # noqa: E402
import numpy as np  # noqa: E402
from pairs import begin, check, end, number, pair, run, write  # noqa: E402

begin()


def data(value, **how):
    return lambda f: f.create_dataset("x", data=value, **how)


# Complex numbers, booleans, enumerations.
pair({"x": np.complex64([1 + 2j, 3])}, {"x": np.complex64([1 + 2j, 3 - 1j])}, 1, "differ: 1 of 4 elements in 1 array",
     "/x.imag (f32): 1 of 2 elements differ", "at [1]: 0 -> -1")
pair({"x": [True, False]}, {"x": [True, True]}, 1, "differ: 1 of 2", "first at [1]: false -> true")
colour = h5py.enum_dtype({"RED": 0, "BLUE": 1}, basetype="i1")
pair(data([0, 1], dtype=colour), data([0, 0], dtype=colour), 1, "differ: 1 of 2", "first at [1]: BLUE (1) -> RED (0)")
pair(data([0, 1], dtype=colour), data([0, 1], dtype=h5py.enum_dtype({"RED": 0, "BLUE": 2}, basetype="i1")), 1,
     "differ: 1 difference of structure, first /x (type)", "enum i8 {RED=0, BLUE=1} enum i8 {RED=0, BLUE=2}")

# Texts: fixed, padded and variable ones are equal when their characters are.
text = h5py.string_dtype()
pair({"x": np.array([b"ab", b"c"])}, {"x": np.array([b"ab", b"c"], "S9")}, 0, "agree: 1 of 1 array equal, 2 elements")
pair({"x": np.array([b"ab", b"c"])}, data(["ab", "d"], dtype=text), 1, "differ: 1 of 2", 'first at [1]: "c" -> "d"')
many = ["w%d" % i for i in range(20000)]
pair(data(many, dtype=text), data(many[:-1] + ["v"], dtype=text), 1, "differ: 1 of 20,000", '[19999]: "w19999" -> "v"')
long = ["x" * (30 << 20), "y" * (30 << 20), ""]
pair(data(long, dtype=text), data(long, dtype=text), 0, "agree: 1 of 1 array equal, 3 elements")
huge = ["x" * (60 << 20)]
pair(data(huge, dtype=text), data(huge, dtype=text), 3, "incomplete: 0 of 1 array equal, 1 not compared, first /x: one of")
write("u.npz", {"x": np.array(["ab", "ü"])})
run("u.npz", write("u.h5", data(["ab", "ü"], dtype=text)), 0, "agree: ")

# Compounds, member by member, with arrays inside and other byte orders.
kind = [("id", "i8"), ("p", [("x", "f4"), ("y", ">f8")]), ("v", "f4", (2, 2))]
a = np.zeros(3, kind)
a["id"], a["v"] = 2**62, 1.5
b = a.copy()
b["v"][1, 0, 1], b["p"]["y"][2], b["id"][0] = 2, 4, 2**62 + 1
pair({"t": a}, {"t": b}, 1, "differ: 3 of 21 elements in 1 array, worst /t.p.y", "/t.v (f32): 1 of 12 elements differ",
     "first at [1, 0, 1]: 1.5 -> 2", "first at [2]: 0 -> 4", "4611686018427387904 -> 4611686018427387905")
pair({"t": a}, {"t": a.astype([("no", "i8")] + kind[1:])}, 1, "differ: 2 differences of structure, first /t.id (member)")
swapped = np.array(a.tolist(), [("id", ">i8"), ("p", [("x", ">f4"), ("y", "<f8")]), ("v", ">f4", (2, 2))])
pair({"t": a}, {"t": swapped}, 0, "agree: 1 of 1 array equal, 21 elements")
for kind in ("f4", "u2", "i8", "f8", "f2", "c8"):
    pair({"x": np.arange(300, dtype=">" + kind)}, {"x": np.arange(300, dtype="<" + kind)}, 0, "agree: ")


# Floating-point layouts that NumPy does not have, and bits that no type has.
def bf16(*codes):
    def make(f):
        kind = h5py.h5t.IEEE_F32LE.copy()
        kind.set_fields(15, 7, 8, 0, 7)
        kind.set_size(2)
        kind.set_ebias(127)
        d = h5py.h5d.create(f.id, b"x", kind, h5py.h5s.create_simple((len(codes),)))
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array(codes, "u2"), mtype=kind)
    return make


r = pair(bf16(0x3F80, 0x4000, 0xC049), bf16(0x3F80, 0x4001, 0xC049), 1, "differ: 1 of 3", "/x (bf16)", "2 -> 2.015625")
check("bf16", number(r, "worst_ulp") == 1, r)
one = np.longdouble([1, 3])
r = pair({"x": one}, {"x": one + np.longdouble([0, 2.0**-62])}, 1, "differ: 1 of 2", "/x (f80)")
check("f80", number(r, "worst_ulp") == 1, r)


def twelve_bits(*numbers):
    def make(f):
        kind = h5py.h5t.STD_I16LE.copy()
        kind.set_precision(12)
        kind.set_offset(3)
        d = h5py.h5d.create(f.id, b"x", kind, h5py.h5s.create_simple((len(numbers),)))
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array(numbers, "i2"))
    return make


pair(twelve_bits(-5, 2047), twelve_bits(-5, -2048), 1, "differ: 1 of 2", "/x (i12)", "worst absolute 4095", "2047 -> -2048")

# Scalars, null spaces, no elements, kinds.
every = {"x": h5py.Empty("f4"), "y": 3.5, "z": np.zeros((0, 3))}
pair(every, every, 0, "agree: 3 of 3 arrays equal, 1 element")
pair({"x": h5py.Empty("f4")}, {"x": np.float32(0)}, 1, "differ: 1 difference of structure, first /x (shape)", "no value scalar")
pair({"x": 1}, lambda f: f.create_group("x"), 1, "differ: 1 difference of structure, first /x (kind)", "array group")
pair({}, {}, 3, "incomplete: 0 of 0 arrays equal")

# Chunks, filters and fill values; other chunks on the other side.
x = np.round(np.random.default_rng(7).standard_normal((300, 200)), 2).astype("f4")


def filled(f):
    e = f.create_dataset("e", shape=(500, 40), dtype="i2", chunks=(100, 40), fillvalue=7)
    e[120:130] = 3


def stored(value, **how):
    return lambda f: (f.create_dataset("x", data=value, **how), filled(f))


y = x.copy()
y[299, 199], y[0, 77] = 50, -60
for how in ({"compression": "gzip"}, {"compression": "gzip", "shuffle": True, "fletcher32": True}, {"fletcher32": True},
            {"compression": "lzf", "shuffle": True}, {"compression": "szip"}, {"track_times": False}):
    pair(stored(x, chunks=(64, 30), **how), stored(x, chunks=(7, 199)), 0, "agree: 2 of 2 arrays equal, 80,000 elements")
    pair(stored(x, chunks=(1, 200)), stored(y, chunks=(64, 30), **how), 1, "differ: 2 of 80,000", "first at [0, 77]")
pair(stored(x), stored(y, chunks=(64, 30)), 1, "differ: 2 of 80,000", "at [0, 77]")
cube = np.arange(5 * 7 * 11 * 13, dtype="i8").reshape(5, 7, 11, 13)
pair(data(cube, chunks=(2, 3, 4, 5), compression="gzip"), data(cube, chunks=(5, 1, 11, 2)), 0, "agree: ")
pair(data(cube, chunks=(2, 3, 4, 5), scaleoffset=0), data(cube, chunks=(2, 3, 4, 5), shuffle=True), 0, "agree: ")
for libver in ("earliest", "latest"):
    with h5py.File("a.h5", "w", libver=libver) as f:
        f.create_dataset("x", data=x, chunks=(64, 30), compression="gzip", maxshape=(None, None))
        f.create_dataset("one", data=x, chunks=x.shape, compression="gzip")
        f.create_dataset("row", data=x[0], chunks=(10,), maxshape=(None,))
    run("a.h5", write("b.h5", {"x": x, "one": x, "row": x[0]}), 0, "agree: 3 of 3 arrays equal")
with h5py.File("a.h5", "w", userblock_size=1024) as f:
    f["x"] = x
run("a.h5", write("b.h5", {"x": x}), 0, "agree: ")


# Chunks across each other, larger than a piece that is read.
wide = np.random.default_rng(1).integers(0, 9, (1500, 1500)).astype("i4")
other = wide.copy()
other[1400, 3] = 77
pair(data(wide, chunks=(1500, 20), compression="gzip", compression_opts=1), data(other, chunks=(20, 1500), compression="lzf"), 1,
     "differ: 1 of 2,250,000", "first at [1400, 3]")


# Groups, links and names. A group inside itself ends.
def links(target, again="g/h"):
    def make(f):
        f["g/h/x"] = 1
        f["s"] = h5py.SoftLink(target)
        f["c/self"] = f["/"]
        f["g/again"] = f[again]
    return make


pair(links("/g/h/x"), links("/g/h/x"), 0, "agree: 2 of 2 arrays equal, 2 elements")
pair(links("/g/h/x"), links("/y"), 1, "differ: 1 difference of structure, first /s (link)")
a, b = {"a": 1, "g/b": 1, "g-b": 1}, {"a": 1, "g/b": 2, "g-b": 1}
pair(a, b, 1, "differ: 1 of 3 elements in 1 array, worst /g/b")
pair(a, b, 0, "agree: 2 of 2", options=["--scope", "a", "--scope", "g-*"])
pair(a, b, 1, "differ: 1 of 1 element in 1 array, worst /g/b", options=["--scope", "g"])
pair(a, b, 3, "incomplete: 0 of 0 arrays equal", options=["--scope", "none"])
odd = {"a\nb": 1, "tab\there": 2}
pair(odd, odd, 0, "agree: 2 of 2")
pair(odd, {}, 1, "differ: 2 differences of structure, first /a\\nb (only in reference)")


# What is not compared is said, and never passes.
def skipped(make, why, equal="0 of 1 array"):
    pair(make, make, 3, f"incomplete: {equal} equal, 1 not compared, first /{why}")


def reference(f):
    f["x"] = 1
    f["r"] = f["x"].ref


def virtual(f):
    layout = h5py.VirtualLayout((4,), "f4")
    layout[:] = h5py.VirtualSource("o.h5", "x", (4,))
    f.create_virtual_dataset("x", layout)


def sparse(f):
    f.create_dataset("x", shape=(1 << 40,), dtype="f8", chunks=(1 << 20,))


def unknown_filter(f):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((4,))
    plist.set_filter(32001, h5py.h5z.FLAG_OPTIONAL, ())
    h5py.h5d.create(f.id, b"x", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((4,)), plist)


skipped(reference, "r: references are not followed", "1 of 2 arrays")
skipped({"x": 1, "e": h5py.ExternalLink("o.h5", "/x")}, "e: links to other files are not followed: o.h5:/x", "1 of 2 arrays")
skipped(lambda f: f.create_dataset("x", shape=(4,), dtype="f4", external=[("raw.bin", 0, 16)]), "x: has its data in other")
skipped(virtual, "x: is a virtual dataset, whose data lies in other files")
skipped(data([np.arange(3), np.arange(2)], dtype=h5py.vlen_dtype("i4")), "x: sequences of variable length are not read")
skipped(sparse, "x: declares 8796093022208 bytes, but stores 0")
skipped(unknown_filter, "x: is packed by the filter")
run(write("a.npz", {"x": np.ones(2)}), write("b.h5", lambda f: f.create_dataset("x", data=np.ones(2)).attrs.create("u", 1)), 3,
    "incomplete: 1 of 2 arrays equal, 1 not compared, first /x@u: attributes have no place in .npz files")
pair({"x": np.array([b"ab", b"cd"], "V2")}, {"x": np.array([b"ab", b"ce"], "V2")}, 1, "differ: 1 of 2", "0x6364 -> 0x6365")

# Attributes are compared as arrays are.
pair(lambda f: f.attrs.update(v=1.5, s="text", n=h5py.Empty("f4"), a=[1, 2]),
     lambda f: f.attrs.update(v=1.5, s="test", n=h5py.Empty("f4"), a=[1, 3]), 1, "differ: 2 of 4 elements in 2 arrays",
     '/@s (text): 1 of 1 element differ first "text" -> "test"', "/@a (i64): 1 of 2 elements differ")

# Damage is one line.
whole = write("a.h5", stored(x, chunks=(64, 30), compression="gzip"))
content = bytearray(open(whole, "rb").read())
write("b.h5", stored(x))
open("cut.h5", "wb").write(content[:-100])
run("cut.h5", "b.h5", 2, "cut.h5: is damaged, truncated or still being written: ")
with h5py.File(whole) as f:
    where = f["x"].id.get_chunk_info(3).byte_offset
content[where + 20:where + 40] = bytes(20)
open("bad.h5", "wb").write(content)
run("bad.h5", "b.h5", 2, "bad.h5: /x: is damaged: a chunk does not unpack")

end()
