#!/usr/bin/python3
"""Orders, types and archives of .npy and .npz."""
import resource
import sys
import zipfile

sys.dont_write_bytecode = True
import numpy as np  # noqa: E402
from pairs import begin, check, end, number, run, write  # noqa: E402

begin()

# Large enough for many pieces: row-major and column-major, plain and packed, against each other and against chunks.
x = np.random.default_rng(7).standard_normal((700, 900))
y = x.copy()
y[0, 3], y[650, 7] = 5, -9
for order in "CF":
    for packed in (False, True):
        write(f"{order}{packed:d}.npz", {"x": np.require(x, requirements=order)}, packed)
        write(f"{order}{packed:d}y.npz", {"x": np.require(y, requirements=order)}, packed)
write("h.h5", lambda f: f.create_dataset("x", data=x, chunks=(50, 60), compression="gzip"))
names = [order + packed for order in "CF" for packed in "01"]
for a in names:
    for b in names:
        r = run(a + ".npz", b + "y.npz", 1, "differ: 2 of 630,000", "first at [0, 3]", "at [650, 7]")
        check((a, b), abs(number(r, "relative_l2") - np.linalg.norm(y - x) / np.linalg.norm(x)) < 1e-15, r)
    run(a + ".npz", "h.h5", 0, "agree: 1 of 1 array equal, 630,000 elements")
    run("h.h5", a + "y.npz", 1, "differ: 2 of 630,000", "first at [0, 3]")
cube = np.arange(24, dtype="i4").reshape(2, 3, 4)
for order in "CF":
    for part in (cube, cube[:, :, ::-1], cube[:, 1:2, :], cube[0]):
        write("a.npy", {"x": np.require(part, requirements=order)})
        run("a.npy", write("b.h5", {"x": part}), 0, "agree: ")

# Names of archives are paths; members that are no arrays are bytes; a name twice is not guessed.
write("a.npz", {"layer/w": np.ones(3)}, packed=True)
run("a.npz", write("a.h5", {"layer/w": np.ones(3)}), 0, "agree: 1 of 1 array equal, 3 elements")
for name, note in (("n.npz", "hello"), ("m.npz", "hellO")):
    write(name, {"w": np.ones(3)})
    with zipfile.ZipFile(name, "a", zipfile.ZIP_DEFLATED) as z:
        z.writestr("note.txt", note)
run("n.npz", "m.npz", 1, "differ: 1 of 8 elements in 1 array, worst /note.txt", "first at [4]: 111 -> 79")
with zipfile.ZipFile("n.npz", "a") as z:
    z.writestr("note.txt", "again")
run("n.npz", "m.npz", 3, "incomplete: 1 of 2 arrays equal, 1 not compared, first /note.txt: is there twice")
write("two.npz", {"x": cube, "y": cube})
write("c.npy", {"x": cube})
run("c.npy", "two.npz", 2, "two.npz: has 2 arrays, c.npy one without a name: select one with --scope")
run("c.npy", "two.npz", 0, "agree: 1 of 1 array equal, 24 elements", options=["--scope", "x"])

# Dates are integers with a unit; structures; widths of text.
dates = {"d": np.array(["2024-01-01", "NaT"], "M8[s]")}
write("a.npz", dates)
run("a.npz", write("b.npz", {"d": np.array(["2024-01-01", "2024-01-02"], "M8[s]")}), 1, "differ: 1 of 2 elements")
run("a.npz", write("b.npz", {"d": dates["d"].astype("M8[D]")}), 1, "differ: ", "datetime[s] datetime[D]")
kind = [("x", "<f4"), ("y", ">i8", (3,)), ("z", [("u", "U3")])]
s = np.zeros((2, 2), kind)
t = s.copy()
t["y"][1, 0, 2], t["z"]["u"][0, 1] = 2**60, "abc"
write("a.npy", {"x": s})
run("a.npy", write("b.npy", {"x": t}), 1, "differ: 2 of 20", "at [1, 0, 2]: 0 -> 1152921504606846976", '[0, 1]: "" -> "abc"')
run("a.npy", write("b.npy", {"x": s.astype(np.dtype(kind, align=True))}), 0, "agree: 1 of 1 array equal, 20 elements")

# Python objects would run code when they are read.
write("o.npy", {"x": np.array([{}, None], object)})
run("o.npy", "c.npy", 2, "o.npy: Python objects (a pickle) are not read: save numbers or text instead")
for name in ("o.npz", "p.npz"):
    write(name, {"x": np.array([{}, None], object), "y": np.ones(3)})
run("o.npz", "p.npz", 3, "incomplete: 1 of 2 arrays equal, 1 not compared, first /x: Python objects (a pickle)")

# Damage is one line.
whole = open("c.npy", "rb").read()
open("cut.npy", "wb").write(whole[:150])
run("cut.npy", "c.npy", 2, "cut.npy: is truncated: its array has more bytes than the file")
open("bad.npy", "wb").write(b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f4'}")
run("bad.npy", "c.npy", 2, "bad.npy: is no .npy array: its header lacks descr, fortran_order or shape")
open("cut.npz", "wb").write(open("C1.npz", "rb").read()[:300])
run("cut.npz", "C1.npz", 2, "cut.npz: cannot be read as a .npz archive: ")

# A small archive that unpacks to much, and a stack of chunks: memory has an end.
resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
for name in ("big.npz", "gib.npz"):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z, z.open("x.npy", "w") as f:
        np.lib.format.write_array_header_1_0(f, {"descr": "<f8", "fortran_order": False, "shape": (1 << 26,)})
        for _ in range(1 << 9):
            f.write(bytes(1 << 20))
run("big.npz", "gib.npz", 0, "agree: 1 of 1 array equal, 67,108,864 elements")

end()
