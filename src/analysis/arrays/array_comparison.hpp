#pragma once
// What a comparison of two files of arrays found.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/arrays.hpp"
#include "model/selection.hpp"

namespace numdiff::analysis {

// What counts as equal. Without a tolerance: the same value, where NaN equals NaN and zero equals minus zero.
struct tolerance {
  // A pair is accepted when |test - reference| <= absolute + relative * |reference|, as in numpy.allclose
  // with the reference as its second argument, computed in double or wider; or, when `ulps` is set, when the
  // two are at most that many steps of their format apart. A NaN or infinity against anything else is never
  // accepted.
  double relative = 0, absolute = 0;
  std::optional<std::uint64_t> ulps;
  [[nodiscard]] bool any() const noexcept { return relative > 0 || absolute > 0 || ulps.has_value(); }
};

// The element where something is largest, or first.
struct extreme {
  bool there = false;
  long double value = 0;        // what is largest; 0 where there is nothing to measure
  std::uint64_t flat = 0;       // index in row-major order
  model::extents index;         // of the element, and inside it
  std::string reference, test;  // values, as they read back
  std::string exact;            // integers: the value, in full
};

// One number of each element of an array: an array of numbers has one row, a compound one for each member,
// complex numbers two.
struct array_row {
  std::string name;  // "/x", "/x.real", "/table.position.x", "/x@units"
  std::string reference_type, test_type;
  bool attribute = false;
  bool numeric = false;  // what stands under `numbers` was measured
  std::uint64_t compared = 0;
  std::uint64_t different = 0;  // not the same value, or beyond the tolerance
  std::uint64_t accepted = 0;   // not the same value, within the tolerance
  extreme first;                // different element
  // Numbers. Errors are of pairs that are finite in both; relative ones need a reference that is not 0.
  std::uint64_t nan_both = 0, nan_reference = 0,
                nan_test = 0;                    // _reference: a NaN there, a number in the other
  std::uint64_t inf_both = 0, inf_mismatch = 0;  // _mismatch: one side infinite, or both with other signs
  std::uint64_t against_zero = 0;                // reference 0, test not
  std::uint64_t zero_signs = 0;                  // 0 against -0: equal, and counted
  extreme absolute, relative, ulp, zero;         // zero: largest test against a reference of 0
  double relative_l2 = 0;  // |test - reference| / |reference|; infinite for |reference| = 0
  double bias = 0;         // mean of test - reference
};

enum class structure_kind { only_reference, only_test, kind, shape, type, member, link };

struct structure_difference {
  std::string name;
  structure_kind kind = structure_kind::kind;
  std::string reference, test;  // what it is in each, "" for not there
  bool decides = true;          // false: another type of numbers, compared with a tolerance
};

struct skipped_array {
  std::string name, reason;
};

enum class arrays_verdict { agree, differ, incomplete };

struct arrays_side {
  std::string path, format;
  std::uint64_t arrays = 0, attributes = 0;
};

struct array_comparison {
  arrays_side reference, test;
  tolerance accepts;
  arrays_verdict verdict = arrays_verdict::incomplete;
  bool nonfinite = false;        // a NaN or infinity somewhere
  bool nonfinite_fails = false;  // and that was asked to be a difference
  std::vector<structure_difference> structure;
  std::vector<skipped_array> skipped;
  std::vector<array_row> different;  // rows with differences, worst first
  std::vector<array_row> noted;      // equal rows with NaN, infinities, signs of zero or accepted differences
  // Arrays and attributes: each is in exactly one of the five.
  std::uint64_t equal = 0, differing = 0, structural = 0, unmatched = 0, left_out = 0;
  std::uint64_t elements = 0, elements_different = 0;  // scalars compared: a complex number is two
  std::uint64_t with_different_values = 0;             // arrays and attributes, whatever their structure

  [[nodiscard]] std::uint64_t total() const noexcept {
    return equal + differing + structural + unmatched + left_out;
  }
};

struct array_options {
  std::vector<std::string> names;  // patterns; empty: everything
  tolerance accepts;
  bool fail_on_nonfinite = false;
};

// Compares all arrays and attributes that are selected, by name, in bounded memory. Exceptions of the readers
// pass through; throws std::runtime_error when an array without a name has no partner.
array_comparison compare_arrays(model::array_file& reference, model::array_file& test,
                                const array_options& how);

}  // namespace numdiff::analysis
