#pragma once
// Errors of numbers: integers exactly, reals in double or wider.
#include "analysis/arrays/column.hpp"
#include "analysis/arrays/tally.hpp"

namespace numdiff::analysis {

// The largest of something, its place, and the bytes of the two values there.
struct peak {
  long double value = 0;
  std::uint64_t flat = 0;
  bool there = false;
  std::byte reference[16] = {}, test[16] = {};
  // Of equal ones the earliest stays.
  [[nodiscard]] bool takes(long double v, std::uint64_t at) const noexcept {
    return v > value || (v == value && v > 0 && (!there || at < flat));
  }
};

// Counts and sums of pairs.
struct number_sums {
  std::uint64_t compared = 0, different = 0, accepted = 0;
  std::uint64_t nan_both = 0, nan_reference = 0, nan_test = 0, inf_both = 0, inf_mismatch = 0;
  std::uint64_t against_zero = 0, zero_signs = 0, finite = 0;
  long double sum = 0, squares = 0, reference_squares = 0;
  peak first, absolute, relative, ulp, zero;  // first: value 1
};

class number_tally : public tally {
 public:
  explicit number_tally(const compared_parts& parts) : parts_(parts) {}
  void merge(const tally& next) override;
  void finish(array_row& row) const override;

 protected:
  void take(peak& top, long double value, std::uint64_t flat, const std::byte* reference,
            const std::byte* test);
  void take_first(std::uint64_t flat, const std::byte* reference, const std::byte* test);

  compared_parts parts_;
  number_sums sums_;
};

std::unique_ptr<tally> make_number_tally(const compared_parts& parts);
std::unique_ptr<tally> make_integer_tally(const compared_parts& parts);
std::unique_ptr<tally> make_real_tally(const compared_parts& parts);

}  // namespace numdiff::analysis
