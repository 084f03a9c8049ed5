#include "analysis/arrays/number_tally.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace numdiff::analysis {

namespace {

void keep(peak& top, const peak& other) {
  if (other.there && (!top.there || top.takes(other.value, other.flat))) top = other;
}

extreme shown(const peak& top, const compared_parts& parts) {
  extreme e;
  if (!top.there) return e;
  e.there = true;
  e.value = top.value;
  e.flat = top.flat;
  e.reference = value_text(parts.reference, top.reference);
  e.test = value_text(parts.test, top.test);
  return e;
}

}  // namespace

void number_tally::take(peak& top, long double value, std::uint64_t flat, const std::byte* reference,
                        const std::byte* test) {
  if (!top.takes(value, flat)) return;
  top.there = true;
  top.value = value;
  top.flat = flat;
  std::memcpy(top.reference, reference, std::min<std::size_t>(parts_.reference.bytes, sizeof top.reference));
  std::memcpy(top.test, test, std::min<std::size_t>(parts_.test.bytes, sizeof top.test));
}

void number_tally::take_first(std::uint64_t flat, const std::byte* reference, const std::byte* test) {
  take(sums_.first, 1, flat, reference, test);
}

void number_tally::merge(const tally& next) {
  const number_sums& other = dynamic_cast<const number_tally&>(next).sums_;
  number_sums& s = sums_;
  s.compared += other.compared;
  s.different += other.different;
  s.accepted += other.accepted;
  s.nan_both += other.nan_both;
  s.nan_reference += other.nan_reference;
  s.nan_test += other.nan_test;
  s.inf_both += other.inf_both;
  s.inf_mismatch += other.inf_mismatch;
  s.against_zero += other.against_zero;
  s.zero_signs += other.zero_signs;
  s.finite += other.finite;
  s.sum += other.sum;
  s.squares += other.squares;
  s.reference_squares += other.reference_squares;
  keep(s.first, other.first);
  keep(s.absolute, other.absolute);
  keep(s.relative, other.relative);
  keep(s.ulp, other.ulp);
  keep(s.zero, other.zero);
}

void number_tally::finish(array_row& row) const {
  const number_sums& s = sums_;
  row.numeric = true;
  row.compared = s.compared;
  row.different = s.different;
  row.accepted = s.accepted;
  row.nan_both = s.nan_both;
  row.nan_reference = s.nan_reference;
  row.nan_test = s.nan_test;
  row.inf_both = s.inf_both;
  row.inf_mismatch = s.inf_mismatch;
  row.against_zero = s.against_zero;
  row.zero_signs = s.zero_signs;
  row.first = shown(s.first, parts_);
  row.absolute = shown(s.absolute, parts_);
  row.relative = shown(s.relative, parts_);
  row.ulp = shown(s.ulp, parts_);
  row.zero = shown(s.zero, parts_);
  row.relative_l2 = s.squares == 0 ? 0
                    : s.reference_squares == 0
                        ? std::numeric_limits<double>::infinity()
                        : static_cast<double>(std::sqrt(s.squares / s.reference_squares));
  row.bias = s.finite == 0 ? 0 : static_cast<double>(s.sum / static_cast<long double>(s.finite));
}

std::unique_ptr<tally> make_number_tally(const compared_parts& parts) {
  const bool integers =
      parts.reference.kind != model::part_kind::real && parts.test.kind != model::part_kind::real;
  return integers ? make_integer_tally(parts) : make_real_tally(parts);
}

}  // namespace numdiff::analysis
