#!/usr/bin/python3
"""Faults that users of other difference tools reported (public cases of class 8), on plain files in every format."""
import sys

sys.dont_write_bytecode = True
import numpy as np  # noqa: E402
from pairs import begin, check, end, number, pair, row, values  # noqa: E402

nan, inf = np.nan, np.inf
begin()

# Case 18: tiny numbers, HDFGroup/hdf5#5570. The first file is the reference.
for size in (1.0, 1e-16, 3e-16, 1e-20, 1e-300, 5e-324):
    r = values([size], [2 * size], 1, "differ: 1 of 1 element")
    check(size, number(r, "worst_relative") == 1 and number(r, "relative_l2") == 1, r)
    r = values([2 * size], [size], 1, "differ: 1 of 1 element")
    check(size, number(r, "worst_relative") == 0.5 and row(r)["different"] == 1, r)
r = values([-1e-20], [1e-20], 1, "differ: 1 of 1 element")
check("sign", number(r, "worst_relative") == 2, r)
values([1e-20], [2e-20], 1, "differ: 1 of 1 element", options=["--rtol", "1e-6"])
values([2e-20], [1e-20], 0, "agree: ", options=["--rtol", "0.5"])

# Case 19: NaN on one side, ESMCI/cime#4131: a difference under every tolerance.
for options in ([], ["--rtol", "1e300", "--atol", "1e300"], ["--max-ulp", "18446744073709551615"]):
    r = values([nan], [1.0], 1, "differ: 1 of 1 element", "1 NaN in the reference only", options=options)
    check("nan", r["health"] == "non-finite" and number(r, "worst_absolute") is None, r)
    values([1.0], [nan], 1, "differ: 1 of 1 element", "1 NaN in the test only", options=options)
r = values([1, nan, 3], [1, 2, 3.5], 1, "differ: 2 of 3 elements")
check("nan", number(r, "worst_absolute") == 0.5 and number(r, "nan_reference") == 1, r)
for payload in (0x7FF8000000000001, 0xFFF8000000000123):
    r = values([nan], np.array([payload], "u8").view("f8"), 0, "agree: 1 of 1 array equal, 1 element; health: non-finite")
    check("payload", number(r, "nan_both") == 1, r)
values([nan], [nan], 1, "differ: values that are not finite", options=["--fail-on", "nonfinite"])

# Case 32: integers are exact, numpy/numpy#21768.
for a, b, exact in (
        (np.uint8([10, 10]), np.uint8([9, 14]), "4"),
        (np.int8([-128]), np.int8([127]), "255"),
        (np.int32([-2**31]), np.int32([2**31 - 1]), str(2**32 - 1)),
        (np.int64([-2**63]), np.int64([2**63 - 1]), str(2**64 - 1)),
        (np.uint64([0]), np.uint64([2**64 - 1]), str(2**64 - 1)),
        (np.int64([140499600015872]), np.int64([140499600015360]), "512"),
        (np.int64([2**53]), np.int64([2**53 + 1]), "1"),
        (np.int64([2**63 - 1, 2**63 - 2]), np.int64([2**63 - 2, 2**63 - 2]), "1"),
        (np.uint64([2**64 - 1]), np.int64([-2**63]), str(2**64 - 1 + 2**63)),
        (np.uint64([2**63]), np.int64([2**63 - 1]), "1")):
    r = values(a, b, 1, "differ: ")
    check(exact, row(r)["numbers"]["worst_absolute"]["exact"] == exact, r)
    check(exact, row(r)["numbers"]["worst_absolute"]["reference"] in [str(x) for x in a], r)
values(np.int64([-2**63]), np.int64([2**63 - 1]), 1, "differ: ", options=["--atol", "5"])
values(np.int64([5]), np.int64([7]), 0, "agree: ", options=["--atol", "2"])
values(np.uint64([2**63]), np.int64([-1]), 1, "differ: 1 of 1")

# Case 33: what cannot be compared does not pass and is named, Samsung/ONE#2658.
for shape in ([4, 2], [2, 3], [8], [0, 4], [1, 2, 4], []):
    r = values(np.ones([2, 4]), np.ones(shape), 1, "differ: 1 difference of structure, first /", "shape")
    check(shape, r["structure"][0]["reference"] == "[2, 4]" and r["totals"]["structure"] == 1, r)
r = values(np.ones([0, 4]), np.ones([0, 4]), 0, "agree: 1 of 1 array equal, 0 elements")
for a, b in (("f4", "i4"), ("i1", "u1"), ("f4", "f8"), ("f8", "c16"), ("i4", "S4"), ("?", "u1")):
    r = values(np.ones(3, a), np.ones(3, b), 1, "differ: ")
    check((a, b), r["structure"][0]["what"] == "type", r)
r = values(np.float16([0.1]), np.float32([0.1]), 1, "differ: 1 of 1 element", "f16 against f32")
check("f16", number(r, "worst_absolute") == float(np.float32(0.1)) - float(np.float16(0.1)), r)
pair({"x": 1.0, "only": 2}, lambda f: (f.create_dataset("x", data=1.0).attrs.create("unit", 1)), 1,
     "differ: 2 differences of structure, first /only (only in reference)", "only in test /x@unit attribute")
for other in ([1, 2, 3], [1, 3], [1.0, 2.0]):
    pair(lambda f: f.create_dataset("x", data=1.0).attrs.create("v", [1, 2]),
         lambda f: f.create_dataset("x", data=1.0).attrs.create("v", other), 1, "differ: ", "/x@v")

# Case 47: relative errors where the reference is zero, numpy/numpy#13801.
r = values([0.0, 2], [0.0, 1], 1, "differ: 1 of 2")
check("0/0", number(r, "worst_relative") == 0.5 and number(r, "against_zero") == 0, r)
r = values([0.0, 2], [1e-8, 1], 1, "differ: 2 of 2", "1 against a zero of the reference", "against zero 1e-08 at [0]")
check("x/0", number(r, "worst_relative") == 0.5 and number(r, "against_zero") == 1, r)
check("x/0", number(r, "worst_against_zero") == 1e-8, r)
for a, b in (([inf, 2], [1, 2]), ([1, 2], [inf, 2]), ([inf, 2], [-inf, 2]), ([nan, 2], [inf, 2])):
    for options in ([], ["--rtol", "10"], ["--max-ulp", "18446744073709551615"]):
        r = values(a, b, 1, "differ: 1 of 2", options=options)
        check((a, b), number(r, "inf_mismatch") == (0 if nan in a else 1) and number(r, "worst_relative") is None, r)
values([inf, -inf], [inf, -inf], 0, "agree: 1 of 1 array equal, 2 elements; health: non-finite")
r = values([0.0], [-0.0], 0, "agree: ", "1 zero of the other sign")
check("-0", number(r, "zero_signs") == 1, r)
r = values([1.0, 0.0], [2.0, -0.0], 1, "differ: 1 of 2")
check("-0", number(r, "zero_signs") == 1 and number(r, "worst_absolute") == 1, r)

end()
